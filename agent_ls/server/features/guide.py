"""The guided review of a session: its hunks in reading order, with reasons, marks and states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio.to_thread

from agent_ls.server import protocol as wire
from agent_ls.server.features.hunk_cells import files_of_hunks
from agent_ls.server.rpc.context import Context
from agent_ls.services.store_errors import store_errors
from agent_ls.sessions.guide.facts import FactsReader
from agent_ls.sessions.guide.session_guide import SessionGuide, open_log, session_guide

if TYPE_CHECKING:
    from agent_ls.loop.events.types import Hunk
    from agent_ls.sessions.guide.log import GuideLog
    from agent_ls.sessions.live import LiveSession

_KNOWN: WeakKeyDictionary[LiveSession, tuple[GuideLog, FactsReader]] = WeakKeyDictionary()
"""What was read of logs and files of live sessions, so that the next guide reads only what is new."""


async def guided_hunks(
    context: Context, session_id: str, *, path: str | None, turn_id: str | None
) -> wire.HunksResult:
    def wanted(hunk: Hunk) -> bool:
        return path in (None, hunk.path) and turn_id in (None, hunk.turn_id, *hunk.later_turns)

    if read := context.manager.owners.find_follower(session_id):
        guide = partial(session_guide, open_log(read.folder), None, wanted=wanted)
    else:
        live = context.require_live(session_id)
        review = context.manager.review
        review.state.flush()
        found = review.open_hunks(session_id=session_id)
        log, reader = _KNOWN.setdefault(live, (open_log(live.folder), FactsReader()))
        guide = partial(
            session_guide,
            log,
            live.files.working_directory() if live.servers else None,
            now={hunk.id: hunk for hunks in found.values() for hunk in hunks},
            text_of={name: review.current_text(name) for name in review.paths(session_id)}.get,
            wanted=wanted,
            reader=reader,
        )
    with store_errors(session_id):
        made = await anyio.to_thread.run_sync(guide)
    files = files_of_hunks(context, made.hunks, lambda hunk: made.reasons.get(hunk.id) or None)
    return wire.HunksResult(files=files, guide=tuple(_rows(made)))


def _rows(made: SessionGuide) -> Iterator[wire.GuideRow]:
    for row in made.rows:
        yield wire.GuideRow(
            kind=row.kind,
            title=row.title or made.reasons.get(row.hunk_ids[0], ""),
            hunk_ids=row.hunk_ids,
            state=row.state,
            marks=tuple(wire.GuideMark(kind=mark.kind, text=mark.text) for mark in row.marks.found),
            unknown=row.marks.unknown,
        )
