"""The protocol as one JSON Schema (2020-12), generated from the types: `agent-ls protocol --schema`.

It describes all our messages: requests and notifications of a client, and notifications of the server. Result
types are listed with their requests: under `methods`, or under `clientRequests` for requests that the server
sends to a client.

A client may omit fields with defaults. The server omits fields without a value (to_wire.encode_result); the
data of events has all fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from agent_ls.server.features.routes import ROUTES
from agent_ls.server.protocol import ASKED, EVENT_METHOD, MOVED_METHOD, VERSION
from agent_ls.server.rpc.router import Route
from agent_ls.server.schema import events as event_schema
from agent_ls.server.schema.events import REF, an_object, ref
from agent_ls.server.transport.errors import CODES

DIALECT = GenerateJsonSchema.schema_dialect
_NULL = {"type": "null"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer"}


def _list_of(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


KNOWN: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("SubscribeResult", "events"): _list_of(ref("Event")),
    ("Pending", "approvals"): _list_of(ref("ApprovalRequested")),
    ("Pending", "questions"): _list_of(ref("QuestionAsked")),
    ("Snapshot", "items"): _list_of(ref("Item")),
    ("Snapshot", "usage"): ref("UsageReport"),
    ("Snapshot", "plan"): ref("PlanChanged"),
    ("HistoryResult", "items"): _list_of(ref("Item")),
    ("SessionInfo", "queue"): _list_of(an_object({"queuedId": _TEXT, "text": _TEXT, "images": _COUNT})),
    ("SessionInfo", "steering"): _list_of(an_object({"steerId": _TEXT, "text": _TEXT})),
    ("ReviewResult", "refused"): _list_of(an_object({"id": _TEXT, "reason": _TEXT})),
}
"""Schemas of fields whose Python type is plain JSON, because their values are already encoded."""


def protocol_schema() -> dict[str, Any]:
    """Return the schema as plain JSON values. `methods`, `clientRequests` and `errors` are for code generators."""
    models = dict(_models())
    refs, definitions = models_json_schema(list(models.values()), by_alias=True, ref_template=REF)
    defs: dict[str, Any] = definitions["$defs"]
    event_defs = event_schema.definitions()
    if clash := defs.keys() & event_defs.keys():
        raise ValueError(f"two types of the protocol have one name: {sorted(clash)}")
    defs |= event_defs
    methods = {
        route.params.method: {
            "params": refs[models[route.params.method, "params"]],
            "result": refs[models[route.params.method, "result"]],
        }
        for route in ROUTES.values()
    }
    asked = {what: {side: refs[models[what, side]] for side in ("params", "result")} for what in ASKED}
    received = [*(one["params"] for one in methods.values()), *(one["result"] for one in asked.values())]
    _describe_sent_form(defs, _reachable(received, defs) | event_defs.keys())
    for (model, field), known in KNOWN.items():
        defs[model]["properties"][field] = known
    return {
        "$schema": DIALECT,
        "title": f"agent-ls protocol, version {VERSION}",
        "anyOf": [
            *(_call(method, one["params"]) for method, one in methods.items()),
            _call(EVENT_METHOD, ref("Event")),
            _call(MOVED_METHOD, ref("FileHunks")),
        ],
        "methods": methods,
        "clientRequests": asked,
        "errors": dict(CODES),
        "printedEvent": event_schema.printed_event(defs),
        "$defs": dict(sorted(defs.items())),
    }


def result_of(route: Route) -> type[BaseModel]:
    """Return the result type of a route, also if its handler returns bytes."""
    found: type[BaseModel] = route.result or get_type_hints(route.handler)["return"]
    return found


def _models() -> Iterator[tuple[tuple[str, str], tuple[type[BaseModel], JsonSchemaMode]]]:
    for route in ROUTES.values():
        yield (route.params.method, "params"), (route.params, "validation")
        yield (route.params.method, "result"), (result_of(route), "validation")
    for what, (params, result) in ASKED.items():
        yield (what, "params"), (params, "validation")
        yield (what, "result"), (result, "validation")


def _describe_sent_form(defs: Mapping[str, Any], others: Iterable[str]) -> None:
    """Make the definitions describe what is really sent.

    Constant fields are required. In messages that only the server sends (not in `others`), fields that can be
    null are optional, because the server omits a null; all other fields are required.
    """
    for name, schema in defs.items():
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        required |= {field for field, inner in properties.items() if "const" in inner}
        if name not in others:
            optional = {field for field, inner in properties.items() if _NULL in inner.get("anyOf", ())}
            for field in optional:
                properties[field] = _without_null(properties[field])
            required = properties.keys() - optional
        if required:
            schema["required"] = [field for field in properties if field in required]


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    rest = [choice for choice in schema["anyOf"] if choice != _NULL]
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**kept, **rest[0]} if len(rest) == 1 else {**kept, "anyOf": rest}


def _reachable(schemas: Iterable[Any], defs: Mapping[str, Any]) -> set[str]:
    """Return the names of all definitions that `schemas` refer to, directly or through other definitions."""
    found: set[str] = set()
    waiting = list(schemas)
    while waiting:
        match waiting.pop():
            case {"$ref": str(target)}:
                name = target.removeprefix(REF.format(model=""))
                if name not in found:
                    found.add(name)
                    waiting.append(defs[name])
            case dict(inner):
                waiting.extend(inner.values())
            case list(inner):
                waiting.extend(inner)
    return found


def _call(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return an_object({"jsonrpc": {"const": "2.0"}, "method": {"const": method}, "params": params})
