"""Track one edit that was sent to an open document until its outcome is known.

A pure state machine: no protocol, no clock, no ledger. The host feeds it events in the order of the editor's
messages, and acts on the outcome.

    edit = start_edit(old, expected, version)        # the document's text was `old` at `version`
    edit, outcome = advance_edit(edit, event)        # until the outcome is not Undecided

Editors differ, so a response never proves that the text contains the edit. Only an observed text proves it:
- For an edit of an old version, Neovim drops the edit and responds "applied", VS Code responds "not applied", and
  Eglot responds with an error.
- A text that arrives *after* the response is the document after the editor handled the edit, because messages keep
  their order. A text that arrives before the response may be older than the edit.
- Typing and our edit may arrive in one change. So review/edit_detection.py compares the texts, instead of a test
  for equality.

Transitions by event; the first rule that matches applies. A text is "missing the edit" if it is newer than
the version for which the edit was made and does not contain the edit. "Answered" means that the editor responded.

    Observed   the text contains the edit                    Applied; but after "not applied" only the text with
                                                             our edit and no typing counts, others are undetermined
               undetermined: the user changed the same text  Undecided (a later text may decide)
               missing the edit, answered "not applied"      Stale
               missing the edit, answered "applied"          Undecided, in grace
               missing the edit, no answer yet               Undecided
    Answered   the last text is missing the edit             Undecided, in grace
               otherwise                                     Undecided (the text that made it stale may still arrive)
    GraceEnded answered, the last text is missing the edit   Stale, unless versions repeat (see below)
               otherwise                                     Undecided
    TimedOut   answered, the last text is missing the edit   Stale, likewise
               otherwise                                     Refused, with the known reason
    Closed                                                   Refused

`Stale` is safe to retry: the last text does not have the edit, and an editor that compares versions will not apply the
edit any more. If the editor has reused a version, only the response "not applied" is trusted. After `Refused` a retry
is not safe: the editor may still apply the edit later, for example when the user confirms a dialog. So the edit is
reported as failed and never repeated. The grace period is for editors that send one change in several messages. It
begins with the first Undecided that has `in_grace`. Typing does not restart it, because a user who keeps typing could
delay the result forever.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.review.edit_detection import (
    Absent,
    EditDetection,
    Present,
    Undetermined,
    apply_ignoring_versions,
    detect_edit,
)
from agent_ls.text import split_lines

GRACE_MS = 300  # twice Neovim's debounce of 150 ms
TIMEOUT_MS = 10_000
"""Time limit for a changed text of the document that contains the edit. It begins with the editor's response, or,
without a response, when the edit is sent.

The limit is long, because a busy editor applies edits late. An edit that appears after it was reported as
refused could not be assigned to a tool call.
"""


@dataclass(frozen=True, slots=True)
class Answered:
    """The editor responded to the edit request. `reason` explains why the edit was not applied, "" for none."""

    applied: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The editor reported a change. `text` is the document's text after the change."""

    version: int
    text: str


@dataclass(frozen=True, slots=True)
class GraceEnded:
    """GRACE_MS have passed since the first `Undecided(in_grace=True)`."""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The time limit has passed."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The document was closed, or the editor has disconnected."""


EditEvent: TypeAlias = Answered | Observed | GraceEnded | TimedOut | Closed


@dataclass(frozen=True, slots=True)
class Undecided:
    """The outcome is not known yet. If `in_grace`, the host starts the grace period unless it already runs."""

    in_grace: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The document contains the edit. `ours` is the old text with only our edit. The user typed the difference
    between `ours` and `observed`.

    For the ledger: `apply_agent_edit(ledger, ours, ...)`, then `apply_user_edit(ledger, observed)`.
    """

    ours: str
    observed: str
    version: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The document changed before the edit was applied: read it again, rebase the edit and retry."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The edit failed, or its outcome is unknown. Do not send the same edit again."""

    reason: str


Outcome: TypeAlias = Undecided | Applied | Stale | Refused


@dataclass(frozen=True, slots=True)
class InFlightEdit:
    """An edit sent for `version`, with the editor's response and the last observed text.

    `old` is the last text that is known to lack the edit; at first, the text for which the edit was made.
    `expected` is `old` with the edit applied. `old` and `expected` are updated, because an editor that checks
    no versions applies the edit to its current text. `repeats_versions`: the document's version does not
    increase with each change, so the editor may still apply an edit of an old text. `is_in_doubt`: an observed
    text may contain the edit or a part of the edit. `follows_doubt`: an earlier attempt at this edit ended
    `Stale`, but the text may contain that attempt at a wrong position.
    """

    old: str
    expected: str
    version: int
    answer: Answered | None = None
    last: Observed | None = None
    said_by_last: EditDetection = field(default_factory=Absent)
    repeats_versions: bool = False
    is_in_doubt: bool = False
    follows_doubt: bool = False

    @property
    def is_missing(self) -> bool:
        """Whether the last observed text is newer than the edit's version and does not contain the edit."""
        newer = self.last is not None and self.last.version > self.version
        return newer and isinstance(self.said_by_last, Absent) and not self.may_be_elsewhere

    @property
    def may_be_elsewhere(self) -> bool:
        """Whether the edit may be at a wrong position; never True if the editor responded "not applied"."""
        said = self.said_by_last
        is_denied = self.answer is not None and not self.answer.applied
        return isinstance(said, Absent) and said.is_elsewhere and not is_denied

    @property
    def may_be_sent_again(self) -> bool:
        """Whether the edit is missing and the editor can no longer apply it."""
        if self.answer is None or not self.is_missing:
            return False
        return not self.repeats_versions or not self.answer.applied


