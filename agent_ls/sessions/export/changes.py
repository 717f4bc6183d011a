"""The changes of a session for exports: in reading order, each with reason, decision, marks and evidence.

All of it is from the log, so that an export says the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.loop.events.types import Hunk
from agent_ls.review.guide.values import LookState
from agent_ls.sessions.export.markdown import code, inert, words
from agent_ls.sessions.guide.session_guide import open_log, session_guide

STATE_WORDS: Mapping[LookState, str] = {
    "notLooked": "not looked at",
    "looked": "looked at",
    "kept": "kept",
    "undone": "undone",
}
MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """One hunk of a change. `line` counts from 1."""

    path: str
    line: int
    old: Sequence[str]
    new: Sequence[str]


@dataclass(frozen=True, slots=True)
class ExportedChange:
    """A row of the guide with its hunks. `evidence` is what was checked at the end of the turn, "" if not known."""

    title: str
    state: str
    marks: Sequence[str]
    evidence: str
    places: Sequence[ChangedLines]

    @property
    def facts(self) -> str:
        """The decision, the user's part in it, and the marks."""
        return " · ".join([self.state, *self.marks])


def read_changes(session_folder: Path, clean: Callable[[str], str]) -> list[ExportedChange]:
    """Return the changes of a session in reading order, with `clean` applied to all texts. Blocks.

    Raises:
        OSError: the log cannot be read.
    """
    log = open_log(session_folder)
    made = session_guide(log, None)
    hunks = {hunk.id: hunk for of_file in made.hunks.values() for hunk in of_file}
    found = []
    for row in made.rows:
        own = [hunks[id_] for id_ in row.hunk_ids]
        title = row.title or made.reasons[own[0].id]
        turn = own[-1].later_turns[-1] if own[-1].later_turns else own[-1].turn_id
        found.append(
            ExportedChange(
                title=clean(title),
                state=STATE_WORDS[row.state],
                marks=[clean(mark.text) for mark in row.marks.found],
                evidence=clean(log.evidence.get(turn, "")),
                places=[_lines(hunk, clean) for hunk in own],
            )
        )
    return found


def _lines(hunk: Hunk, clean: Callable[[str], str]) -> ChangedLines:
    def cleaned(lines: Sequence[str]) -> list[str]:
        # All lines at once, because a key may extend over several.
        return clean("".join(lines)).splitlines()

    return ChangedLines(clean(hunk.path), hunk.start + 1, cleaned(hunk.base_lines), cleaned(hunk.lines))


def markdown_changes(changes: Sequence[ExportedChange], folder: str) -> Iterator[str]:
    """Yield a list of the changes as Markdown. Paths are relative to `folder`."""
    for change in changes:
        named = [code(f"{_relative(it.path, folder)}:{it.line}") for it in change.places[:MOST_PLACES]]
        more = f" and {len(change.places) - MOST_PLACES} more" if len(change.places) > MOST_PLACES else ""
        title = f": {inert(words(change.title))}" if change.title else ""
        yield f"- {', '.join(named)}{more}{title} — {words(change.facts)}"


def _relative(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder.rstrip('/')}/")
