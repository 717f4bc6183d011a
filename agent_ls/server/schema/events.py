"""The JSON Schema of events, of the items reduced from them, and of the effects that they name.

Definitions have the names of our classes. The schema describes the wire format: camelCase, a `uri` for each `path`
where a message names files, and all fields in the data of an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from agent_ls.environments.effects import Effect
from agent_ls.loop.calls.approval import SELDOM
from agent_ls.loop.events import items
from agent_ls.loop.events.codec import DELTA_KINDS
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.server.protocol import Access

REF = "#/$defs/{model}"
NAMES_FILES = ("Hunk", "FileChange", "HunkStateChanged", "RevertedFile", "DiagnosedFile", "FileSum")
"""Types that get a `uri` for their `path` when they are sent to a client (to_wire.py)."""

SENT_ONLY = ("client_request", "access")
"""Kinds of events that are not of a session, but of the connection to a client."""

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_YES_OR_NO = {"type": "boolean"}


def definitions() -> dict[str, Any]:
    """Return the definitions by name: `Event`, `Item`, `Effect`, and everything that they refer to."""
    defs: dict[str, Any] = {}
    kinds = {cls.kind: _add_definitions(cls, defs) for cls in get_args(RecordedEvent)}
    for cls in get_args(Effect):
        _add_definitions(cls, defs)
        defs[cls.__name__] = _effect(cls.__name__, defs[cls.__name__])
    _add_definitions(items.FileSum, defs)
    for name in NAMES_FILES:
        defs[name] = _with(defs[name], {"uri": _TEXT})
    defs["ApprovalRequested"]["properties"]["effect"] = ref("Effect")
    defs["Effect"] = {"anyOf": [ref(cls.__name__) for cls in get_args(Effect)]}
    defs["Event"] = {
        "anyOf": [
            *map(_recorded, kinds, kinds.values()),
            _recorded("missing", {"type": "object", "properties": {}}),
            _client_request(),
            _access(),
            _delta(),
        ]
    }
    defs["Item"] = {"anyOf": list(_items(defs))}
    return defs


def printed_event(defs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an event as `exec --json`, `as_json` of the library and exports have it: without a `uri`.

    It refers to no definition, because those of the types with paths are of messages to clients.
    """
    kinds = defs["Event"]["anyOf"]
    is_sent_only = [one["properties"]["kind"].get("const") in SENT_ONLY for one in kinds]
    printed = [one for one, is_sent in zip(kinds, is_sent_only, strict=True) if not is_sent]
    found: dict[str, Any] = _without_uris({"anyOf": printed}, defs)
    return found


def _without_uris(part: Any, defs: Mapping[str, Any]) -> Any:
    if isinstance(part, list):
        return [_without_uris(item, defs) for item in part]
    if not isinstance(part, dict):
        return part
    name = str(part.get("$ref", "")).removeprefix(REF.format(model=""))
    if name not in NAMES_FILES:
        whole = defs[name] if name else part
        return {key: _without_uris(value, defs) for key, value in whole.items()}
    fields = {key: value for key, value in defs[name]["properties"].items() if key != "uri"}
    return _without_uris({**defs[name], "properties": fields, "required": list(fields)}, defs)


def ref(name: str) -> dict[str, Any]:
    return {"$ref": REF.format(model=name)}


