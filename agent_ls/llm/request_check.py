"""Check the values of a request, which a program may have made by itself, before it is sent."""

from __future__ import annotations

from dataclasses import fields

from agent_ls.argument_types import Misuse, find_misuse, hints_of
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import Message
from agent_ls.llm.requests import Request, ToolDefinition

_MADE = {"messages": Message, "tools": ToolDefinition}
"""Fields with many values. Their own fields are not checked for each request: tools are checked when they are made, and
the parts of messages by the codec.
"""

_DEFAULTS = {it.name: it.default for it in fields(Request)}


def check_request(request: object) -> None:
    """Check a request. The work does not grow with the parts of its messages, nor with the schemas of its tools.

    Raises:
        ConfigurationError: a value has a wrong type, or no provider accepts it. The message names the field.
    """
    if not isinstance(request, Request):
        raise ConfigurationError("request: it is no Request", hint="Make it with build_request().")
    if misuse := _find_wrong_type(request) or _find_wrong_value(request):
        raise ConfigurationError(misuse[0], hint=misuse[1])


def _find_wrong_type(request: Request) -> Misuse | None:
    for name, hint in hints_of(Request).items():
        value = getattr(request, name)
        if value is _DEFAULTS[name]:
            continue
        is_made = name in _MADE and isinstance(value, list | tuple) and {*map(type, value)} <= {_MADE[name]}
        if not is_made and (misuse := find_misuse(name, value, hint)):
            return misuse
    return None


def _find_wrong_value(request: Request) -> Misuse | None:
    names = [tool.name for tool in request.tools]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"tools: there are two tools named {twice}", "give each tool a name of its own"
    if not request.messages:
        return "messages: there is none", "pass at least one message, such as user(text)"
    if request.max_output_tokens is not None and request.max_output_tokens < 1:
        return f"max_output_tokens: {request.max_output_tokens} is not positive", "pass at least 1, or None"
    schema = request.response_format.schema if request.response_format else {}
    if schema and schema.get("type") != "object":
        return "response_format: the schema is not that of an object", 'give its root "type": "object"'
    return None
