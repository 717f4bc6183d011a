"""A file that sessions changed, as the review desk keeps it; and its bytes as text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import anyio

from agent_ls.app.change_events import shown
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.loop.events import Hunk
from agent_ls.review.ledger import Change, FileLedger
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


@dataclass(slots=True)
class ReviewedFile:
    """`recorded` are the calls, by session and id, whose change of this file is in the ledger.

    `written_as` is its encoding, when last seen. `deciding` is held while a verdict is carried out: one at a time.
    """

    ledger: FileLedger
    recorded: set[tuple[str, str]] = field(default_factory=set)
    undoing: Undoing | None = None
    written_as: DecodedText = UTF_8
    deciding: anyio.Lock = field(default_factory=anyio.Lock)


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
