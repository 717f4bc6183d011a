"""A file that sessions changed, as the review desk keeps it; and its bytes as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import anyio

from agent_ls.app.change_events import shown
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events import Hunk
from agent_ls.review.hunks import LedgerHunk, Lines
from agent_ls.review.ledger import Change, FileLedger
from agent_ls.review.proposals import Sheet
from agent_ls.review.verdicts import Decision
from agent_ls.text import DecodedText, decode, looks_binary

UTF_8 = DecodedText("")


@dataclass(slots=True)
class Undoing:
    """A decision on its way into the file. `outcome` is set once it stands there, with the ledger after it."""

    decision: Decision
    comment: str
    outcome: Change | None = None

    def changed(self) -> list[Hunk]:
        """The hunks that it changed, as they were directly after it."""
        return [shown(self.outcome.ledger, hunk) for hunk in self.outcome.changed] if self.outcome else []


Call: TypeAlias = tuple[str, str]
"""Session and call."""


@dataclass(slots=True)
class Proposal:
    """What a call proposes for a file: the write that it is made of, and that as hunks beside the text of this moment.

    `told` is what clients know of each hunk. `is_dropped`: its call has given it up.
    """

    attribution: Attribution
    write: FileWrite
    sheets: tuple[Sheet, ...]
    told: Mapping[str, tuple[str, Lines, Lines]] = field(default_factory=dict)
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
    def waiting(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for sheet in self.sheets for hunk in sheet.waiting)


@dataclass(slots=True)
class Landing:
    """Proposed hunks on their way into a file, after a verdict.

    `sheets` are the proposal's, divided where only lines of a hunk are meant; `lines` are new lines in place of those
    that a hunk has. `is_done`: they stand in the text; the proposal's sheets were `sheets_before` until then.
    """

    call: Call
    proposal: Proposal
    sheets: tuple[Sheet, ...]
    ids: frozenset[str]
    lines: Mapping[str, Lines]
    comment: str
    is_done: bool = False
    sheets_before: tuple[Sheet, ...] = ()

    @property
    def is_opaque(self) -> bool:
        return any(sheet.is_opaque for sheet in self.sheets)


@dataclass(slots=True)
class ReviewedFile:
    """`recorded` are the calls, by session and id, whose change of this file is in the ledger.

    `proposals` stand beside the file; `decided` remembers the last state of hunks that did. `written_as` is its
    encoding, when last seen. `deciding` is held while a verdict is carried out: one at a time.
    """

    ledger: FileLedger
    recorded: set[tuple[str, str]] = field(default_factory=set)
    undoing: Undoing | None = None
    proposals: list[Proposal] = field(default_factory=list)
    landing: Landing | None = None
    decided: dict[str, str] = field(default_factory=dict)
    written_as: DecodedText = UTF_8
    deciding: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def path(self) -> str:
        return self.ledger.path


def text_of(data: bytes | None) -> str | None:
    """A file's text for the ledger; None for no file, and for one that is no text."""
    return None if data is None or looks_binary(data) else decode(data).text


def is_text(data: bytes | None) -> bool:
    """True for no file too."""
    return data is None or not looks_binary(data)


def written_as(data: bytes) -> DecodedText:
    """The encoding and BOM of a file, without its text."""
    return replace(decode(data), text="")


async def maybe_bytes(files: ExecutionEnvironment, path: str) -> bytes | None:
    """
    Raises:
        EnvError: something is there, and cannot be read.
    """
    try:
        return await files.read_bytes(path)
    except PathNotFoundError:
        return None
