"""Pure: the forms that a server asks the user to fill in, and the parsing of the answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent_ls.mcp.descriptions import FormField
from agent_ls.mcp.schemas import provider_schema
from agent_ls.patterns import regex

SECRET_WORDS = regex(r"password|passphrase|token|secret|api.?key|credential|\bpin\b", re.IGNORECASE)
YES, NO = "Yes", "No"
SKIP = "Leave this out"

_LIMITS = ("minLength", "maxLength", "minimum", "maximum", "pattern", "minItems", "maxItems", "format")


def fields_of(schema: Any) -> tuple[FormField, ...]:
    """Return the fields of a form. Nested fields are left out."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return ()
    plain = provider_schema(schema)  # without references
    names = plain.get("required")
    written = schema["properties"]
    properties = {name: {**it, **_labels(written[name])} for name, it in plain["properties"].items() if it}
    return tuple(_fields(properties, [str(name) for name in names] if isinstance(names, list) else []))


def _fields(properties: Mapping[str, Any], required: list[str]) -> Iterator[FormField]:
    for name, raw in properties.items():
        if not isinstance(raw, Mapping):
            continue
        raw = _without_null(raw)
        kind, is_multiple = raw.get("type", "string"), False
        choices = _choices(raw)
        if kind == "array":
            is_multiple, kind = True, "string"
            items = raw.get("items")
            choices = _choices(items) if isinstance(items, Mapping) else ()
        if kind not in ("string", "number", "integer", "boolean"):
            continue
        yield FormField(
            name=str(name),
            kind=kind,
            title=str(raw.get("title", "")),
            description=str(raw.get("description", "")),
            choices=choices,
            is_multiple=is_multiple,
            is_required=str(name) in required,
            default=raw.get("default"),
            limits={key: raw[key] for key in _LIMITS if key in raw},
        )


def _labels(raw: Any) -> dict[str, Any]:
    """Return the labels of choices, a keyword of forms only."""
    return {"enumNames": raw["enumNames"]} if isinstance(raw, Mapping) and "enumNames" in raw else {}


def _without_null(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field without the choice to be null, which is the same as to leave it out, and with the only part of
    `allOf` written out.
    """
    for key in ("anyOf", "oneOf", "allOf"):
        parts = raw.get(key)
        real = [it for it in parts if isinstance(it, Mapping) and it.get("type") != "null"] if parts else []
        if len(real) == 1 and "const" not in real[0]:
            raw = {**real[0], **{name: it for name, it in raw.items() if name != key}}
    kinds = raw.get("type")
    real_kinds = [it for it in kinds if it != "null"] if isinstance(kinds, list) else []
    return {**raw, "type": real_kinds[0]} if real_kinds else raw


def _choices(raw: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if isinstance(values := raw.get("enum"), list):
        labels = raw.get("enumNames")
        names = labels if isinstance(labels, list) and len(labels) == len(values) else values
        return tuple((str(value), str(name)) for value, name in zip(values, names, strict=True))
    for key in ("oneOf", "anyOf"):
        if isinstance(options := raw.get(key), list):
            return tuple(
                (str(it["const"]), str(it.get("title", it["const"])))
                for it in options
                if isinstance(it, Mapping) and "const" in it
            )
    return ()


def asks_for_secret(message: str, fields: tuple[FormField, ...]) -> bool:
    """Return whether a form seems to ask for a password or a key. The protocol forbids such forms."""
    texts = (message, *(f"{it.name} {it.title} {it.description}" for it in fields))
    return any(SECRET_WORDS.search(text.replace("_", " ")) for text in texts)


def value_of(field: FormField, answers: tuple[str, ...]) -> Any:
    """Convert the user's answers to the value of a field.

    Raises:
        ValueError: an answer is invalid; `str()` says what is expected.
    """
    if field.is_multiple:
        return [_chosen(field, answer) for answer in answers]
    text = answers[0].strip() if answers else ""
    match field.kind:
        case "boolean":
            if text.lower() in ("yes", "y", "true", "1", "on"):
                return True
            if text.lower() in ("no", "n", "false", "0", "off"):
                return False
            raise ValueError(f"answer {YES} or {NO}")
        case "integer" | "number":
            return _number(field, text)
        case "string" if field.choices:
            return _chosen(field, text)
        case _:
            return _text(field, text)


def _chosen(field: FormField, text: str) -> str:
    for value, label in field.choices:
        if text in (value, label):
            return value
    if not field.choices:
        return text
    raise ValueError(f"choose one of {', '.join(label for _, label in field.choices)}")


def _number(field: FormField, text: str) -> int | float:
    try:
        value = int(text) if field.kind == "integer" else float(text)
    except ValueError:
        raise ValueError(
            f"answer with {'a whole number' if field.kind == 'integer' else 'a number'}"
        ) from None
    lowest, highest = field.limits.get("minimum"), field.limits.get("maximum")
    if isinstance(lowest, int | float) and value < lowest:
        raise ValueError(f"the number must be at least {lowest}")
    if isinstance(highest, int | float) and value > highest:
        raise ValueError(f"the number must be at most {highest}")
    return value


def _text(field: FormField, text: str) -> str:
    shortest, longest = field.limits.get("minLength", 0), field.limits.get("maxLength")
    if isinstance(shortest, int) and len(text) < shortest:
        raise ValueError(f"write at least {shortest} characters")
    if isinstance(longest, int) and len(text) > longest:
        raise ValueError(f"write at most {longest} characters")
    return text
