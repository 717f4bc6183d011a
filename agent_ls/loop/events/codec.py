"""Pure: the only codec of events, Envelope to JSON bytes and back. Log, wire and `exec --json` use the same bytes.

Wire form (docs/protocol/events.md): `{"sessionId", "seq", "kind", "timestamp", "turnId"?, "agentId"?,
"data"}`; a delta has `after`, `partId` and `offset` instead of `seq`. Names are camelCase in JSON,
snake_case in Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from agent_ls.loop.events.types import Delta, Envelope, RecordedEvent

_CLASSES = MappingProxyType({cls.kind: cls for cls in get_args(RecordedEvent)})
_adapters: dict[str, TypeAdapter[Any]] = {}

DELTA_KINDS = frozenset(
    ("assistant_text_delta", "reasoning_delta", "tool_call_args_delta", "tool_call_output_delta")
)


def encode(envelope: Envelope) -> bytes:
    """Return one line of JSON, without a newline."""
    head = make_json(envelope)
    try:
        return to_json(head)  # several times faster than json.dumps, but raises for lone surrogates
    except ValueError:
        return json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def make_json(envelope: Envelope) -> dict[str, Any]:
    """Return the wire form as plain JSON."""
    event = envelope.event
    head: dict[str, Any] = {"sessionId": envelope.session_id}
    if envelope.seq is not None:
        head["seq"] = envelope.seq
    head["kind"] = event.kind
    head["timestamp"] = envelope.timestamp
    if envelope.turn_id:
        head["turnId"] = envelope.turn_id
    if envelope.agent_id:
        head["agentId"] = envelope.agent_id
    if isinstance(event, Delta):
        head |= {"after": envelope.after, "partId": event.part_id, "offset": event.offset}
        head["data"] = {"text": event.text, **({"name": event.name} if event.name else {})}
    else:
        head["data"] = payload(event)
    return head


def payload(event: RecordedEvent) -> dict[str, Any]:
    """Return the `data` of an event."""
    data: dict[str, Any] = _adapter(_CLASSES[event.kind]).dump_python(event, mode="json", by_alias=True)
    return data


def camel_json(value: Any) -> dict[str, Any]:
    """Return a dataclass of plain values as JSON with camelCase names."""
    found: dict[str, Any] = _camel(asdict(value))
    return found


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_camel(key): _camel(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_camel(item) for item in value]
    return value


def decode(data: bytes) -> Envelope | None:
    """Decode an event. Returns None for an unknown kind, because another version may have written the event.

    Raises:
        ValueError: not an event.
    """
    return from_json(json.loads(data))


def from_json(raw: Any) -> Envelope | None:
    """Decode an event from parsed JSON. Returns None for an unknown kind.

    Raises:
        ValueError: not an event.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("kind"), str):
        raise ValueError("not an event")
    try:
        return _envelope(raw)
    except KeyError as missing:
        raise ValueError(f"not an event: {missing} is missing") from missing


def _envelope(raw: dict[str, Any]) -> Envelope | None:
    kind, payload = raw["kind"], raw.get("data", {})
    event: Any
    if kind in DELTA_KINDS:
        event = Delta(kind, raw["partId"], raw["offset"], payload["text"], payload.get("name", ""))
    elif cls := _CLASSES.get(kind):
        event = _adapter(cls).validate_python(payload)
    else:
        return None
    return Envelope(
        session_id=raw["sessionId"],
        seq=raw.get("seq"),
        timestamp=raw["timestamp"],
        event=event,
        turn_id=raw.get("turnId", ""),
        agent_id=raw.get("agentId", ""),
        after=raw.get("after", 0),
    )


def builders() -> Iterator[Callable[[], object]]:
    """Yield one function for each event kind. The function builds the validator of the kind in advance, and
    may be called in any thread.
    """
    return (partial(_adapter, cls) for cls in _CLASSES.values())


def built_kinds() -> list[str]:
    """Return the kinds whose validators have been built."""
    return list(_adapters)


def build(kinds: Iterable[str]) -> None:
    """Build the validators of some kinds in advance."""
    for kind in kinds:
        if cls := _CLASSES.get(kind):
            _adapter(cls)


def _adapter(cls: Any) -> TypeAdapter[Any]:
    # Each validator is built on first use, because building all validators would slow down the start.
    found = _adapters.get(cls.kind)
    if found is None:
        cls.__pydantic_config__ = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")
        found = _adapters[cls.kind] = TypeAdapter(cls)
    return found
