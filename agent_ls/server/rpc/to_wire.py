"""Pure: encode sessions, hunks, approvals and events as messages of the protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_ls.loop.events import items as items_codec
from agent_ls.loop.events.items import Item
from agent_ls.loop.events.types import Delta, Hunk, QueueItem
from agent_ls.loop.session import Session
from agent_ls.patterns import regex
from agent_ls.server import protocol as wire
from agent_ls.server.lsp import to_lsp

if TYPE_CHECKING:
    from agent_ls.loop.inbox import QueuedSteer
    from agent_ls.sessions.live import SessionSummary
    from agent_ls.sessions.rollback import RollbackFile
    from agent_ls.store.locks import Owner

# The start of an encoded event. Only events of these kinds contain file paths that an editor may display.
_NAMES_FILES = regex(
    rb'\{"sessionId":"[^"]*","seq":\d+,"kind":"(?:file_change|hunk_state|reverted|diagnostics)"'
)

# The bytes `"path":"` are always a member name: inside a JSON string each quote has a backslash before it.
_PATH = regex(rb'"path":("(?:[^"\\]|\\.)*")')


HunkCells: TypeAlias = Mapping[str, tuple[wire.HunkCell, ...]]
"""The parts of hunks in the cells of a notebook, by hunk id."""


def event(encoded: bytes) -> bytes:
    """Add a `uri` before each `path` of an encoded event that names files. Other events are returned
    unchanged.
    """
    return _PATH.sub(_with_uri, encoded) if _NAMES_FILES.match(encoded) else encoded


def items(found: Sequence[Item]) -> bytes:
    """Encode items for clients. Items that name files get a `uri` for each `path`."""
    plain = [items_codec.to_json(item) for item in found]
    for item in plain:
        if item["kind"] in ("file", "end", "reverted"):
            _add_uris(item)
    return dump_json(plain)


def _add_uris(value: dict[str, Any]) -> None:
    if isinstance(path := value.get("path"), str):
        value["uri"] = to_lsp.uri(path)
    for inner in (*value.get("hunks", ()), *value.get("files", ())):
        _add_uris(inner)


def _with_uri(found: re.Match[bytes]) -> bytes:
    uri = json.dumps(to_lsp.uri(json.loads(found[1]))).encode()
    return b'"uri":%b,%b' % (uri, found[0])


def session_info(summary: SessionSummary, session: Session | None) -> wire.SessionInfo:
    """Return the description of a session for clients. `session` is None if the session is stored but not
    open.
    """
    return wire.SessionInfo.of(
        summary,
        state=session.state if session else summary.state,
        workspace_folder=to_lsp.uri(summary.workspace_folder),
        last_seq=session.last_seq if session else summary.last_seq,
        live=session is not None,
        access="owner" if session or not summary.owner else "readOnly",
        owner=None if session else owner(summary.owner),
        worktree=to_lsp.uri(summary.worktree) if summary.worktree else None,
        queue=queue([item.to_queue_item() for item in session.queue]) if session else (),
        steering=steering(session.steering) if session else (),
    )


def owner(found: Owner | None) -> wire.OwnerInfo | None:
    return wire.OwnerInfo.of(found) if found else None


def queue(items: Sequence[QueueItem]) -> tuple[dict[str, Any], ...]:
    return tuple({"queuedId": it.queued_id, "text": it.text, "images": it.images} for it in items)


def steering(steers: Sequence[QueuedSteer]) -> tuple[dict[str, Any], ...]:
    return tuple({"steerId": steer.id, "text": steer.text} for steer in steers)


def open_part(part: Delta, agent_id: str = "") -> wire.OpenPart:
    """Return a part of the answer that is still being streamed. `agent_id` "" is the main agent."""
    return wire.OpenPart.of(part, agent_id=agent_id or None)


def hunk(
    hunk: Hunk, cells: tuple[wire.HunkCell, ...] | None = None, reason: str | None = None
) -> wire.HunkInfo:
    return wire.HunkInfo.of(
        hunk,
        old_range=(hunk.base_start, hunk.base_end),
        new_range=(hunk.start, hunk.end),
        old_lines=hunk.base_lines,
        new_lines=hunk.lines,
        link=hunk.link or None,
        later_turn_ids=hunk.later_turns or None,
        cells=cells or None,
        looked=hunk.looked or None,
        reason=reason,
    )


def revert_file(file: RollbackFile) -> wire.RevertFile:
    return wire.RevertFile.of(
        file, uri=to_lsp.uri(file.path), conflicts=tuple(map(wire.RevertConflict.of, file.at))
    )


def file_hunks(
    by_path: Mapping[str, Sequence[Hunk]],
    base_hash: Callable[[str], str],
    version: Callable[[str], int | None],
    cells: Callable[[str, Sequence[Hunk]], HunkCells] = lambda path, hunks: {},
    reason: Callable[[Hunk], str | None] = lambda hunk: None,
) -> tuple[wire.FileHunks, ...]:
    """Return the hunks of files for clients. `cells` returns the parts of a notebook's hunks by hunk id, `reason`
    the reason of a hunk.
    """
    in_cells = {path: cells(path, hunks) for path, hunks in by_path.items()}
    return tuple(
        wire.FileHunks(
            uri=to_lsp.uri(path),
            base_hash=base_hash(path),
            version=version(path),
            hunks=tuple(hunk(item, in_cells[path].get(item.id), reason(item)) for item in hunks),
        )
        for path, hunks in by_path.items()
    )


def encode_result(result: wire.Wire, without: str = "") -> bytes:
    """Encode a result as one JSON object, without members that are None and without the member `without`."""
    # Not model_dump_json, which fails on a lone surrogate (an undecodable byte of a file).
    return dump_json(result.model_dump(mode="python", by_alias=True, exclude_none=True, exclude={without}))


def dump_json(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