def start_edit(
    old: str, expected: str, version: int, *, repeats_versions: bool = False, follows_doubt: bool = False
) -> InFlightEdit:
    """Return the state at the moment when the edit is sent.

    Raises:
        ValueError: the edit changes nothing, so nothing could be observed.
    """
    if old == expected:
        raise ValueError("an edit that changes nothing must not be sent")
    return InFlightEdit(
        old, expected, version, repeats_versions=repeats_versions, follows_doubt=follows_doubt
    )


def advance_edit(edit: InFlightEdit, happening: EditEvent) -> tuple[InFlightEdit, Outcome]:
    """Return the state after an event, and the outcome (see the table in the module docstring)."""
    match happening:
        case Observed():
            return _handle_text(edit, happening)
        case Answered():
            edit = replace(edit, answer=happening)
            return edit, Undecided(in_grace=edit.is_missing)
        case GraceEnded():
            return edit, Stale() if edit.may_be_sent_again else Undecided()
        case TimedOut():
            return edit, Stale() if edit.may_be_sent_again else Refused(_refusal_reason(edit))
        case Closed():
            return edit, Refused("the document was closed before its text showed the edit")
        case _:
            assert_never(happening)


def _handle_text(edit: InFlightEdit, seen: Observed) -> tuple[InFlightEdit, Outcome]:
    said = detect_edit(edit.old, edit.expected, seen.text)
    if isinstance(said, Present) and said.ours != seen.text and edit.answer and not edit.answer.applied:
        # A response "not applied" is reliable, so text that looks like our edit may have been written by somebody
        # else.
        said = Undetermined()
    edit = replace(edit, repeats_versions=edit.repeats_versions or _has_old_version(edit, seen))
    if isinstance(said, Absent) and edit.is_in_doubt and seen.text != edit.old:
        said = Absent(
            is_elsewhere=True
        )  # an earlier text may have had a part of the edit, and the user may have typed inside that part
    is_in_doubt = edit.is_in_doubt or said in (Undetermined(), Absent(is_elsewhere=True))
    edit = replace(edit, last=seen, said_by_last=said, is_in_doubt=is_in_doubt)
    match said:
        case Present(ours):
            return edit, Applied(ours, seen.text, seen.version)
        case Undetermined():
            return edit, Undecided()
        case Absent():
            edit = edit if edit.may_be_elsewhere else _rebase_to(edit, seen.text)
            if edit.answer and not edit.answer.applied and edit.is_missing:
                return edit, Stale()
            return edit, Undecided(in_grace=edit.is_missing and edit.answer is not None)
        case _:
            assert_never(said)


def _has_old_version(edit: InFlightEdit, seen: Observed) -> bool:
    """Return whether `seen` differs from the previous text although its version is not higher."""
    known, text = (edit.last.version, edit.last.text) if edit.last else (edit.version, edit.old)
    return seen.version <= known and seen.text != text


def _rebase_to(edit: InFlightEdit, text: str) -> InFlightEdit:
    """Rebase the edit onto `text`, a newer text without the edit. The next text is compared with the result."""
    merged = rebase(split_lines(edit.old), split_lines(edit.expected), split_lines(text))
    if isinstance(merged, MergedText):
        expected = "".join(merged.lines) if merged.hunks else None
    else:
        expected = apply_ignoring_versions(edit.old, edit.expected, text)
    return edit if expected in (None, text) else replace(edit, old=text, expected=expected)


def _refusal_reason(edit: InFlightEdit) -> str:
    is_unclear = isinstance(edit.said_by_last, Undetermined) or edit.may_be_elsewhere or edit.is_in_doubt
    if is_unclear or edit.follows_doubt or (edit.repeats_versions and edit.is_missing):
        return "the editor may have applied this edit completely, partly or not at all: read the file again"
    if edit.answer is None:
        return "the editor did not answer in time; read the file again before changing it"
    if edit.answer.applied:
        # The user may have typed inside the edit before any text was observed, so the texts cannot show whether
        # the edit was applied.
        return (
            "the editor reported that it applied the edit, but the text of the document did not change: read "
            "the file again to see its state"
        )
    return edit.answer.reason or "the editor did not apply the edit and gave no reason"