def an_object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def _add_definitions(cls: type[Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Add the definitions of a dataclass and of the types that it refers to. All fields are sent, so all are
    required.
    """
    schema = TypeAdapter(cls).json_schema(mode="serialization", ref_template=REF)
    for name, inner in schema.pop("$defs", {}).items():
        defs.setdefault(name, _camel(inner))
    defs.setdefault(cls.__name__, _camel(schema))
    return ref(cls.__name__)


def _camel(schema: dict[str, Any]) -> dict[str, Any]:
    named = {to_camel(name): inner for name, inner in schema.get("properties", {}).items()}
    return {**schema, "properties": named, "required": list(named)}


def _with(schema: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    properties = {**schema["properties"], **more}
    return {**schema, "properties": properties, "required": [*schema["required"], *more]}


def _effect(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    required = ["type", *(field for field in schema["required"] if field not in SELDOM)]
    return {**schema, "properties": {"type": {"const": name}, **schema["properties"]}, "required": required}


# --- events ---------------------------------------------------------------------------------------------------


def _recorded(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return an_object(
        {
            "sessionId": _TEXT,
            "seq": {"type": "integer", "minimum": 1},
            "kind": {"const": kind},
            "timestamp": _TEXT,
            "data": data,
        },
        {"turnId": _TEXT, "agentId": _TEXT},
    )


def _delta() -> dict[str, Any]:
    return an_object(
        {
            "sessionId": _TEXT,
            "kind": {"enum": sorted(DELTA_KINDS)},
            "timestamp": _TEXT,
            "after": _COUNT,
            "partId": _TEXT,
            "offset": _COUNT,
            "data": an_object({"text": _TEXT}, {"name": _TEXT}),
        },
        {"turnId": _TEXT, "agentId": _TEXT},
    )


def _client_request() -> dict[str, Any]:
    data = {
        "requestId": _TEXT,
        "clientId": _TEXT,
        "what": _TEXT,
        "params": {"type": "object"},
        "deadlineMs": {"type": "integer"},
    }
    return _unrecorded("client_request", an_object(data))


def _access() -> dict[str, Any]:
    return _unrecorded(
        "access", an_object({"access": {"enum": list(get_args(Access))}}, {"owner": ref("OwnerInfo")})
    )


def _unrecorded(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return an_object({"sessionId": _TEXT, "kind": {"const": kind}, "timestamp": _TEXT, "data": data})


# --- items (loop/events/items.py, to_json) ---------------------------------------------------------------------------


def _items(defs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    said = {"partId": _TEXT, "text": _TEXT, "interrupted": _YES_OR_NO}
    yield _item("user", {"text": _TEXT})
    yield _item(
        "steer", {"steerId": _TEXT, "text": _TEXT, "status": _one_of("waiting", "injected", "removed")}
    )
    yield _item("text", said)
    yield _item("reasoning", said)
    looks = {name: defs["ToolCallStart"]["properties"][name] for name in ("look", "doing", "done")}
    yield _item(
        "tool",
        {
            "callId": _TEXT,
            "name": _TEXT,
            "summary": _TEXT,
            "arguments": _TEXT,
            "status": _one_of("running", "done", "failed"),
        },
        {"result": ref("ToolCallEnd"), "terminalId": _TEXT, "background": _YES_OR_NO, **looks},
    )
    yield _item("file", defs["FileChange"]["properties"])
    yield _item(
        "approval",
        {"request": ref("ApprovalRequested"), "status": _one_of("pending", "allow", "deny")},
        {"reason": _TEXT, "scope": _TEXT, "decidedBy": _TEXT, "command": _TEXT},
    )
    yield _item(
        "question",
        {"asked": ref("QuestionAsked"), "status": _one_of("pending", "answered", "declined")},
        {"answers": {"type": "array", "items": _TEXT}, "decidedBy": _TEXT},
    )
    yield _item("subagent", defs["SubagentChanged"]["properties"])
    yield _item("retry", {"attempt": {"type": "integer"}, "delayMs": {"type": "integer"}, "text": _TEXT})
    yield _item(
        "notice", {"level": _one_of("info", "warn", "error"), "text": _TEXT}, {"hint": _TEXT, "action": _TEXT}
    )
    files = {"type": "array", "items": ref("FileSum")}
    yield _item(
        "end",
        {"reason": defs["ProcessingEnd"]["properties"]["reason"], "files": files},
        {"facts": ref("TurnFacts")},
    )
    yield _item("reverted", defs["Reverted"]["properties"])


def _item(
    kind: str, required: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    head = {
        "id": _TEXT,
        "seq": {"type": "integer", "minimum": 1},
        "turnId": _TEXT,
        "timestamp": _TEXT,
        "kind": {"const": kind},
    }
    agent = {} if "agentId" in required else {"agentId": _TEXT}  # the item of a subagent already requires it
    return an_object({**head, **required}, {**agent, **(optional or {})})


def _one_of(*words: str) -> dict[str, Any]:
    return {"enum": list(words)}
