"""Read from a session's log what it wrote to each file, which roll backs reverted this, and what the user undid."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from agent_ls.loop.events.types import Envelope, FileChange, Hunk, HunkStateChanged, Reverted, UserInput
from agent_ls.patch.git_format import is_beside_text
from agent_ls.store import pages
from agent_ls.store.errors import UnknownTurnError
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.logged_files import kinds, write_or_event

_KINDS = kinds("file_change", "hunk_state", "user_input", "reverted")


@dataclass(frozen=True, slots=True)
class LoggedWrite:
    """One write of a file. A roll back `reverts` the writes from this index on; None for a tool call."""

    record: RecordedWrite
    reverts: int | None = None


@dataclass(slots=True)
class WrittenFile:
    """The writes of a file, oldest first, with the hunks that the user undid after the last one."""

    writes: list[LoggedWrite] = field(default_factory=list)
    undone: dict[str, Hunk] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The name of the content before the first write."""
        return self.writes[0].record.before

    @property
    def end(self) -> str:
        """The name of the last content that still counts: a deletion or a new file may be undone as a whole."""
        kinds = {hunk.what for hunk in self.undone.values()}
        last = self.writes[-1].record
        return "" if "create" in kinds else last.before if "delete" in kinds else last.after

    @property
    def undone_lines(self) -> list[Hunk]:
        return [] if self.end != self.writes[-1].record.after else list(self.undone.values())

    @property
    def mode(self) -> int | None:
        """The permission bits of the file when it was deleted, None if that is not known."""
        return next((it.record.mode for it in self.writes if it.record.mode is not None), None)

    @property
    def has_others_changes(self) -> bool:
        """Whether others changed the file between two writes."""
        return any(one.record.after != other.record.before for one, other in pairwise(self.writes))


@dataclass(frozen=True, slots=True)
class LoggedWrites:
    """The changes of a session to files, by path. `beside_text` has diffs of permission bits and symbolic links."""

    files: dict[str, WrittenFile]
    beside_text: dict[str, list[str]]


def read_logged_writes(log: Path, turn_id: str = "") -> LoggedWrites:
    """Return the files that a session wrote, with `turn_id` only those of this turn. Blocks.

    Raises:
        UnknownTurnError: the log has no such turn. OSError: the log cannot be read.
    """
    reading = _Reading(turn_id)
    with pages.open_part(log) as part:
        for line in part.forward(0):
            match write_or_event(line, _KINDS):
                case RecordedWrite() as write:
                    reading.take_write(write)
                case Envelope() as envelope:
                    reading.take_event(envelope)
    if turn_id and turn_id not in reading.begun:
        raise UnknownTurnError(turn_id, reading.begun)
    return LoggedWrites(reading.files(), reading.beside_text)


@dataclass(slots=True)
class _Reading:
    """The part of a log that was read: `count` writes. `begun` says how many of them came before a turn or roll back.

    A roll back is recorded after its writes, so only the whole log says which turns a write reverted.
    """

    turn_id: str
    count: int = 0
    begun: dict[str, int] = field(default_factory=dict)
    _writes: dict[str, list[tuple[int, RecordedWrite]]] = field(default_factory=dict)
    _undone: dict[str, dict[str, Hunk]] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    beside_text: dict[str, list[str]] = field(default_factory=dict)

    def take_write(self, write: RecordedWrite) -> None:
        self._writes.setdefault(write.path, []).append((self.count, write))
        self.begun.setdefault(write.turn_id, self.count)  # a roll back begins with its first write
        self.count += 1
        if self.turn_id in ("", write.turn_id):
            self._undone[write.path] = {}  # the content of this write has none of them

    def take_event(self, envelope: Envelope) -> None:
        match envelope.event:
            case UserInput():
                self.begun.setdefault(envelope.turn_id, self.count)
            case Reverted(revert_id=revert_id, at_turn_id=at_turn_id):
                self.take_roll_back(revert_id, at_turn_id)
            case FileChange(path=path, diff=diff) if is_beside_text(diff):
                if self.turn_id in ("", envelope.turn_id):
                    self.beside_text.setdefault(path, []).append(diff)
            case FileChange(hunks=hunks) | HunkStateChanged(hunks=hunks):
                for hunk in hunks:
                    self.take_hunk(hunk)
            case _:
                pass

    def take_roll_back(self, revert_id: str, at_turn_id: str) -> None:
        self._since[revert_id] = self.begun.get(at_turn_id, self.count)
        self.begun.setdefault(revert_id, self.count)

    def take_hunk(self, hunk: Hunk) -> None:
        if (undone := self._undone.get(hunk.path)) is not None:
            undone.pop(hunk.id, None)
            if hunk.state == "undone":
                undone[hunk.id] = hunk

    def files(self) -> dict[str, WrittenFile]:
        found = {
            path: WrittenFile(self._chosen(numbered), self._undone.get(path, {}))
            for path, numbered in self._writes.items()
        }
        return {path: file for path, file in found.items() if file.writes}

    def _chosen(self, numbered: list[tuple[int, RecordedWrite]]) -> list[LoggedWrite]:
        """Return the writes of the turn, and the roll backs that reverted some of them, or some of these roll backs."""
        numbers: list[int] = []
        chosen: list[LoggedWrite] = []
        for number, write in numbered:
            since = self._since.get(write.turn_id)
            reverts = None if since is None else bisect_left(numbers, since)
            if self.turn_id in ("", write.turn_id) or (reverts is not None and reverts < len(chosen)):
                numbers.append(number)
                chosen.append(LoggedWrite(write, reverts))
        return chosen
