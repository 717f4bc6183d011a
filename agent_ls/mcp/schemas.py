"""Pure: convert a tool's JSON Schema to the subset that all providers accept: no references, no annotations, and no
keywords besides those of JSON Schema.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_ls.mcp.descriptions import JsonObject
from agent_ls.mcp.keyword_values import LEFT_OUT, corrected
from agent_ls.mcp.root_schema import without_root_choices

if TYPE_CHECKING:
    from referencing._core import Resolver

MAX_NODES = 2_000
MAX_DEPTH = 60
MAX_REPEATS = 3
"""How often a definition is written out within other definitions. Further uses refer to it in their description."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMAS = (
    "items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "additionalItems",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
_VALUES = frozenset(
    (
        "type", "enum", "const", "default", "required", "title", "description", "format", "pattern", "minimum",
        "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
        "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
        "dependentRequired", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    )
)  # fmt: skip
KEYWORDS = frozenset((*_NAMED, *_LISTS, *_SCHEMAS, *_VALUES))
"""The keywords of JSON Schema that are sent to models. Others are left out: they carry references, which are resolved,
and annotations of programs (`x-…`, `examples`, `errorMessage`).
"""


def provider_schema(schema: JsonObject) -> dict[str, Any]:
    """Return the schema for a model.

    Choices at the root become one object, because providers refuse them there.
    A part whose reference cannot be resolved, or that is behind the first MAX_NODES parts, allows any value. A type
    that contains itself is written out once; inside, its description names it.
    """
    found = without_root_choices(_SchemaSimplifier(with_nulls(schema)).simplify())
    return {**found, "type": "object"}


