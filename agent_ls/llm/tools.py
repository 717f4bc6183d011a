"""Tools for users of the library: defined with a check, run with the model's arguments, never raising to the loop."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_ls.llm.messages import JsonObject, Message, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import ToolDefinition, check_tool
from agent_ls.llm.schema_check import misfit

Repair: TypeAlias = Callable[[ToolCallPart, str], Awaitable[str | None]]
"""Given a call with bad arguments and what is wrong with them: better ones as JSON text, or None."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`execute` takes the arguments by name and gives what can be written as JSON, or an awaitable of it; None is a
    passive tool, whose calls go back to the caller. It may also take `messages` and `tool_call_id`, when it names them
    and the schema does not.

    Raises:
        ConfigurationError: the name or the root of the schema is none that every provider takes (U15).
    """

    name: str
    description: str
    parameters: JsonObject
    execute: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        check_tool(self.name, self.parameters)

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self.parameters)


async def run_tool(
    call: ToolCallPart, tools: Mapping[str, Tool], messages: Sequence[Message], repair: Repair | None
) -> ToolResultPart:
    """The result of one call. Whatever goes wrong is a result that says so: the model can do better."""
    tool = tools.get(call.name)
    if tool is None or tool.execute is None:
        return _failed(call, f"Unknown tool {call.name!r}. There are: {', '.join(tools)}.")
    arguments, problem = _arguments(call.arguments, tool)
    if problem and repair is not None:
        better = await repair(call, problem)
        arguments, problem = _arguments(better, tool) if better is not None else (arguments, problem)
    if problem:
        return _failed(call, f"Bad arguments: {problem}. Correct them and call again.")
    try:
        output = tool.execute(**arguments, **_injected(tool, call, messages))
        value = await output if inspect.isawaitable(output) else output
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except Exception as error:  # the handler is the caller's own code: its failure is told to the model
        return _failed(call, f"{type(error).__name__}: {error}")
    return ToolResultPart(call.id, call.name, text)


def _failed(call: ToolCallPart, text: str) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, text, is_error=True)


def _arguments(text: str, tool: Tool) -> tuple[dict[str, Any], str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"this is no JSON ({error})"
    if not isinstance(value, dict):
        return {}, "an object is wanted"
    return value, misfit(value, tool.parameters)


def _injected(tool: Tool, call: ToolCallPart, messages: Sequence[Message]) -> dict[str, Any]:
    offered = {"messages": tuple(messages), "tool_call_id": call.id}
    properties = tool.parameters.get("properties")
    taken = properties if isinstance(properties, Mapping) else {}
    try:
        named = inspect.signature(tool.execute).parameters if tool.execute else {}
    except (TypeError, ValueError):  # a builtin that does not tell
        return {}
    return {name: value for name, value in offered.items() if name in named and name not in taken}
