"""The review state of one file, and conversions between its bytes and text."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import anyio

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events.types import Hunk
from agent_ls.review.decisions import Decision
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import FileLedger, LedgerChange
from agent_ls.review.proposals import ProposalSheet
from agent_ls.review.reopened_hunks import UndoneHunks
from agent_ls.services.review.change_events import build_hunk
from agent_ls.text import DecodedText, decode, looks_binary

UTF_8 = DecodedText("")
MOST_UNDOS = 20
"""Maximum number of undo decisions remembered per file, each with the text before the decision."""


@dataclass(slots=True)
class PendingDecision:
    """A decision that is being written to the file.

    `outcome` contains the ledger after the decision. It is set as soon as the file's text contains the result.
    """

    decision: Decision
    comment: str
    outcome: LedgerChange | None = None

    def list_changed(self) -> list[Hunk]:
        """Return the hunks that the decision changed, as they were directly after the decision."""
        return (
            [build_hunk(self.outcome.ledger, hunk) for hunk in self.outcome.changed] if self.outcome else []
        )


Call: TypeAlias = tuple[str, str]
"""Session id and call id."""


@dataclass(slots=True)
class Proposal:
    """The change that a call proposes for a file.

    `write` is the complete write that the call proposed, `sheets` have the same change as hunks of the
    current text. `is_dropped`: the call was stopped or refused, so the rest of the proposal is withdrawn.
    """

    attribution: Attribution
    write: FileWrite
    sheets: tuple[ProposalSheet, ...]
    told: Mapping[str, tuple[str, Lines, Lines]] = field(default_factory=dict)
    """State, old lines and new lines of each hunk, by id, as clients know them."""
    is_dropped: bool = False

    @property
    def call(self) -> Call:
        return (self.attribution.session_id, self.attribution.call_id)

    @property
    def hunks(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for sheet in self.sheets for hunk in sheet.hunks)

    @property
    def is_opaque(self) -> bool:
        return any(sheet.is_opaque for sheet in self.sheets)

    @property
    def pending_hunks(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for sheet in self.sheets for hunk in sheet.pending_hunks)


@dataclass(slots=True)
class PendingWrite:
    """Proposed hunks that are being written to a file after a decision.

    `sheets` are copies of the proposal's sheets, in which a hunk is split if the user chose only some of its
    lines. `ids` are the hunks to write. `lines` maps hunk ids to lines that replace the proposed lines.
    `is_done`: the file's text contains the hunks, and `sheets_before` contains the proposal's sheets from
    before the write.
    """

    call: Call
    proposal: Proposal
    sheets: tuple[ProposalSheet, ...]
    ids: frozenset[str]
    lines: Mapping[str, Lines]
    comment: str
    is_done: bool = False
    sheets_before: tuple[ProposalSheet, ...] = ()

    @property
    def is_opaque(self) -> bool:
        return any(sheet.is_opaque for sheet in self.sheets)


@dataclass(slots=True)
class ReviewedFile:
    """The review state of one file.

    `recorded` contains the session id and call id of each call whose change of the file is in the ledger.
    `is_saved_by_us`: agent-ls wrote agent changes to the file on disk or made the editor save them. `proposals`
    are the pending proposals for the file; `decided` maps ids of former proposed hunks to their last states.
    `undone` are the last decisions that the editor's own undo may revert. `written_as` is the file's encoding.
    The lock `deciding` is held while a decision is carried out.
    """

    ledger: FileLedger
    recorded: set[tuple[str, str]] = field(default_factory=set)
    pending_decision: PendingDecision | None = None
    is_saved_by_us: bool = False
    proposals: list[Proposal] = field(default_factory=list)
    pending_write: PendingWrite | None = None
    decided: dict[str, str] = field(default_factory=dict)
    undone: deque[UndoneHunks] = field(default_factory=lambda: deque(maxlen=MOST_UNDOS))
    written_as: DecodedText = UTF_8
    deciding: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def path(self) -> str:
        return self.ledger.path


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
