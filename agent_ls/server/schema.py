"""The protocol as one JSON Schema (2020-12), made from the types: `agent-ls protocol --schema`.

It describes every message of ours: a request or notification of a client, or an `agent/event` of the server. What a
request is answered with cannot be told from the answer alone, so results stand beside the requests, under `methods`
and, for what the server asks of a client, under `clientRequests`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from agent_ls.loop.event_codec import DELTA_KINDS
from agent_ls.loop.events import RecordedEvent
from agent_ls.server.assembly import ROUTES
from agent_ls.server.errors import CODES
from agent_ls.server.protocol import ASKED, EVENT_METHOD, VERSION, Access
from agent_ls.server.rpc import Route

DIALECT = GenerateJsonSchema.schema_dialect
REF = "#/$defs/{model}"
NAMES_FILES = ("file_change", "hunk_state")
"""Kinds of events to which the server adds `uri` beside each `path`."""


def protocol_schema() -> dict[str, Any]:
    """The whole document, of plain JSON values. `methods`, `clientRequests` and `errors` are for generators of code."""
    models = dict(_models())
    refs, definitions = models_json_schema(list(models.values()), by_alias=True, ref_template=REF)
    defs: dict[str, Any] = definitions["$defs"]
    methods = {
        route.params.method: {
            "params": refs[models[route.params.method, "params"]],
            "result": refs[models[route.params.method, "result"]],
        }
        for route in ROUTES
    }
    kinds = {cls.kind: _event_data(cls, defs) for cls in get_args(RecordedEvent)}
    defs["Event"] = {
        "anyOf": [*map(_recorded, kinds, kinds.values()), _client_request(), _access(), _delta()]
    }
    return {
        "$schema": DIALECT,
        "title": f"agent-ls protocol, version {VERSION}",
        "anyOf": [
            *(_call(method, one["params"]) for method, one in methods.items()),
            _call(EVENT_METHOD, {"$ref": "#/$defs/Event"}),
        ],
        "methods": methods,
        "clientRequests": {
            what: {side: refs[models[what, side]] for side in ("params", "result")} for what in ASKED
        },
        "errors": dict(CODES),
        "$defs": dict(sorted(defs.items())),
    }


def result_of(route: Route) -> type[BaseModel]:
    """The type of a route's result, also where its handler gives bytes."""
    found: type[BaseModel] = route.result or get_type_hints(route.handler)["return"]
    return found


def _models() -> Iterator[tuple[tuple[str, str], tuple[type[BaseModel], JsonSchemaMode]]]:
    """What a client sends may leave out what has a default; what the server sends leaves out what is None."""
    for route in ROUTES:
        yield (route.params.method, "params"), (route.params, "validation")
        yield (route.params.method, "result"), (result_of(route), "validation")
    for what, (params, result) in ASKED.items():
        yield (what, "params"), (params, "validation")
        yield (what, "result"), (result, "validation")


def _call(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return _object({"jsonrpc": {"const": "2.0"}, "method": {"const": method}, "params": params})


def _event_data(cls: type[Any], defs: dict[str, Any]) -> dict[str, Any]:
    """In events every field is there, so all are required."""
    schema = TypeAdapter(cls).json_schema(mode="serialization", ref_template=REF)
    for name, inner in schema.pop("$defs", {}).items():
        defs.setdefault(name, _camel(inner))
    schema = _camel(schema)
    if cls.kind in NAMES_FILES:
        schema["properties"]["uri"] = {"type": "string"}
    return schema


def _camel(schema: dict[str, Any]) -> dict[str, Any]:
    if not (properties := schema.get("properties")):
        return schema
    named = {to_camel(name): inner for name, inner in properties.items()}
    return {**schema, "properties": named, "required": list(named)}


def _recorded(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return _object(
        {
            "sessionId": {"type": "string"},
            "seq": {"type": "integer", "minimum": 1},
            "kind": {"const": kind},
            "timestamp": {"type": "string"},
            "data": data,
        },
        {"turnId": {"type": "string"}, "agentId": {"type": "string"}},
    )


def _delta() -> dict[str, Any]:
    return _object(
        {
            "sessionId": {"type": "string"},
            "kind": {"enum": sorted(DELTA_KINDS)},
            "timestamp": {"type": "string"},
            "after": {"type": "integer", "minimum": 0},
            "partId": {"type": "string"},
            "offset": {"type": "integer", "minimum": 0},
            "data": _object({"text": {"type": "string"}}, {"name": {"type": "string"}}),
        },
        {"turnId": {"type": "string"}, "agentId": {"type": "string"}},
    )


def _client_request() -> dict[str, Any]:
    data = {
        "requestId": {"type": "string"},
        "clientId": {"type": "string"},
        "what": {"type": "string"},
        "params": {"type": "object"},
        "deadlineMs": {"type": "integer"},
    }
    return _object(
        {
            "sessionId": {"type": "string"},
            "kind": {"const": "client_request"},
            "timestamp": {"type": "string"},
            "data": _object(data),
        }
    )


def _access() -> dict[str, Any]:
    data = _object(
        {"access": {"enum": list(get_args(Access))}},
        {
            "owner": _object(
                {"pid": {"type": "integer"}, "host": {"type": "string"}, "program": {"type": "string"}}
            )
        },
    )
    return _object(
        {
            "sessionId": {"type": "string"},
            "kind": {"const": "access"},
            "timestamp": {"type": "string"},
            "data": data,
        }
    )


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }
