"""List the problems that an error body states: libraries that check requests name each refused field in one.

Known forms are a list of objects with a path and a message (pydantic, zod, ajv), an object of lists by field
(marshmallow, ASP.NET), and a list of texts (class-validator).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.wire_json import text_at

_HOLDERS = ("detail", "message", "details", "errors", "issues", "validation", "schema_errors", "violations")
_BY_FIELD = ("errors", "violations")  # holders whose values are texts by field
_MESSAGES = ("msg", "message", "description")
_PLACES = ("loc", "path", "instancePath", "field", "param", "property", "dataPath")
_MAX_PROBLEMS = 20
_MAX_DEPTH = 5


def problems_in(holder: JsonObject) -> list[str]:
    """Return the problems that an object lists, each with the field that it is about."""
    found: dict[str, None] = {}
    for key in _HOLDERS:
        value = holder.get(key)
        if isinstance(value, list | Mapping):
            found |= dict.fromkeys(_problems(value, "", by_field=key in _BY_FIELD))
    return [*found][:_MAX_PROBLEMS]


def place_of(problem: JsonObject) -> str:
    """Return the field that a problem is about, "" if it names none."""
    for key in _PLACES:
        place = problem.get(key)
        if isinstance(place, list) and place:
            return ".".join(map(str, place))
        if isinstance(place, str) and place:
            return place
    return ""


def _problems(value: JsonValue, place: str, depth: int = 0, *, by_field: bool = False) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            if isinstance(item, str) and item:
                yield f"{place}: {item}" if place else item
            else:
                yield from _problems(item, place, depth + 1, by_field=by_field)
    elif isinstance(value, Mapping):
        if "BadRequest" not in text_at(value, "@type") and "@type" in value:
            return  # Google's other details: links, delays and names
        if said := next((text for key in _MESSAGES if (text := text_at(value, key))), ""):
            yield _sentence(value, said)
            return
        for key, inner in value.items():
            if isinstance(inner, str) and by_field and inner:
                yield f"{key}: {inner}"
            yield from _problems(inner, _joined(place, key), depth + 1, by_field=by_field)


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}" if place and key not in _HOLDERS else place or ("" if key in _HOLDERS else key)


def _sentence(problem: JsonObject, said: str) -> str:
    """Return a problem with its field, and with what its parameters name: ajv names an unknown field only there."""
    place, params = place_of(problem), problem.get("params")
    named = (
        [it for it in params.values() if isinstance(it, str) and it] if isinstance(params, Mapping) else []
    )
    more = f" ({', '.join(named)})" if named and not any(it in said for it in named) else ""
    return f"{place}: {said}{more}" if place else f"{said}{more}"
