"""The JSON Schemas of our tools' arguments, generated in advance.

The first request of a session needs only the schemas. Generating them at run time would build the pydantic
validators of all tools, although a validator is needed only when its tool is called. The schemas are written to
schemas.json by `python -m tests.tools.tool_schemas`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache

from agent_ls.llm.messages import JsonObject
from agent_ls.package_files import read_package_file
from agent_ls.tools.base import Arguments


def schema_key(arguments: type[Arguments]) -> str:
    """Return the key of an argument class in schemas.json: its `derived_key`, or else its module and class
    name.

    Return "" for a class that was created at run time without a `derived_key`, because such names are not unique.
    """
    if derived := vars(arguments).get("derived_key"):
        return str(derived)
    module = sys.modules.get(arguments.__module__)
    is_global = getattr(module, arguments.__qualname__, None) is arguments
    return f"{arguments.__module__}.{arguments.__qualname__}" if is_global else ""


def derive_key(arguments: type[Arguments], change: str) -> str:
    """Return the `derived_key` for a class that is derived from `arguments`.

    `change` must differ for classes with different schemas. Return "" if `arguments` has no key itself.
    """
    key = schema_key(arguments)
    return f"{key} {change}" if key else ""


@cache
def prebuilt_schemas() -> Mapping[str, JsonObject]:
    """Return the schemas in schemas.json, by `schema_key` of the argument class."""
    schemas: Mapping[str, JsonObject] = json.loads(read_package_file("agent_ls.tools", "schemas.json"))
    return schemas
