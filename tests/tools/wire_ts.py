"""Generate TypeScript types for the protocol's messages from its schema.

An optional field is never null, because both sides leave out null values. A required field may be null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

HEAD = """// {about} Types only.
// Written by `python -m tests.tools.wire_types` from the server's own types: do not edit.
"""
ABOUT = {
    "objects": "Objects inside messages, named like the server's classes.",
    "events": "Messages of agent/event, and their data by kind.",
    "requests": "Requests and notifications with their parameters and results, by method.",
    "asked": "Requests of the server to this client, with the types of their answers.",
}
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_EMPTY = "Readonly<Record<string, never>>"
_MAX_LINE = 120
_FEW = 10  # an integer with at most this many values becomes a union of them
Schema = Mapping[str, Any]


def modules(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield name and text of each module."""
    objects = {name: one for name, one in schema["$defs"].items() if name != "Event"}
    parts = {
        "objects": "".join(_declaration(name, one) for name, one in sorted(objects.items())),
        "events": "".join(_events(schema["$defs"]["Event"])),
        "requests": _table("Requests", schema["methods"]),
        "asked": _table("ClientRequests", schema["clientRequests"]),
    }
    parts["objects"] += _alias("InputPart", _type(objects["Submit"]["properties"]["input"]["items"]))
    for name, text in parts.items():
        own = set(re.findall(r"^export (?:interface|type) (\w+)", text, re.MULTILINE))
        used = set(re.findall(r"\b[A-Z]\w*", re.sub(r'"[^"]*"', "", text))) - own
        yield name, HEAD.format(about=ABOUT[name]) + _imports(used & objects.keys(), used & {"Event"}) + text


def _imports(objects: set[str], events: set[str]) -> str:
    lines = [
        f'import type {{ {", ".join(sorted(names))} }} from "./{module}";'
        for module, names in (("events", events), ("objects", objects))
        if names
    ]
    return "".join(f"{line}\n" for line in lines)


def _declaration(name: str, schema: Schema) -> str:
    if "anyOf" in schema or not schema.get("properties"):
        return _alias(name, _type(schema))
    return _interface(name, _fields(schema))


def _alias(name: str, words: str) -> str:
    line = f"export type {name} = {words};"
    if len(line) > _MAX_LINE and " | " in words:
        line = f"export type {name} =\n  | " + "\n  | ".join(_choices(words)) + ";"
    return f"\n{line}\n"


def _choices(words: str) -> list[str]:
    """Return the members of a union, without splitting unions inside objects."""
    found, depth = [""], 0
    for piece in re.split(r"( \| |[{}<>()])", words):
        depth += (piece in "{<(" and piece != "") - (piece in "}>)" and piece != "")
        if piece == " | " and depth == 0:
            found.append("")
        else:
            found[-1] += piece
    return found


def _interface(name: str, fields: list[str]) -> str:
    line = f"export interface {name} {{ {' '.join(fields)} }}"
    if len(line) > _MAX_LINE:
        line = f"export interface {name} {{\n" + "".join(f"  {field}\n" for field in fields) + "}"
    return f"\n{line}\n"


def _table(name: str, group: Schema) -> str:
    rows = [
        f"{_key(of)}: {{ readonly params: {_type(sides['params'])}; readonly result: {_type(sides['result'])} }};"
        for of, sides in group.items()
    ]
    return _interface(name, rows)


def _events(event: Schema) -> Iterator[str]:
    """Yield the envelope, and a table of the data by kind for logged events, for other events and for deltas."""
    forms = event["anyOf"]
    names = list(dict.fromkeys(name for form in forms for name in form["properties"]))
    always = [name for name in names if all(name in form["required"] for form in forms)]
    envelope = {
        name: next(form["properties"][name] for form in forms if name in form["properties"]) for name in names
    }
    plain = {**envelope, "kind": {"type": "string"}, "data": {}}
    yield _interface("Event", _fields({"properties": plain, "required": always}))
    recorded = [form for form in forms if "seq" in form["properties"]]
    others = [form for form in forms if "const" in form["properties"]["kind"] and form not in recorded]
    for name, some in (("EventData", recorded), ("UnrecordedData", others)):
        data = {form["properties"]["kind"]["const"]: form["properties"]["data"] for form in some}
        yield _interface(name, _fields({"properties": data, "required": list(data)}))
    yield _declaration("DeltaData", forms[-1]["properties"]["data"])


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name)


def _fields(schema: Schema) -> list[str]:
    required = schema.get("required", ())
    return [
        f"readonly {_key(name)}{'' if name in required else '?'}: {_type(one, may_be_null=name in required)};"
        for name, one in schema["properties"].items()
    ]


def _type(schema: Schema, *, may_be_null: bool = True) -> str:
    match schema:
        case {"$ref": str(target)}:
            return target.rpartition("/")[2]
        case {"const": value}:
            return json.dumps(value)
        case {"enum": list(values)}:
            return " | ".join(json.dumps(value) for value in values)
        case {"anyOf": list(choices)}:
            kept = [choice for choice in choices if may_be_null or choice.get("type") != "null"]
            return " | ".join(dict.fromkeys(_type(choice) for choice in kept))
        case {"prefixItems": list(items)}:
            return f"readonly [{', '.join(_type(item) for item in items)}]"
        case {"type": "array"}:
            inner = _type(schema.get("items", {}))
            return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
        case {"type": "object", "properties": properties} if properties:
            return f"{{ {' '.join(_fields(schema))} }}"
        case {"type": "object", "properties": _}:
            return _EMPTY
        case {"type": "object"}:
            return "object"
        case {"type": "integer", "minimum": int(least), "maximum": int(most)} if most - least < _FEW:
            return " | ".join(str(value) for value in range(least, most + 1))
        case {"type": str(kind)}:
            return _PLAIN[kind]
    return "unknown"
