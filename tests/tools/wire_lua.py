"""Generate Lua annotations (`---@class`, `---@field`) for the protocol's messages from its schema.

Null is treated as absent, because the plugin removes it from messages (protocol.without_null).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

PREFIX = "agent_ls.wire."
HEAD = """---@meta
-- {about} Types only: this file is never loaded.
-- Written by `python -m tests.tools.wire_types` from the server's own types.
"""
ABOUT = {
    "requests": "Parameters of requests and notifications, by method.",
    "results": "Answers, by method.",
    "asked": "Requests of the server to this client, with the types of their answers.",
    "events": "Messages of agent/event, and their data by kind.",
    "objects": "Objects inside messages.",
}
_PLAIN = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
_NAME = re.compile(r"[A-Za-z_]\w*")
Schema = Mapping[str, Any]
Fields = Mapping[str, tuple[str, bool]]
"""By name: the type, and whether it is optional."""


def modules(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the text of each file, with its name."""
    maker = _Maker(schema["$defs"])
    tables: dict[str, dict[str, Fields]] = {
        "requests": {"Params": _sides(schema["methods"], "params", maker)},
        "results": {"Results": _sides(schema["methods"], "result", maker)},
        "asked": {
            "AskedParams": _sides(schema["clientRequests"], "params", maker),
            "AskedResults": _sides(schema["clientRequests"], "result", maker),
        },
        "events": dict(_events(schema["$defs"]["Event"], maker)),
    }
    apart = {"Event", "Effect"}
    rest = {name: maker.fields(one, name) for name, one in schema["$defs"].items() if name not in apart}
    rest = dict(sorted((rest | maker.inner).items()))
    for name, classes in tables.items():
        # Types that a table names are written into its file.
        named = {words.removeprefix(PREFIX) for fields in classes.values() for words, _ in fields.values()}
        own = {each: rest.pop(each) for each in sorted(named & rest.keys())}
        yield name, HEAD.format(about=ABOUT[name]) + "".join(_class(*one) for one in (classes | own).items())
    aliases = [f"\n---@alias {PREFIX}{name} {words}\n" for name, words in maker.aliases.items()]
    yield (
        "objects",
        HEAD.format(about=ABOUT["objects"]) + "".join([*aliases, *(_class(*one) for one in rest.items())]),
    )


def _sides(group: Schema, side: str, maker: _Maker) -> Fields:
    return {of: (maker.type(sides[side], ""), False) for of, sides in group.items()}


def _class(name: str, fields: Fields) -> str:
    lines = (
        f"---@field {_key(field)}{'?' * optional} {words}" for field, (words, optional) in fields.items()
    )
    return "\n" + "\n".join([f"---@class {PREFIX}{name}", *lines]) + "\n"


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else f"[{json.dumps(name)}]"


def _events(event: Schema, maker: _Maker) -> Iterator[tuple[str, Fields]]:
    data: dict[str, tuple[str, bool]] = {}
    for one in event["anyOf"]:
        kind, inner = one["properties"]["kind"], one["properties"]["data"]
        for name in [kind["const"]] if "const" in kind else kind["enum"]:
            data[name] = (maker.type(inner, _camel(kind.get("const", "delta")) + "Data"), False)
    envelope = maker.merged([_without(one, "kind", "data") for one in event["anyOf"]], "Event")
    yield "Event", {"kind": ("string", False), "data": ("table", False), **envelope}
    yield "EventData", data


def _without(schema: Schema, *names: str) -> Schema:
    return {
        **schema,
        "properties": {key: one for key, one in schema["properties"].items() if key not in names},
    }


def _camel(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


class _Maker:
    """A converter of schemas to Lua types. An object without a name gets one from its position (`inner`)."""

    def __init__(self, defs: Schema) -> None:
        self._defs = defs
        self.inner: dict[str, Fields] = {}
        # Unions of several kinds of objects that have a name in the code too.
        parts = defs["Submit"]["properties"]["input"]["items"]["anyOf"]
        self.aliases = {
            name: "|".join(self.type(choice, "") for choice in choices)
            for name, choices in (("Effect", defs["Effect"]["anyOf"]), ("InputPart", parts))
        }

    def type(self, schema: Schema, place: str) -> str:
        match schema:
            case {"$ref": str(target)}:
                return PREFIX + target.rpartition("/")[2]
            case {"const": value}:
                return json.dumps(value)
            case {"enum": list(values)}:
                return "|".join(json.dumps(value) for value in values)
            case {"anyOf": list(choices)}:
                choices = [choice for choice in choices if choice.get("type") != "null"]
                words = "|".join(dict.fromkeys(self.type(choice, place) for choice in choices))
                return next((PREFIX + name for name, of in self.aliases.items() if of == words), words)
            case {"prefixItems": list(items)}:
                return f"[{', '.join(self.type(item, place) for item in items)}]"
            case {"type": "array"}:
                inner = self.type(schema.get("items", {}), place)
                return f"({inner})[]" if "|" in inner else f"{inner}[]"
            case {"type": "object", "properties": _}:
                self.inner[place] = self.fields(schema, place)
                return PREFIX + place
            case {"type": "object"}:
                return "table"
            case {"type": str(kind)}:
                return _PLAIN[kind]
        return "any"

    def fields(self, schema: Schema, place: str) -> Fields:
        """Return the fields of an object, or of all alternatives of a union."""
        if "anyOf" in schema:
            return self.merged(schema["anyOf"], place)
        required = schema.get("required", ())
        return {
            name: (self.type(one, f"{place}.{name}"), name not in required or _may_be_null(one))
            for name, one in schema.get("properties", {}).items()
        }

    def merged(self, objects: Iterable[Schema], place: str) -> Fields:
        every = [self.fields(one, place) for one in objects]
        names = dict.fromkeys(name for fields in every for name in fields)
        return {
            name: (
                "|".join(dict.fromkeys(fields[name][0] for fields in every if name in fields)),
                not all(name in fields and not fields[name][1] for fields in every),
            )
            for name in names
        }


def _may_be_null(schema: Schema) -> bool:
    return any(choice.get("type") == "null" for choice in schema.get("anyOf", ()))
