"""Reduce schemas in a request to names and types, for servers that refuse other keywords."""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.llm.errors import ContextLengthError, InvalidRequestError, LlmError, ServerError
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.wire_json import object_at, objects_at
from agent_ls.patterns import regex

# llama.cpp: Failed to initialize samplers: failed to parse grammar
_WRONG = r"(not|n't|cannot|unable|could not|unsupported|unrecogni[sz]ed|unknown|invalid|reject|fail|error|too|无效|不)"
REFUSED = regex(
    rf"grammar|(?<!match )(?<!json_)schema.{{0,80}}{_WRONG}|invalid json_schema|{_WRONG}.{{0,40}}(?<!match )\bschema"
    rf"|{_WRONG}.{{0,30}}(keyword(?! arg)|regex|function definition)"
    # A keyword of JSON Schema: schema specified other fields alongside any_of.
    r"|\b(one_?of(?!\W{1,2}tag)|any_?of|all_?of|additional_?properties|pattern_?properties|property_?names|unevaluated_?properties"
    r"|prefix_?items|unique_?items|(min|max)_?(items|length|properties)|exclusive_?m\w+|multiple_?of)\b|\$(ref|defs)\b"
    rf"|\btools?\b.{{0,40}}\b(parameters|properties|features|pattern|format)\b.{{0,40}}{_WRONG}"
    rf"|\btools?\b.{{0,40}}(parameters|properties)\b.{{0,20}}unsupported"
    # watsonx.ai: tools[0].function.parameters: at '/properties/a/type': value must be one of 'array', 'boolean', …
    r"|\btools?\b.{0,40}\bparameters\b.{0,80}/type\b.{0,20}must be"
    # Gemini: Unknown name "pattern" at 'tools[0].function_declarations[0].parameters': Cannot find field.
    r"|unknown name .{0,40}(function_?declarations|response_?schema)"
    # Gemini: function_declarations[9].parameters.properties[url].format: only 'enum' and 'date-time' are supported
    r"|function_?declarations.{0,80}\bonly\b.{0,60}supported"
)
"""Words, in lower case, by which servers refuse a schema."""

_PLAIN = ("type", "description", "enum", "required")
_OF_TOOLS = ("parameters", "input_schema")
_OF_ANSWERS = (("response_format", "json_schema"), ("text", "format"), ("output_config", "format"))


class PlainSchemas:
    """The models whose server takes only plain schemas. `typed`: each part of a schema has a type."""

    def __init__(self, *, typed: bool = False) -> None:
        self._typed = typed
        self._models: set[str] = set()

    def learn(self, model: str, error: LlmError) -> bool:
        """Remember the model if `error` refuses a schema. Return whether that is new."""
        is_refusal = isinstance(error, InvalidRequestError | ServerError) and not isinstance(
            error, ContextLengthError
        )
        if model in self._models or not (is_refusal and REFUSED.search(str(error).lower())):
            return False
        self._models.add(model)
        return True

    def fit(self, model: str, body: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the fields of a request in the form that the model's server accepts."""
        return with_plain_schemas(body, typed=self._typed) if model in self._models else dict(body)


def with_properties(schema: JsonObject) -> JsonObject:
    """Return the schema of a tool with its properties: OpenAI and LM Studio refuse an object that has none."""
    return schema if "properties" in schema else {**schema, "properties": {}}


def with_plain_schemas(body: Mapping[str, JsonValue], *, typed: bool = False) -> dict[str, JsonValue]:
    """Return the fields of a request of any API with plain schemas of tools and of the answer.

    `typed`: each part of a schema has a type, and none beside `anyOf`.
    """
    out = dict(body)
    if isinstance(tools := body.get("tools"), list):
        out["tools"] = [_plain_tool(tool, typed) for tool in tools]
    for outer, inner in _OF_ANSWERS:
        if shape := object_at(body, outer, inner):
            out[outer] = {**object_at(body, outer), inner: _plain_in(shape, ("schema",), typed)}
    return out


def _plain_tool(tool: JsonValue, typed: bool) -> JsonValue:
    if not isinstance(tool, Mapping):
        return tool
    if function := object_at(tool, "function"):
        return {**tool, "function": _plain_in(function, _OF_TOOLS, typed)}
    if declared := list(objects_at(tool, "functionDeclarations")):  # Gemini
        return {
            **tool,
            "functionDeclarations": [_plain_in(_with_one_schema(it), _OF_TOOLS, typed) for it in declared],
        }
    return _plain_in(tool, _OF_TOOLS, typed)


def _with_one_schema(function: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return a declaration without the field for a whole JSON Schema, which older servers do not know."""
    out = {key: value for key, value in function.items() if key != "parametersJsonSchema"}
    return {**out, "parameters": function["parametersJsonSchema"]} if len(out) < len(function) else out


def _plain_in(holder: Mapping[str, JsonValue], keys: tuple[str, ...], typed: bool) -> Mapping[str, JsonValue]:
    changed = {key: _plain(holder[key], typed) for key in keys if key in holder}
    changed = {
        key: {name: inner for name, inner in schema.items() if name != "anyOf"}  # of a whole tool
        for key, schema in changed.items()
    }
    # a strict schema needs keywords that are left out
    return {**holder, **changed, **({"strict": False} if changed and holder.get("strict") else {})}


def _plain(schema: JsonValue, typed: bool) -> dict[str, JsonValue]:
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
    if isinstance(kinds := out.get("type"), list):
        out = _with_one_type(out, [kind for kind in kinds if kind != "null"] or kinds)
    if typed and "anyOf" in out:
        out = {key: value for key, value in out.items() if key in ("anyOf", "description")}
    elif typed and "type" not in out:
        out["type"] = "object" if "properties" in out else "array" if "items" in out else "string"
    return out


def _with_one_type(schema: dict[str, JsonValue], kinds: list[JsonValue]) -> dict[str, JsonValue]:
    """Return a schema with several types as one whose types are words."""
    if len(kinds) == 1:
        return {**schema, "type": kinds[0]}
    of_kind = {"array": ("items",), "object": ("properties", "required")}
    inner = {key for keys in of_kind.values() for key in keys}
    choices = [
        {"type": kind, **{key: schema[key] for key in of_kind.get(str(kind), ()) if key in schema}}
        for kind in kinds
    ]
    rest = {key: value for key, value in schema.items() if key != "type" and key not in inner}
    return {**rest, "anyOf": choices}
