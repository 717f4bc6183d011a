"""Reduce schemas in a request to names and types, for servers that refuse other keywords."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.messages import JsonValue
from agent_ls.llm.providers.wire_json import object_at

_PLAIN = ("type", "description", "enum", "required")


def with_plain_schemas(body: Mapping[str, JsonValue], *, typed: bool) -> dict[str, JsonValue]:
    """Return the fields of a request with plain schemas of tools and of the answer.

    `typed`: each part of a schema has a type, and none beside `anyOf`.
    """
    out = dict(body)
    if isinstance(tools := body.get("tools"), list):
        out["tools"] = [_plain_at(tool, typed, "function", "parameters") for tool in tools]
    if "response_format" in body:
        out["response_format"] = _plain_at(body["response_format"], typed, "json_schema", "schema")
    return out


def _plain_at(value: JsonValue, typed: bool, outer: str, inner: str) -> JsonValue:
    """Return an object with a plain schema in its member `outer.inner`, if it has one."""
    if not isinstance(value, Mapping) or inner not in (holder := object_at(value, outer)):
        return value
    return {**value, outer: {**holder, inner: _plain(holder[inner], typed)}}


def _plain(schema: JsonValue, typed: bool) -> JsonValue:
    """Return a schema with names and types only. `typed`: a part without a type becomes a text."""
    if not isinstance(schema, Mapping):
        return {"type": "string"} if typed else {}
    out: dict[str, JsonValue] = {key: value for key, value in schema.items() if key in _PLAIN}
    if isinstance(properties := schema.get("properties"), Mapping):
        out["properties"] = {name: _plain(inner, typed) for name, inner in properties.items()}
    if "items" in schema:
        out["items"] = _plain(schema["items"], typed)
    if isinstance(choices := schema.get("anyOf"), list):
        out["anyOf"] = [_plain(choice, typed) for choice in choices]
    if typed and "anyOf" in out:
        out = {key: value for key, value in out.items() if key in ("anyOf", "description")}
    elif typed and "type" not in out:
        out["type"] = "object" if "properties" in out else "array" if "items" in out else "string"
    return out