def with_nulls(schema: Any, seen: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """Return the schema with OpenAPI's `nullable` in the form of JSON Schema, in its parts up to MAX_DEPTH.

    `seen` are the parts that were converted already, by their ids.
    """
    seen = {} if seen is None else seen
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return schema
    if id(schema) in seen:
        return seen[id(schema)]
    seen[id(schema)] = schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in (*_NAMED, "$defs", "definitions") and isinstance(value, Mapping):
            found[key] = {name: with_nulls(inner, seen, depth + 1) for name, inner in value.items()}
        elif key in (*_LISTS, "items") and isinstance(value, list):
            found[key] = [with_nulls(inner, seen, depth + 1) for inner in value]
        else:
            found[key] = with_nulls(value, seen, depth + 1) if key in _SCHEMAS else value
    if depth and True in (found.pop("nullable", None), found.pop("x-nullable", None)):
        found = _nullable(found)
    seen[id(schema)] = found
    return found


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that allows null too."""
    kinds = schema.get("type")
    if not isinstance(kinds, str | list):
        return {"anyOf": [schema, {"type": "null"}]}
    found = {**schema, "type": [*dict.fromkeys((*([kinds] if isinstance(kinds, str) else kinds), "null"))]}
    if isinstance(choices := found.get("enum"), list) and None not in choices:
        found["enum"] = [*choices, None]
    return found


def is_object_schema(schema: Any) -> bool:
    """Return whether the schema allows a JSON object. The arguments of a tool are always an object."""
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type") or "object"
    if not ("object" in kinds if isinstance(kinds, list) else kinds == "object"):
        return False
    choices = [schema[name] for name in ("anyOf", "oneOf") if isinstance(schema.get(name), list)]
    return all(any(map(is_object_schema, branches)) for branches in choices if branches)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the schema that is still to be simplified. `put` stores the result. `inside` are the ids of the
    definitions that contain the part.
    """

    schema: Any
    put: Callable[[Any], None]
    resolver: Resolver[Any] | None
    inside: tuple[int, ...]


class _SchemaSimplifier:
    """Simplifies breadth first, so that the limit of parts leaves out the deepest ones."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._waiting: deque[_Part] = deque()
        self._uses: Counter[int] = Counter()

    def simplify(self) -> dict[str, Any]:
        result: list[Any] = []
        resolver = _make_resolver(self._root)
        self._waiting.append(_Part(self._root, result.append, resolver, (id(self._root),)))
        count = 0
        while self._waiting:
            part = self._waiting.popleft()
            count += 1
            part.put(self._simplify(part) if count <= MAX_NODES else {})
        return result[0] if isinstance(result[0], dict) else {}

    def _simplify(self, part: _Part) -> Any:
        schema = part.schema
        if not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        name = next((schema[key] for key in _REFERENCES if isinstance(schema.get(key), str)), None)
        if name is not None:
            return self._follow(name, schema, part)
        found: dict[str, Any] = {}
        for key, written in _plain_keywords(schema):
            if (value := corrected(key, written)) is LEFT_OUT:
                continue
            if key in _NAMED and isinstance(value, Mapping):
                found[key] = dict.fromkeys(value)
                for inner_name, inner in value.items():
                    self._add(inner, found[key], inner_name, part)
            elif isinstance(value, list) and (key in _LISTS or key == "items"):
                found[key] = [None] * len(value)
                for place, inner in enumerate(value):
                    self._add(inner, found[key], place, part)
            elif key in _SCHEMAS:
                found[key] = None
                self._add(value, found, key, part)
            elif key in _VALUES:
                found[key] = value
        if needed := _marked_arguments(schema):
            found["required"] = [*dict.fromkeys((*found.get("required", ()), *needed))]
        return found

    def _add(self, schema: Any, holder: Any, key: Any, part: _Part) -> None:
        def put(value: Any) -> None:
            holder[key] = value

        resolver = _enter(part.resolver, schema)
        self._waiting.append(_Part(schema, put, resolver, part.inside))

    def _follow(self, name: str, schema: JsonObject, part: _Part) -> Any:
        """Simplify a reference. The keywords beside it take precedence over those of the referred definition."""
        beside = {key: value for key, value in schema.items() if key not in _REFERENCES}
        found, resolver = _look_up(part.resolver, name)
        if not isinstance(found, Mapping):
            return self._simplify(_Part(beside, part.put, part.resolver, part.inside))
        key = id(found)
        is_deep = len(part.inside) > 1
        if key in part.inside or (is_deep and self._uses[key] >= MAX_REPEATS):
            return _summary(found, beside, name)
        self._uses[key] += 1
        inside = (*part.inside, key)
        if not any(isinstance(found.get(it), str) for it in _REFERENCES):
            return self._simplify(_Part({**found, **beside}, part.put, resolver, inside))
        following = next(it for it in _REFERENCES if isinstance(found.get(it), str))
        merged = {**{it: value for it, value in found.items() if it not in _REFERENCES}, **beside}
        return self._follow(found[following], merged, _Part(merged, part.put, resolver, inside))


def _summary(found: JsonObject, beside: JsonObject, name: str) -> dict[str, Any]:
    """Return a schema that refers to a definition, because it is written out elsewhere in the schema."""
    title = found.get("title") or name.rpartition("/")[2].lstrip("#") or "the whole arguments"
    said = beside.get("description") or found.get("description") or ""
    summary = {"type": found["type"]} if "type" in found else {}
    return {**summary, "description": f"{said} (Form: {title}.)".strip()}


def _marked_arguments(schema: JsonObject) -> list[str]:
    """Return the properties that say themselves that they are required, as in draft 3."""
    properties = schema.get("properties")
    named = properties.items() if isinstance(properties, Mapping) else ()
    return [name for name, inner in named if isinstance(inner, Mapping) and inner.get("required") is True]


def _plain_keywords(schema: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the keywords to keep. The tuples of old drafts are yielded in today's form."""
    for key, value in schema.items():
        if key == "items" and isinstance(value, list):
            yield "prefixItems", value
        elif key in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
            continue  # draft 4: the bound itself is in `minimum` or `maximum`
        elif key in KEYWORDS:
            yield key, value


def _make_resolver(root: JsonObject) -> Resolver[Any] | None:
    """Return the resolver of the schema's references, none of which leads out of the schema."""
    # Imported here, because most sessions have no server.
    from referencing import Registry, Resource, exceptions
    from referencing.jsonschema import DRAFT202012

    try:
        resource: Resource[Any] = Resource.from_contents(root, default_specification=DRAFT202012)
        return Registry().resolver_with_root(resource)
    except (exceptions.CannotDetermineSpecification, ValueError, TypeError, LookupError, AttributeError):
        bare = {key: value for key, value in root.items() if key not in ("$schema", "$id")}
        return Registry().resolver_with_root(DRAFT202012.create_resource(bare))


def _enter(resolver: Resolver[Any] | None, schema: Any) -> Resolver[Any] | None:
    """Return the resolver inside of a part, whose references may be relative to an `$id` of its own."""
    from referencing.jsonschema import DRAFT202012

    if resolver is None or not isinstance(schema, Mapping) or not isinstance(schema.get("$id"), str):
        return resolver
    try:
        return resolver.in_subresource(DRAFT202012.create_resource(schema))
    except (ValueError, TypeError, LookupError, AttributeError):
        return resolver


def _look_up(resolver: Resolver[Any] | None, name: str) -> tuple[Any, Resolver[Any] | None]:
    from referencing import exceptions

    if resolver is None:
        return None, None
    try:
        found = resolver.lookup(name)
    except (exceptions.Unresolvable, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None, resolver
    return found.contents, found.resolver
