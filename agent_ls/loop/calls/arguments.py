"""Validate the JSON arguments of a call against its tool's model; errors are worded for the model."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from agent_ls.loop.calls.argument_problems import describe_problems
from agent_ls.patterns import regex
from agent_ls.tools.base import Arguments, ToolError

A = TypeVar("A", bound=Arguments)

_FENCED = regex(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)


class ArgumentsError(Exception):
    """Invalid arguments. `str()` is the message for the model, one line for each problem."""


def parse_arguments(text: str, model: type[A]) -> A:
    """Parse and validate the arguments of a call. An empty text counts as an empty object.

    Raises:
        ArgumentsError: the text is not a JSON object, or an argument is missing, unknown, ill-typed or out of
        range.
    """
    raw = _object(text)
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        # imported here, to keep the start fast: few models write a list or an object as text
        from agent_ls.llm.argument_forms import in_wanted_form

        meant = in_wanted_form(raw, model.model_json_schema())
        if meant != raw:
            return parse_arguments(json.dumps(meant), model)
        raise ArgumentsError("\n".join(describe_problems(error, model, raw))) from None


def _object(text: str) -> dict[str, Any]:
    fenced = _FENCED.fullmatch(text)
    text = fenced[1] if fenced else text
    try:
        raw = json.loads(text) if text.strip() else {}
        raw = json.loads(raw) if isinstance(raw, str) and raw.lstrip().startswith("{") else raw
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" starting at")
        raise ArgumentsError(
            f"The arguments are not valid JSON: {what} at line {error.lineno}, column {error.colno}. "
            "Send one JSON object."
        ) from None
    except (ValueError, RecursionError):
        raise ArgumentsError(
            "The arguments contain a number that is too large, or are nested too deeply. Send simpler arguments."
        ) from None
    if not isinstance(raw, dict):
        raise ArgumentsError(f"The arguments are a JSON {_json_type(raw)}. Send one JSON object.")
    return raw


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return names[type(value)]


def replaced_note(as_asked: Arguments, after: str) -> str:
    before = str(getattr(as_asked, "command", ""))
    return (
        "[The user changed this command before it ran. Your command, which did not run:\n"
        f"{before}\nThe command that ran instead:\n{after}]"
    )


def with_command(arguments: Arguments, command: str) -> Arguments:
    """Return a copy of the arguments in which the user's `command` replaces the model's command.

    Raises:
        ToolError: the tool does not accept this command.
    """
    raw = {**arguments.model_dump(exclude_unset=True), "command": command}
    try:
        return parse_arguments(json.dumps(raw), type(arguments))
    except ArgumentsError as error:
        raise ToolError(
            f"The user changed this command to one that cannot be run: {error}", kind="validation"
        ) from None
