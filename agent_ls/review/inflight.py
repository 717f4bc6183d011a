"""One edit on its way into an open document: what its editor's answer and the later texts say of its fate.

A pure machine. It knows no protocol, no clock and no ledger: the host feeds it events, in the order in which the
editor's messages came, and does what the outcome says.

    edit = send(old, expected, version)              # `version` is the document's when its text was `old`
    edit, outcome = advance(edit, event)             # until the outcome is not Waiting

What editors do (real-editors, lsp-notes section 3), and what follows:

- Neovim drops an edit of an old version and answers "applied"; VS Code answers "not applied"; Eglot answers with
  an error. So an answer never proves that the edit is in the text: only an observed text does.
- A text that came *after* the answer shows the document as it was after the editor dealt with the edit, because
  messages keep their order. A text that came before may be older than the edit.
- Typing and our edit may come in one change, so a text is judged by what is in it (review/evidence.py), not by
  being equal to something.

Transitions, by event; of the rules of an event the first that fits counts. A text is "missing it" when it is newer
than the version that the edit was made for and does not contain the edit.

    Observed   it shows the edit                             Applied; but after "not applied" only a text that is
                                                             exactly ours is believed, others are unclear
               unclear: the user changed what we changed     Waiting (a later text may tell)
               missing it, "not applied" was answered        Stale
               missing it, "applied" was answered            Waiting, settling
               missing it, no answer yet                     Waiting
    Answered   (any) the last text is missing it             Waiting, settling
               (any) else                                    Waiting (what made it stale may not be told yet)
    Settled    answered, the last text is missing it         Stale
               else                                          Waiting
    TimedOut   answered, the last text is missing it         Stale
               else                                          Refused, with what is known
    Closed                                                   Refused

`Stale` is safe to try again: the edit is known not to be in the last text. `Refused` is not: after it, an edit may
still turn up (a person answers the editor's question late, or the text is unclear), so it is told as failed and
never repeated. The settling time exists for editors that tell changes in pieces; it is measured from the first
Waiting with `settling`, and typing does not start it anew (else a typing user would hold it off for ever).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from agent_ls.patch.rebase import Merged, rebase
from agent_ls.review.evidence import Absent, Evidence, Present, Unclear, evidence
from agent_ls.text import split_lines

SETTLE_MS = 300  # twice Neovim's debounce of 150 ms
TIMEOUT_MS = 10_000
"""From the answer, or where none comes from sending, until the text must have shown something.

Long, for an editor that is busy lands it late: what was told as refused and then lands is nobody's change.
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """The editor answered the edit. `reason` is what it said when it was not applied, "" for nothing."""

    applied: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The editor told a change: the document's text after it."""

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Settled:
    """SETTLE_MS went by since the first `Waiting(settling=True)`."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The time limit is over."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The document was closed, or the editor is gone."""


Happening: TypeAlias = Answered | Observed | Settled | TimedOut | Closed


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is decided. `settling`: the host starts the settling timer, if it does not run yet."""

    settling: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The edit is in. `ours` is the old text with our edit; from there to `observed` it is the user's typing.

    For the ledger: `agent_edit(ledger, ours, ...)`, then `user_edit(ledger, observed)`.
    """

    ours: str
    observed: str
    version: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The edit is not in the document, which moved on: read it again, rebase, try again."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The edit failed, or nobody can tell. Not to be repeated as it is."""

    reason: str


Outcome: TypeAlias = Waiting | Applied | Stale | Refused


@dataclass(frozen=True, slots=True)
class InFlightEdit:
    """An edit sent for `version`. `answer` and `last` are what is known so far.

    `old` is the last text that is known to lack the edit (at first the one it was made for), `expected` is that text
    with the edit: an editor that checks no versions applies the edit to whatever stands there by then.
    """

    old: str
    expected: str
    version: int
    answer: Answered | None = None
    last: Observed | None = None
    said_by_last: Evidence = field(default_factory=Absent)

    @property
    def is_missing(self) -> bool:
        """A text newer than the one the edit was made for is known, and the edit is not in it."""
        newer = self.last is not None and self.last.version > self.version
        return newer and isinstance(self.said_by_last, Absent)


def send(old: str, expected: str, version: int) -> InFlightEdit:
    """The machine at the moment when the edit goes out.

    Raises:
        ValueError: the edit changes nothing; there would be nothing to see.
    """
    if old == expected:
        raise ValueError("an edit that changes nothing is not to be sent")
    return InFlightEdit(old, expected, version)


def advance(edit: InFlightEdit, happening: Happening) -> tuple[InFlightEdit, Outcome]:
    """The machine after `happening`, and what is known then (the table in this module's docstring)."""
    match happening:
        case Observed():
            return _observed(edit, happening)
        case Answered():
            edit = replace(edit, answer=happening)
            return edit, Waiting(settling=edit.is_missing)
        case Settled():
            return edit, Stale() if edit.is_missing and edit.answer else Waiting()
        case TimedOut():
            return edit, Stale() if edit.is_missing and edit.answer else Refused(_why(edit))
        case Closed():
            return edit, Refused("the document was closed before the edit was seen in it")
        case _:
            assert_never(happening)


def _observed(edit: InFlightEdit, seen: Observed) -> tuple[InFlightEdit, Outcome]:
    said = evidence(edit.old, edit.expected, seen.text)
    if isinstance(said, Present) and said.ours != seen.text and edit.answer and not edit.answer.applied:
        said = Unclear()  # that answer has never been seen to be false: what looks like ours may be another's
    edit = replace(edit, last=seen, said_by_last=said)
    match said:
        case Present(ours):
            return edit, Applied(ours, seen.text, seen.version)
        case Unclear():
            return edit, Waiting()
        case Absent():
            edit = _moved_on(edit, seen.text)
            if edit.answer and not edit.answer.applied and edit.is_missing:
                return edit, Stale()
            return edit, Waiting(settling=edit.is_missing and edit.answer is not None)
        case _:
            assert_never(said)


def _moved_on(edit: InFlightEdit, text: str) -> InFlightEdit:
    merged = rebase(split_lines(edit.old), split_lines(edit.expected), split_lines(text))
    if not isinstance(merged, Merged) or not merged.hunks:
        return edit
    return replace(edit, old=text, expected="".join(merged.lines))


def _why(edit: InFlightEdit) -> str:
    if isinstance(edit.said_by_last, Unclear):
        return (
            "the same lines were changed in the editor at the same moment, and it cannot be told whether the "
            "edit is in; read the file again before changing it"
        )
    if edit.answer is None:
        return "the editor did not answer in time; read the file again before changing it"
    if edit.answer.applied:
        return "the editor said that it applied the edit, but its text never showed it"
    return edit.answer.reason or "the editor did not apply it and gave no reason"
