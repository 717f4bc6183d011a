"""The type of an object that a model shall write: a JSON Schema, or a class that pydantic knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import JsonObject

TYPED_DICT_HINT = "define it with the TypedDict of typing_extensions, which is installed with agent-ls"
HINT = "pass a JSON Schema, a pydantic model, a dataclass or a TypedDict, whose fields have a JSON form"


@dataclass(frozen=True, slots=True)
class ObjectType:
    """The JSON `schema` of an object. `read` makes the value that a program gets from the object as JSON text.

    `read` raises ValueError if the text does not fit the class; None if there is no class.
    """

    schema: JsonObject
    read: Callable[[str], Any] | None = None


def object_type(given: JsonObject | type[Any]) -> ObjectType:
    """Return the type of an object.

    Raises:
        ConfigurationError: `given` is a class of which pydantic makes no JSON Schema of an object.
    """
    if isinstance(given, Mapping):
        return ObjectType(given)
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter  # rarely needed

    try:
        adapter = TypeAdapter(given)
        schema = _with_root(adapter.json_schema())
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        if isinstance(error, PydanticUserError) and error.code == "typed-dict-version":
            raise ConfigurationError(
                f"{given.__name__} is or has a typing.TypedDict, which agent-ls can use from Python 3.12 on",
                hint=TYPED_DICT_HINT,
            ) from error
        words = str(error).partition("\n")[0]
        raise ConfigurationError(f"{given.__name__} has no JSON Schema: {words}", hint=HINT) from error
    if schema.get("type") != "object":
        raise ConfigurationError(f"{given.__name__} is no object with fields", hint=HINT)
    return ObjectType(schema, adapter.validate_json)


def _with_root(schema: dict[str, Any]) -> JsonObject:
    """Return the schema with an object as its root, where the root of a class that contains itself is a reference."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    root = cast(JsonObject, schema.get("$defs", {}).get(name, {}))
    return {**root, "$defs": schema["$defs"]} if root else schema
