"""Find what a failed commit of a program's environment has written.

A wrapper of a program may raise after the environment inside has written the files, such as when its database is
locked. A change that is on disk but in no record could not be reviewed or undone, so the files decide, as after a crash
(services/review/restore.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import ExecutionEnvironment, FileState
from agent_ls.environments.errors import EditRefusedError, EnvError, StaleFileError
from agent_ls.environments.wrappers.own import OwnEnvironmentError
from agent_ls.loop.events.types import Warning
from agent_ls.services.review.decision_request import LOOK_SECONDS
from agent_ls.services.review.restore import warn_unclear
from agent_ls.services.review.reviewed_file import maybe_bytes

_CAUSE = "The environment failed while it was changing a file"
_NOTHING_WRITTEN = (StaleFileError, EditRefusedError)


@dataclass(frozen=True, slots=True)
class FoundWrites:
    """`states` are the writes that the files contain, `warnings` name files with other content."""

    states: tuple[FileState, ...] = ()
    warnings: tuple[Warning, ...] = ()


async def find_writes(
    files: ExecutionEnvironment, meant: Sequence[FileState], error: BaseException
) -> FoundWrites:
    """Compare the files with the writes that a commit should have made before it raised `error`. Never raises."""
    if isinstance(error, _NOTHING_WRITTEN):
        return FoundWrites()
    states: list[FileState] = []
    unclear = {state.path: "cannot be read" for state in meant if state.before != state.after}
    with anyio.move_on_after(LOOK_SECONDS, shield=True):
        for state in meant:
            if state.path not in unclear:
                continue
            try:
                now = await maybe_bytes(files, state.path)
            except EnvError:
                continue
            if now == state.after:
                states.append(state)
            if now in (state.before, state.after):
                del unclear[state.path]
            else:
                unclear[state.path] = "has neither the content from before the change nor the new content"
    # Other errors of environments say that nothing was written; the file may have been changed by somebody else.
    is_unknown = isinstance(error, OwnEnvironmentError) or not isinstance(error, EnvError)
    warnings = tuple(warn_unclear(path, what, _CAUSE) for path, what in unclear.items() if is_unknown)
    return FoundWrites(tuple(states), warnings)
