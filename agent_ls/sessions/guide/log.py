"""Read from a log what a guided review needs: hunks, reasons, new problems, writes. Blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from agent_ls.loop.events.types import (
    EditDiagnosed,
    Envelope,
    FileChange,
    Hunk,
    HunkStateChanged,
    TurnFacts,
)
from agent_ls.review.guide.values import GuidedHunk, LookState
from agent_ls.sessions.guide.reasons import Reasons
from agent_ls.store import pages
from agent_ls.store.journal import RecordedWrite
from agent_ls.store.logged_files import kinds, write_or_event

_KINDS = kinds(
    "user_input", "steering_injected", "assistant_text_end", "tool_call_start", "tool_call_end", "file_change",
    "hunk_state", "diagnostics", "turn_facts",
)  # fmt: skip


@dataclass(slots=True)
class GuideLog:
    """The facts of one session's log. `read` reads what is new in it.

    `hunks` has the last recorded state of each hunk that still counts, in the order of writing. `writes` are the
    recorded writes by path, `evidence` is what each turn says at its end about checks.
    """

    path: Path
    hunks: dict[str, Hunk] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=Reasons)
    writes: dict[str, list[RecordedWrite]] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    _in_worktree: dict[str, str] = field(default_factory=dict)
    """The newest call that changed each path in the session's own worktree, where changes have no hunks."""
    _problems: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    _offset: int = 0
    _reading: Lock = field(default_factory=Lock)

    def read(self) -> None:
        """Read the lines that were written since the last call.

        Raises:
            OSError: the log cannot be read.
        """
        with self._reading, pages.open_part(self.path) as part:
            for line in part.forward(self._offset):
                self._take(line)
            self._offset = max(part.size, self._offset)

    def number(self, hunk: Hunk) -> int:
        """Return the place of a hunk in the order of writing."""
        return self._numbers.get(hunk.id, len(self._numbers))

    def reason(self, hunk: Hunk) -> str:
        found = self.reasons.of.get(hunk.call_id)
        if found is None and (call_id := self._call_in_worktree(hunk.path)):
            found = self.reasons.of.get(call_id)
        return found or ""

    def _call_in_worktree(self, path: str) -> str | None:
        """Return the call that made a change which was applied to the user's folder later, at `path`."""
        folder = f"/worktrees/{self.path.parent.name}/"
        names = {each.partition(folder)[2].partition("/")[2]: each for each in self._in_worktree}
        own = [name for name in names if name and path.endswith(f"/{name}")]
        return self._in_worktree[names[max(own, key=len)]] if own else None

    def problems(self, hunk: Hunk) -> int | None:
        """Return how many problems are new in the file since the hunk's call and not fixed; None if not known."""
        found = self._problems.get((hunk.call_id, hunk.path))
        return None if found is None else len(found)

    def guided(self, hunk: Hunk) -> GuidedHunk:
        return GuidedHunk(
            id=hunk.id,
            path=hunk.path,
            old=hunk.base_lines,
            new=hunk.lines,
            start=hunk.start,
            number=self.number(hunk),
            state=look_state(hunk),
            problems=self.problems(hunk),
            is_typed_in=hunk.state == "edited",
        )

    def _take(self, line: bytes) -> None:
        match write_or_event(line, _KINDS):
            case RecordedWrite() as write:
                self.writes.setdefault(write.path, []).append(write)
            case Envelope() as envelope:
                self._follow(envelope)

    def _follow(self, envelope: Envelope) -> None:
        match envelope.event:
            case FileChange(path=path, call_id=call_id, hunks=()):
                self._in_worktree[path] = call_id
            case FileChange(hunks=hunks) | HunkStateChanged(hunks=hunks):
                for hunk in hunks:
                    self._follow_hunk(hunk)
            case EditDiagnosed(call_id=call_id, files=files):
                for file in files:
                    self._diagnose(
                        call_id, file.path, file.introduced, file.fixed, is_settled=file.is_settled
                    )
            case TurnFacts(text=text):
                self.evidence[envelope.turn_id] = text
            case _:
                self.reasons.follow(envelope)

    def _follow_hunk(self, hunk: Hunk) -> None:
        self._numbers.setdefault(hunk.id, len(self._numbers))
        if hunk.state == "gone":
            self.hunks.pop(hunk.id, None)
        else:
            self.hunks[hunk.id] = hunk

    def _diagnose(
        self,
        call_id: str,
        path: str,
        introduced: tuple[str, ...],
        fixed: tuple[str, ...],
        *,
        is_settled: bool,
    ) -> None:
        for (_, other), problems in self._problems.items():
            if other == path:
                problems.difference_update(fixed)
        if is_settled or introduced:
            self._problems.setdefault((call_id, path), set()).update(introduced)


def look_state(hunk: Hunk) -> LookState:
    """Return what the user has done with a hunk."""
    if hunk.state in ("kept", "undone"):
        return "kept" if hunk.state == "kept" else "undone"
    return "looked" if hunk.looked else "notLooked"
