"""The beginning of a run, up to the first sign of the model. If the run cannot begin, its first line is the reason."""

from __future__ import annotations

import shlex

import anyio

from agent_ls.environments.remote.place import is_place_name
from agent_ls.loop.calls.approval import asks_for_trust
from agent_ls.loop.events.types import (
    ApprovalRequested,
    AssistantTextStart,
    Delta,
    Error,
    QuestionAsked,
    ReasoningStart,
    Retry,
    SessionEvent,
    SessionStart,
    ToolCallStart,
    UserInput,
    Warning,
)
from agent_ls.services.errors import AppError
from agent_ls.sessions.manager import SessionManager

SHOWN_AFTER_S = 2.0
"""The time without an answer or a failure after which the heading is printed all the same."""

_SIGNS = (AssistantTextStart, ReasoningStart, Delta, ToolCallStart, ApprovalRequested, QuestionAsked)
_HEADING = (SessionStart, UserInput, Warning)


class Beginning:
    """Holds the heading of a transcript back until the model answers. `has_begun` says whether it has answered."""

    def __init__(self) -> None:
        self.has_begun = False
        self._is_held = True
        self._is_failing = False
        self._out: list[str] = []
        self._err: list[str] = []

    def pass_on(self, event: SessionEvent, out: str, err: str) -> tuple[str, str]:
        """Return the texts to print now on both outputs: those of `event`, and those that were held back before."""
        # a question about the folder comes before the model is called
        is_of_folder = isinstance(event, ApprovalRequested) and asks_for_trust(event)
        self.has_begun |= isinstance(event, _SIGNS) and not is_of_folder
        if not self._is_held:
            return out, err
        if not self.has_begun and isinstance(event, _HEADING):
            self._out.append(out)
            self._err.append(err)
            return "", ""
        if not self.has_begun and isinstance(event, Retry):
            self._is_failing = True
            return out.lstrip("\n"), err
        if not self.has_begun and isinstance(event, Error):
            self._out, self._err, self._is_held = [], [], False
            return out.lstrip("\n"), err
        if not (out or err or self.has_begun or is_of_folder):
            return "", ""
        self._is_held = False
        return "".join([*self._take(self._out), out]), "".join([*self._take(self._err), err])

    def heading(self) -> tuple[str, str]:
        """Return the heading that is still held back, to print it now. Empty if the model call has failed before."""
        if self._is_failing:
            return "", ""
        self._is_held = False
        return "".join(self._take(self._out)), "".join(self._take(self._err))

    @staticmethod
    def _take(texts: list[str]) -> list[str]:
        taken = texts.copy()
        texts.clear()
        return taken


async def check_folder_is_there(manager: SessionManager, session_id: str) -> None:
    """Check that the folder of a stored session exists: a run would create a deleted one again, with its first file.

    Raises:
        AppError: it does not exist, or the session is unknown.
    """
    folder = (await manager.stored_header(session_id)).workspace_folder
    if not is_place_name(folder) and not await anyio.Path(folder).is_dir():
        raise AppError(
            f"the folder of the session does not exist any more: {folder}",
            f"create it again, or if it was moved, run `agent-ls sessions relink {shlex.quote(folder)} NEW-PLACE`",
        )
