"""The protocol's schema in the form that tests use: with all references resolved, and with unknown fields forbidden."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing.jsonschema import EMPTY_REGISTRY

from agent_ls.llm.schema_check import find_schema_error
from agent_ls.server.schema.messages import protocol_schema


@cache
def schema() -> dict[str, Any]:
    return protocol_schema()


def whole(part: Any, *, strict: bool = True) -> Any:
    """Return a part of the schema with each reference replaced by the type that it names. No type is recursive.

    `strict`: forbid fields that the schema does not describe. Clients ignore them, but an example must not have any.
    """
    if isinstance(part, list):
        return [whole(item, strict=strict) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(ref := part.get("$ref"), str):
        return whole(schema()["$defs"][ref.removeprefix("#/$defs/")], strict=strict)
    closed = {"additionalProperties": False} if strict and "properties" in part else {}
    return closed | {key: whole(value, strict=strict) for key, value in part.items() if key != "$defs"}


@cache
def strict_schema(group: str, name: str, side: str) -> Any:
    return whole(schema()[group][name][side])


def _kinds(choice: Any) -> frozenset[str]:
    """Return the kinds of object that a choice of an `anyOf` permits; empty if it permits any."""
    kind = choice.get("properties", {}).get("kind", {})
    return frozenset(kind.get("enum", [kind["const"]] if "const" in kind else []))


def _any_of(validator: Any, choices: list[Any], instance: Any, part: Any) -> Iterator[ValidationError]:
    """Validate as `anyOf` does, but skip the choices that are of another kind: there are 43 kinds of events."""
    if isinstance(instance, dict) and isinstance(instance.get("kind"), str):
        name = instance["kind"]
        choices = [one for one in choices if not (kinds := _kinds(one)) or name in kinds]
    yield from Draft202012Validator.VALIDATORS["anyOf"](validator, choices, instance, part)


_Validator = extend(Draft202012Validator, {"anyOf": _any_of})  # type: ignore[no-untyped-call]  # it has no types
_validators: dict[int, Any] = {}
"""Validators by the id() of their schema. A validator keeps its schema alive, so no id is reused."""


def misfit(value: Any, part: Any) -> str:
    """Return the error of a value as `find_schema_error` does. `part` is a part of a cached schema of this module."""
    return "" if fits(value, part) else find_schema_error(value, part, is_own=True)


def fits(value: Any, part: Any) -> bool:
    """Return whether a value is valid.

    The validator of `part` is cached, because making a validator takes longer than checking a message.
    """
    validator = _validators.get(id(part))
    if not validator:
        validator = _validators[id(part)] = _Validator(part, registry=EMPTY_REGISTRY)
    return bool(validator.is_valid(value))


def misfit_of(group: str, name: str, side: str, value: Any) -> str:
    """Return the error of a value; "" if it is valid. `group` is methods or clientRequests, `side` params or result."""
    if name not in schema()[group]:
        return f"{name} is not known"
    return misfit(value, strict_schema(group, name, side))


def misfit_of_event(event: dict[str, Any]) -> str:
    """Return the error of an event; "" if it is valid or of an unknown kind."""
    known = schemas_of_events().get(event["kind"])
    return misfit(event, known) if known else ""


@cache
def schemas_of_events() -> dict[str, Any]:
    """Return the schema of each kind of event."""
    found: dict[str, Any] = {}
    for one in event_schema()["anyOf"]:
        kind = one["properties"]["kind"]
        for name in kind["enum"] if "enum" in kind else [kind["const"]]:
            found.setdefault(name, one)
    return found


@cache
def event_schema() -> Any:
    return whole(schema()["$defs"]["Event"])
