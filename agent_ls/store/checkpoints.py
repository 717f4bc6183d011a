"""The state of a session before each message of the user, and the files written since then, read from a log.

File contents are not read here. Functions that read a log are blocking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.loop.events.types import Envelope, FileChange, PlanChanged, Reverted, UserInput
from agent_ls.loop.turns import Turn
from agent_ls.store import pages
from agent_ls.store.errors import UnknownTurnError
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.logged_files import kinds, write_or_event

_KINDS = kinds("user_input", "reverted", "file_change")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A conversation's state at one moment. `turn_ids` are the ids of the turns so far; `text` is the user
    message that follows.

    The session only appends to its lists, so each is stored as a reference and its length at that moment.
    """

    _turns: list[Turn]
    _count: int
    _turn_ids: list[str]
    _inputs: int
    plan: PlanChanged | None
    text: str = ""

    @property
    def turns(self) -> list[Turn]:
        return self._turns[: self._count]

    @property
    def turn_ids(self) -> list[str]:
        return self._turn_ids[: self._inputs]


def checkpoint(
    turns: list[Turn], before: int, turn_ids: list[str], plan: PlanChanged | None, text: str = ""
) -> Checkpoint:
    """Return the checkpoint before turn `before` of `turns`, with the turn ids and the plan of that moment."""
    return Checkpoint(turns, before, turn_ids, len(turn_ids), plan, text)


@dataclass(frozen=True, slots=True)
class WrittenSince:
    """The session's writes since some turn. `files` has the writes to each file by path, oldest first.

    `unrecorded` has the paths of changed files whose content was not recorded, so that they cannot be restored.
    """

    files: dict[str, list[RecordedWrite]] = field(default_factory=dict)
    unrecorded: set[str] = field(default_factory=set)


def find_written_since(path: Path, at_turn: str) -> WrittenSince:
    """Return the files written since the start of turn `at_turn`. `at_turn` may also be the id of a revert.

    Raises:
        UnknownTurnError: the turn is not in the log.
        OSError: the log cannot be read.
    """
    found = WrittenSince()
    recorded: set[tuple[str, str]] = set()
    events: list[FileChange] = []
    known: dict[str, None] = {}
    with pages.open_part(path) as log:
        for line in log.forward(0):
            match write_or_event(line, _KINDS):
                case RecordedWrite() as write if at_turn in known or write.turn_id == at_turn:
                    found.files.setdefault(write.path, []).append(write)
                    recorded.add((write.call_id, write.path))
                case (
                    Envelope(event=UserInput(), turn_id=turn_id) | Envelope(event=Reverted(revert_id=turn_id))
                ):
                    known[turn_id] = None
                case Envelope(event=FileChange() as change) if at_turn in known:
                    events.append(change)
                case _:
                    pass
    if at_turn not in known:
        raise UnknownTurnError(at_turn, known)
    named = {path for _, path in recorded}
    found.unrecorded.update(
        event.path
        for event in events
        if (event.call_id, event.path) not in recorded and event.path not in named
    )
    return found


def difference(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the elements that are only in `before`, and the elements that are only in `after`."""
    return tuple(it for it in before if it not in after), tuple(it for it in after if it not in before)
