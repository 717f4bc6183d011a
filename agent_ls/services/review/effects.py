"""Pure: what has to be done after a report about a reviewed file, as values. `state.py` does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent_ls.loop.events.types import Hunk
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.services.review.proposal_notes import JudgedHunk

By: TypeAlias = Literal["user", "editor", "agent", "look"]
"""Who caused a change of hunks."""


@dataclass(frozen=True, slots=True)
class PublishHunks:
    """Publish the changed hunks to their sessions. `before` is the ledger before the change."""

    before: FileLedger
    change: LedgerChange
    by: By
    comment: str = ""


@dataclass(frozen=True, slots=True)
class PublishDelayedHunks:
    """Publish hunks whose publication was delayed, because an event must come after them."""


@dataclass(frozen=True, slots=True)
class PublishChange:
    """Publish a call's change of the text, with the hunks that it created."""

    session_id: str
    call_id: str
    before: str | None
    after: str | None
    change: LedgerChange


@dataclass(frozen=True, slots=True)
class PublishProposed:
    """Publish new or changed proposed hunks to the session that proposed them."""

    session_id: str
    hunks: tuple[Hunk, ...]
    by: By
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RecordPositions:
    """Record the positions of a session's hunks in its log."""

    session_id: str


@dataclass(frozen=True, slots=True)
class NotifyModel:
    """Post a notice to the models whose hunks the file has no longer (`gone`) or again (`returned`)."""

    hunks: tuple[LedgerHunk, ...]
    about: Literal["gone", "returned"]


@dataclass(frozen=True, slots=True)
class JudgeHunk:
    """A proposed hunk is decided: the call that waits for it may be complete."""

    session_id: str
    call_id: str
    judged: JudgedHunk


@dataclass(frozen=True, slots=True)
class HunksMoved:
    """The text has changed, which moves hunks."""


@dataclass(frozen=True, slots=True)
class TextsChanged:
    """The base or proposed text has changed."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing of the file is left to review."""


Effect: TypeAlias = (
    PublishHunks
    | PublishDelayedHunks
    | PublishChange
    | PublishProposed
    | RecordPositions
    | NotifyModel
    | JudgeHunk
    | HunksMoved
    | TextsChanged
    | Forget
)
