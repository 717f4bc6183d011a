"""Pure: what can happen to a reviewed file, as values for `advance`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.environments.base import Attribution
from agent_ls.review.decisions import Decision
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.review.restore import StoredHunk
from agent_ls.services.review.effects import By
from agent_ls.services.review.reviewed_file import PendingWrite, Proposal
from agent_ls.text import DecodedText


@dataclass(frozen=True, slots=True)
class TextSeen:
    """The file has this text now; None: it does not exist."""

    text: str | None


@dataclass(frozen=True, slots=True)
class DiskSeen:
    """The file was read and has this text. `form` is its encoding, None for no file.

    `is_unexpected`: nobody asked for a change of the file, so the model has to know which of its hunks are gone.
    """

    text: str | None
    form: DecodedText | None
    is_unexpected: bool = False


@dataclass(frozen=True, slots=True)
class AgentWrote:
    """A call changed the text from `before` to `after`. `link` names the move of which the change is one end."""

    before: str | None
    after: str | None
    attribution: Attribution
    link: str = ""


@dataclass(frozen=True, slots=True)
class AgentWroteBytes:
    """A call changed the file, and its old or new content is not text."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The user rolled these turns of a session back. This changed the text from `before` to `after`.

    `ledger` is the ledger from before the roll back. The new text has been seen already.
    """

    ledger: FileLedger
    before: str | None
    after: str | None
    session_id: str
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class SavedByUs:
    """agent-ls wrote the file, or made the editor save it. `form` is its encoding, None if it is unchanged."""

    form: DecodedText | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """A resumed session has this ledger of the file. `change.changed` are the hunks that differ from its log."""

    change: LedgerChange


@dataclass(frozen=True, slots=True)
class HunksMissing:
    """The text does not contain these hunks of a resumed session yet."""

    hunks: Sequence[StoredHunk]


@dataclass(frozen=True, slots=True)
class SessionTaken:
    """Another process has taken the session over."""

    session_id: str


@dataclass(frozen=True, slots=True)
class DecisionBegun:
    """The result of a decision about hunks is being written."""

    decision: Decision
    comment: str


@dataclass(frozen=True, slots=True)
class EditorUndid:
    """The editor has applied the edit of a decision. `before` and `after` are the texts around this edit."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DecisionWritten:
    """The result of the decision is in the file."""


@dataclass(frozen=True, slots=True)
class DecisionEnded:
    """The decision is over. `is_written`: its result is in all of its files."""

    is_written: bool


@dataclass(frozen=True, slots=True)
class Proposed:
    """A call proposes a change."""

    proposal: Proposal
    by: By


@dataclass(frozen=True, slots=True)
class ProposalsCompared:
    """The proposals have to be compared with the text, because they were computed from an earlier text."""


@dataclass(frozen=True, slots=True)
class ProposalClosed:
    """Hunks of a proposal have got a final state without a change of the file. `proposal` has these states."""

    proposal: Proposal
    by: By
    comment: str = ""


@dataclass(frozen=True, slots=True)
class WriteBegun:
    """Proposed hunks are being written."""

    write: PendingWrite


@dataclass(frozen=True, slots=True)
class ProposalWritten:
    """The proposed hunks are in the file; this changed its text from `before` to `after`.

    A second report of this kind means that another file of the decision could not be written, so the hunks are
    out of the file again.
    """

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class WriteEnded:
    """The write of proposed hunks is over."""


Report: TypeAlias = (
    TextSeen
    | DiskSeen
    | AgentWrote
    | AgentWroteBytes
    | RolledBack
    | SavedByUs
    | Restored
    | HunksMissing
    | SessionTaken
    | DecisionBegun
    | EditorUndid
    | DecisionWritten
    | DecisionEnded
    | Proposed
    | ProposalsCompared
    | ProposalClosed
    | WriteBegun
    | ProposalWritten
    | WriteEnded
)
