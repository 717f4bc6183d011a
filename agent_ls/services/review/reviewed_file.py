"""The review state of one file as a frozen value, and conversions between a file's bytes and its text.

`advance.py` computes each next value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events.types import Hunk
from agent_ls.review.decisions import Decision
from agent_ls.review.hunks import HunkState, LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.review.proposals import HunkGroup, mark_decided
from agent_ls.review.reopened_hunks import UndoneHunks
from agent_ls.review.restore import StoredHunk
from agent_ls.services.review.change_events import build_hunk
from agent_ls.text import DecodedText, decode, looks_binary

UTF_8 = DecodedText("")


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A decision that is being written to the file.

    `before` is the ledger for which the decision was made. `outcome` contains the ledger after the decision. It is
    set as soon as the file's text contains the result. `is_seen`: the editor has reported that it applied the edit.
    """

    decision: Decision
    comment: str
    before: FileLedger
    outcome: LedgerChange | None = None
    is_seen: bool = False

    def list_changed(self) -> list[Hunk]:
        """Return the hunks that the decision changed, as they were directly after the decision."""
        return (
            [build_hunk(self.outcome.ledger, hunk) for hunk in self.outcome.changed] if self.outcome else []
        )


Call: TypeAlias = tuple[str, str]
"""Session id and call id."""


def call_of(attribution: Attribution) -> Call:
    return (attribution.session_id, attribution.call_id)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The change that a call proposes for a file.

    `write` is the complete write that the call proposed, `groups` have the same change as hunks of the
    current text. `is_dropped`: the call was stopped or refused, so the rest of the proposal is withdrawn.
    """

    attribution: Attribution
    write: FileWrite
    groups: tuple[HunkGroup, ...]
    published: Mapping[str, tuple[str, Lines, Lines]] = field(default_factory=dict)
    """State, old lines and new lines of each hunk, by id, as clients know them."""
    is_dropped: bool = False
    number: int = 0
    """Identifies the proposal within its file; set when the file receives the proposal."""

    @property
    def call(self) -> Call:
        return call_of(self.attribution)

    @property
    def hunks(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for group in self.groups for hunk in group.hunks)

    @property
    def is_opaque(self) -> bool:
        return any(group.is_opaque for group in self.groups)

    @property
    def pending_hunks(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for group in self.groups for hunk in group.pending_hunks)

    def with_states(self, ids: Collection[str], state: HunkState) -> Proposal:
        """Return the proposal with these hunks in `state`, which is final."""
        return replace(self, groups=tuple(mark_decided(group, ids, state) for group in self.groups))

    def dropped(self) -> Proposal:
        """Return the proposal with its pending hunks withdrawn."""
        rest = {hunk.id for hunk in self.pending_hunks}
        return replace(self.with_states(rest, "gone"), is_dropped=True)


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """Proposed hunks that are being written to a file after a decision.

    `number` identifies the proposal. `groups` are copies of the proposal's groups, in which a hunk is split if the
    user chose only some of its lines. `ids` are the hunks to write. `lines` maps hunk ids to lines that replace the
    proposed lines. `is_done`: the file's text contains the hunks, and `groups_before` contains the proposal's groups
    from before the write.
    """

    call: Call
    number: int
    groups: tuple[HunkGroup, ...]
    ids: frozenset[str]
    lines: Mapping[str, Lines]
    comment: str
    is_done: bool = False
    groups_before: tuple[HunkGroup, ...] = ()

    @property
    def is_opaque(self) -> bool:
        return any(group.is_opaque for group in self.groups)


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """The review state of one file.

    `recorded` contains each call whose change of the file is in the ledger. `is_saved_by_us`: agent-ls wrote agent
    changes to the file on disk or made the editor save them. `proposals` are the pending proposals for the file;
    `decided` maps ids of former proposed hunks to their last states. `missing` are hunks of resumed sessions that
    the text does not contain yet. `undone` are the last decisions that the editor's own undo may revert.
    `pending_decision` and `pending_write` are what is being written now. `written_as` is the file's encoding.
    """

    ledger: FileLedger
    recorded: frozenset[Call] = frozenset()
    is_saved_by_us: bool = False
    proposals: tuple[Proposal, ...] = ()
    decided: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[StoredHunk, ...] = ()
    undone: tuple[UndoneHunks, ...] = ()
    pending_decision: PendingDecision | None = None
    pending_write: PendingWrite | None = None
    written_as: DecodedText = UTF_8

    @property
    def path(self) -> str:
        return self.ledger.path

    @property
    def all_hunks(self) -> tuple[LedgerHunk, ...]:
        """The open and the closed hunks, without proposals."""
        return (*self.ledger.hunks, *self.ledger.closed)

    def proposal(self, number: int) -> Proposal | None:
        return next((it for it in self.proposals if it.number == number), None)


def text_of(data: bytes | None) -> str | None:
    """Return a file's text for the ledger; None for a missing or a binary file."""
    return None if data is None or looks_binary(data) else decode(data).text


def is_text(data: bytes | None) -> bool:
    """Return whether the data is text; True for a missing file."""
    return data is None or not looks_binary(data)


def read_form(data: bytes) -> DecodedText:
    """Return the encoding and BOM of a file, without its text."""
    return replace(decode(data), text="")


async def maybe_bytes(files: ExecutionEnvironment, path: str) -> bytes | None:
    """Read a file; None if it does not exist.

    Raises:
        EnvError: the file exists but cannot be read.
    """
    try:
        return await files.read_bytes(path)
    except PathNotFoundError:
        return None
