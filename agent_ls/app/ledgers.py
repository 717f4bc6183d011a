"""Ledgers built again when a stored session is opened: hunks as its log tells them, files as they are now."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.app.live_session import LiveSession
from agent_ls.app.review_desk import ReviewDesk, text_of
from agent_ls.environments.errors import EnvError, PathNotFoundError
from agent_ls.loop import event_codec
from agent_ls.loop.events import FileChange, Hunk, HunkStateChanged
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.restore import StoredHunk, restore
from agent_ls.store.reader import StoredSession

_KINDS = (b'"kind":"file_change"', b'"kind":"hunk_state"')


async def restore_ledgers(desk: ReviewDesk, live: LiveSession, stored: StoredSession) -> None:
    """Files that cannot be read are left without a ledger: nothing of them can be undone, nothing is guessed."""
    for path, hunks in stored_hunks(event.encoded for event in stored.events).items():
        if desk.is_known(path) or not any(item.hunk.is_open for item in hunks):
            continue
        try:
            text = text_of(await live.files.read_bytes(path))
        except PathNotFoundError:
            text = None
        except EnvError:
            continue
        desk.adopt(restore(path, hunks, text))


def stored_hunks(events: Iterable[bytes]) -> dict[str, list[StoredHunk]]:
    """The last that a log says of each hunk, by path, in the order of their first mention."""
    found: dict[str, dict[str, StoredHunk]] = {}
    for encoded in events:
        if not any(kind in encoded[:200] for kind in _KINDS):
            continue
        envelope = event_codec.decode(encoded)
        match envelope.event if envelope else None:
            case FileChange(path=path, hunks=hunks):
                for hunk in hunks:
                    found.setdefault(path, {})[hunk.id] = StoredHunk(
                        _ledger_hunk(hunk, hunk.lines), hunk.lines
                    )
            case HunkStateChanged(path=path, hunks=hunks):
                for hunk in hunks:
                    known = found.setdefault(path, {}).get(hunk.id)
                    # What the agent wrote is what stood there while nobody else had touched it.
                    agent_lines = (
                        hunk.lines if known is None or hunk.state == "pending" else known.hunk.agent_lines
                    )
                    found[path][hunk.id] = StoredHunk(_ledger_hunk(hunk, agent_lines), hunk.lines)
            case _:
                pass
    return {path: list(hunks.values()) for path, hunks in found.items()}


def _ledger_hunk(hunk: Hunk, agent_lines: tuple[str, ...]) -> LedgerHunk:
    return LedgerHunk(
        id=hunk.id,
        session_id=hunk.session_id,
        turn_id=hunk.turn_id,
        call_id=hunk.call_id,
        what=hunk.what,
        state=hunk.state,
        base_start=hunk.base_start,
        base_end=hunk.base_end,
        start=hunk.start,
        end=hunk.end,
        base_lines=hunk.base_lines,
        agent_lines=agent_lines,
    )
