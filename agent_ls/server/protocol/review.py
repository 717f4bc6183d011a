"""Hunks and the verdicts on them."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class HunkInfo(Wire):
    """Ranges are lines [start, end) from 0. `newRange` is in the current text, `oldRange` in the accepted one.

    Of a `proposed` hunk `newLines` are what it would put in place of `newRange`. Hunks with the same `link` are decided
    together. `laterTurnIds`: turns that have changed the lines which the turn `turnId` had made.
    """

    id: str
    session_id: str
    turn_id: str
    call_id: str
    what: Literal["content", "create", "delete"]
    state: Literal["proposed", "pending", "kept", "undone", "edited", "stale", "gone"]
    old_range: tuple[int, int]
    new_range: tuple[int, int]
    old_lines: tuple[str, ...]
    new_lines: tuple[str, ...]
    link: str | None = None
    later_turn_ids: tuple[str, ...] | None = None


class FileHunks(Wire):
    """`version` is the synced document's, None for a file that is not open."""

    uri: str
    base_hash: str
    version: int | None = None
    hunks: tuple[HunkInfo, ...]


class Hunks(Params):
    """Hunks that wait for a verdict, all or those of one session, file or turn."""

    method: ClassVar[str] = "agent/hunks"
    session_id: str | None = None
    uri: str | None = None
    turn_id: str | None = None


class HunksResult(Wire):
    files: tuple[FileHunks, ...]


class Review(Params):
    """A verdict on hunks, named by exactly one of the four selectors. `confirm`: undo edited hunks as well.

    `lines` [first, last) of the new lines, and `replacement` for what is kept, go with exactly one of `hunkIds`.
    """

    method: ClassVar[str] = "agent/review"
    client_key: str
    hunk_ids: tuple[str, ...] | None = None
    uri: str | None = None
    turn_id: str | None = None
    session_id: str | None = None
    verdict: Literal["keep", "undo"]
    comment: str | None = None
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None


class ReviewResult(Wire):
    """`refused`: ids that were left alone, with the reason in words."""

    changed: tuple[HunkInfo, ...]
    refused: tuple[dict[str, str], ...] = ()
