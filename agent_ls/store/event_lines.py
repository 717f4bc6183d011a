"""Check the event lines of a log, so that a damaged line reaches no client.

A disk, an editor or a sync program may have damaged a log. A line is damaged if it is not UTF-8, not JSON, or
not an event with the fields of its kind. The event number may be wrong too, which is detected by comparing it
with the neighbouring numbers.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Envelope

EVENT = b'{"event":'

MAX_JUMP = 10_000
"""An event counts as damaged if its number exceeds the previous event's number by more than this."""


@dataclass(frozen=True, slots=True)
class EventLine:
    """A checked event line.

    `encoded` is the event's JSON as the codec wrote it. `envelope` is None if this version does not know the
    kind of the event.
    """

    session_id: str
    seq: int
    encoded: bytes
    envelope: Envelope | None


def parse_event(line: bytes) -> EventLine:
    """Parse a line that begins with EVENT. A carriage return at its end, from converted line ends, is accepted.

    Raises:
        ValueError: the line is damaged.
    """
    encoded = line.rstrip(b"\r\n")[len(EVENT) : -1]
    try:
        raw = json.loads(encoded.decode("utf-8"), parse_constant=_refuse_constant)
        envelope = event_codec.from_json(raw)
        _check_head(raw)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not an event: {error!r}") from error
    return EventLine(raw["sessionId"], raw["seq"], encoded, envelope)


def maybe_event(line: bytes) -> EventLine | None:
    """Return the event in a log line; None for other records and for damaged lines."""
    if not line.startswith(EVENT):
        return None
    try:
        return parse_event(line)
    except ValueError:
        return None


def events_of(lines: Iterable[bytes], session_id: str) -> list[EventLine]:
    """Return the undamaged events of a session ("" for any session) in `lines`.

    Events with a wrong or repeated number are left out.
    """
    found = (maybe_event(line) for line in lines)
    read = [event for event in found if event and session_id in ("", event.session_id)]
    belongs = in_sequence([event.seq for event in read])
    return [event for event, is_sound in zip(read, belongs, strict=True) if is_sound]


def without_holes(events: Sequence[EventLine], session_id: str, after: int, last: int) -> list[bytes]:
    """Return the encoded events from number `after` + 1 to `last`, with an event of kind `missing` for each
    lost event.

    Without the event `missing`, a client that sees a gap would request the lost event again and again.
    """
    filled: list[bytes] = []
    timestamp = ""
    for event in events:
        timestamp = event.envelope.timestamp if event.envelope else timestamp
        filled += [_make_placeholder(session_id, seq, timestamp) for seq in range(after + 1, event.seq)]
        filled.append(event.encoded)
        after = event.seq
    return filled + [_make_placeholder(session_id, seq, timestamp) for seq in range(after + 1, last + 1)]


def _make_placeholder(session_id: str, seq: int, timestamp: str) -> bytes:
    event = {"sessionId": session_id, "seq": seq, "kind": "missing", "timestamp": timestamp, "data": {}}
    return json.dumps(event, separators=(",", ":")).encode()


def in_sequence(numbers: Sequence[int]) -> list[bool]:
    """Return for each event number whether it is correct. The other numbers are damaged or repeated.

    The numbers of the longest increasing subsequence count as correct, because a wrong number is larger than
    the next number or smaller than the previous number. A number more than MAX_JUMP above the
    previous one counts as damaged.
    """
    if all(before < number for before, number in itertools.pairwise(numbers)):
        belongs = [True] * len(numbers)
    else:
        belongs = _longest_rising(numbers)
    before = 0
    for place, number in enumerate(numbers):
        if belongs[place] and before and number - before > MAX_JUMP:
            belongs[place] = False
        elif belongs[place]:
            before = number
    return belongs


def _longest_rising(numbers: Sequence[int]) -> list[bool]:
    """Return for each number whether it belongs to the longest increasing subsequence (by patience sorting).

    Among equal numbers, the first is chosen.
    """
    ends: list[int] = []  # ends[n]: the smallest number that can end an increasing sequence of n + 1 numbers
    places: list[int] = []
    previous: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        previous.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(number)
            places.append(place)
        elif number < ends[length]:
            ends[length], places[length] = number, place
    belongs = [False] * len(numbers)
    place = places[-1] if places else -1
    while place >= 0:
        belongs[place] = True
        place = previous[place]
    return belongs


def _check_head(raw: dict[str, Any]) -> None:
    """Check the fields that all events have.

    Raises:
        ValueError: a field is missing or has the wrong type.
    """
    seq = raw["seq"]
    texts = (raw["sessionId"], raw["timestamp"], raw.get("turnId", ""), raw.get("agentId", ""))
    if type(seq) is not int or seq < 1 or not isinstance(raw["data"], dict):
        raise ValueError("not an event: the number or the data is invalid")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("not an event: a required field is not a string")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
