"""Pure: copy a session's log up to the end of a turn, as the log of a new session.

Records that concern only the original session are left out: hunks, queue, undelivered steering messages, title
and end. Events get new numbers without gaps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from agent_ls.store.errors import UnknownTurnError
from agent_ls.store.log import json_line

_LEFT = frozenset(("hunk_state", "queue", "queue_splice", "session_end", "title"))
_KEPT_RECORDS = ("turn", "agentTurn", "prompt", "prefix", "config")


@dataclass(frozen=True, slots=True)
class ForkedLog:
    """The copied log. `lines` follow the header of the new log; `output_refs` names the stored outputs to
    which the lines refer.
    """

    lines: tuple[bytes, ...]
    output_refs: tuple[str, ...]


def fork_log(lines: Iterable[bytes], session_id: str, at_turn: str = "") -> ForkedLog:
    """Copy the log lines after the header for the session `session_id`. `at_turn` "" means the last complete turn.

    Raises:
        UnknownTurnError: the turn does not exist, or it has not ended.
    """
    records = list(_records(lines))
    cut = _find_turn_end(records, at_turn)
    kept = list(_select_records(records[:cut]))
    configs = [item["config"] for item in records if "config" in item]
    if configs:
        kept.append({"config": configs[-1]})
    kept += _missing_end(kept)
    kept.append({"copied": True})
    refs: list[str] = []
    seq = 0
    for item in kept:
        if event := item.get("event"):
            seq += 1
            event |= {"sessionId": session_id, "seq": seq}
            if ref := event["data"].get("outputRef"):
                refs.append(ref)
    return ForkedLog(tuple(json_line(item) for item in kept), tuple(refs))


def _records(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the records in `lines`. Damaged lines are skipped."""
    for line in lines:
        try:
            value = json.loads(line.decode())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and all(isinstance(value.get(it, {}), dict) for it in ("event", "turn")):
            event = value.get("event")
            if event is None or (isinstance(event.get("kind"), str) and isinstance(event.get("data"), dict)):
                yield value


def _find_turn_end(records: list[dict[str, Any]], at_turn: str) -> int:
    """Return the index of the first record after turn `at_turn`, or after the last complete turn if it is "".

    A turn without an end event ends where the follow-up turn begins.
    """
    ends: dict[str, int] = {}
    running, input_at = "", 0
    for place, item in enumerate(records):
        if item.get("turn", {}).get("type") == "user":
            input_at = place
        event = item.get("event", {})
        if event.get("kind") == "user_input":
            if running:
                ends[running] = input_at
            running = event.get("turnId", "")
        elif event.get("kind") == "processing_end" and running:
            ends[running] = place + 1
            running = ""
        elif event.get("kind") == "reverted":
            ends[event["data"].get("revertId", "")] = place + 1
    wanted = at_turn or next(reversed(ends), "")
    if wanted not in ends:
        raise UnknownTurnError(at_turn, ends)
    return ends[wanted]


def _select_records(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records to copy. File changes are copied without their hunks."""
    ended = {
        item["event"]["data"].get("steerId")
        for item in records
        if item.get("event", {}).get("kind") in ("steering_injected", "steering_removed")
    }
    for item in records:
        event = item.get("event")
        if event is None:
            if any(kind in item for kind in _KEPT_RECORDS):
                yield item
        elif event["kind"] == "file_change":
            yield {"event": {**event, "data": {**event["data"], "hunks": []}}}
        elif event["kind"] not in _LEFT and not (
            event["kind"] == "steering_queued" and event["data"].get("steerId") not in ended
        ):
            yield item


def _missing_end(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return end events for a turn that has no end event because a follow-up turn began directly after it."""
    events = [item["event"] for item in kept if "event" in item]
    last = events[-1] if events else {}
    if last.get("kind") in ("processing_end", "reverted", "plan"):
        return []
    head = {"sessionId": "", "seq": 0}
    rest = {"timestamp": last.get("timestamp", ""), "turnId": last.get("turnId", "")}
    return [
        {"event": {**head, "kind": "state", **rest, "data": {"state": "IDLE"}}},
        {"event": {**head, "kind": "processing_end", **rest, "data": {"reason": "completed"}}},
    ]
