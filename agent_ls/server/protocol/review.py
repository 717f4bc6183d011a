"""Hunks, and decisions about them."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class HunkCell(Wire):
    """The part of a notebook's hunk that is in one cell: `range` are lines [start, end) of the cell. A hunk
    can have several parts in one cell.

    `cell` is the index of the cell in the current text, from 0. `oldLines` and `newLines` are defined as in
    HunkInfo. `uri` and `version` name the cell's document if the open notebook has exactly the cells of the
    current text.
    """

    cell: int
    uri: str | None = None
    version: int | None = None
    range: tuple[int, int]
    old_lines: tuple[str, ...]
    new_lines: tuple[str, ...]


class HunkInfo(Wire):
    """A hunk. Ranges are lines [start, end) from 0. `newRange` is in the current text, `oldRange` in the
    accepted text.

    The `newLines` of a `proposed` hunk would replace the lines in `newRange`. Hunks with the same `link` are decided
    together. `laterTurnIds`: later turns that have changed lines written by the turn `turnId`. `cells`: the
    same change in the cells of a notebook. `looked`: the user has looked at exactly this text. `reason` is given
    with a guide: one line, why the agent made the change.
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
    cells: tuple[HunkCell, ...] | None = None
    looked: bool | None = None
    reason: str | None = None


class FileHunks(Wire):
    """Hunks of a file. `version` is that of the synced document, None if the file is not open."""

    uri: str
    base_hash: str
    version: int | None = None
    hunks: tuple[HunkInfo, ...]


class Hunks(Params):
    """Returns hunks that need a decision: all, or those of one session, file or turn.

    `guide`: also return kept and undone hunks, the reasons, and the rows of a guided review. Needs `sessionId`.
    """

    method: ClassVar[str] = "agent/hunks"
    session_id: str | None = None
    uri: str | None = None
    turn_id: str | None = None
    guide: bool = False


class GuideMark(Wire):
    """A fact that makes a hunk deserve a second look. `text` has a few words."""

    kind: Literal["untested", "newProblem", "sensitive", "signature", "yourText"]
    text: str


class GuideRow(Wire):
    """A row of a guided review. `title` is the reason of a `change`, else what the group has in common.

    `unknown` are the kinds of marks that could not be decided.
    """

    kind: Literal["change", "renames", "whiteSpace", "generated"]
    title: str
    hunk_ids: tuple[str, ...]
    state: Literal["notLooked", "looked", "kept", "undone"]
    marks: tuple[GuideMark, ...] = ()
    unknown: tuple[Literal["untested", "newProblem", "sensitive", "signature", "yourText"], ...] = ()


class HunksResult(Wire):
    files: tuple[FileHunks, ...]
    guide: tuple[GuideRow, ...] | None = None


class Looked(Params):
    """Notes that the user has looked at these hunks, until their text changes. Unknown ids are ignored."""

    method: ClassVar[str] = "agent/looked"
    hunk_ids: tuple[str, ...]


class Review(Params):
    """A decision about hunks, selected by one of `hunkIds`, `uri`, `turnId` and `sessionId`. `confirm`: also
    undo hunks in which the user has typed.

    `lines` limits the decision to lines [first, last) of the hunk's `newLines`. `replacement` is the text to
    keep instead of the hunk's new lines. Both need exactly one id in `hunkIds`.
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
    """`changed` are hunks whose state has changed. `refused` are the ids of hunks that were not changed, with
    the reason.
    """

    changed: tuple[HunkInfo, ...]
    refused: tuple[dict[str, str], ...] = ()
