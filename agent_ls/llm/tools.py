"""Tools for users of the library. A tool is defined with a schema and called with the model's arguments."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_ls.llm.absent_arguments import without_absent
from agent_ls.llm.argument_forms import in_wanted_form
from agent_ls.llm.messages import JsonObject, Message, ToolCallPart, ToolResultPart
from agent_ls.llm.requests import ToolDefinition, check_tool
from agent_ls.llm.schema_check import check_schema, find_schema_error

RepairArguments: TypeAlias = Callable[[ToolCallPart, str], Awaitable[str | None]]
"""A function that corrects invalid arguments. It gets a tool call and the problem of its arguments, and returns
corrected arguments as JSON text, or None.
"""


@dataclass(frozen=True, slots=True)
class CallableTool:
    """A tool with a handler. Calls of a tool without `execute` are returned to the caller.

    `execute` gets the arguments by name and returns a JSON value, or an awaitable of a JSON value. If `execute` has
    a parameter `messages` or `tool_call_id` that the schema does not have, the library passes that value too.

    Raises:
        ConfigurationError: some provider refuses the name or the root of the schema, or the schema is invalid.
    """

    name: str
    description: str
    parameters: JsonObject
    execute: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        check_tool(self.name, self.parameters)
        check_schema(self.parameters)

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self.parameters)


async def run_tool(
    call: ToolCallPart,
    tools: Mapping[str, CallableTool],
    messages: Sequence[Message],
    repair: RepairArguments | None,
) -> ToolResultPart:
    """Run one call. A failure becomes a tool result that explains the problem, so that the model can try again."""
    tool = tools.get(call.name)
    if tool is None or tool.execute is None:
        return _failed_result(call, f"Unknown tool {call.name!r}. Available: {', '.join(tools)}.")
    arguments, problem = _arguments(call.arguments, tool)
    if problem and repair is not None:
        better = await repair(call, problem)
        arguments, problem = _arguments(better, tool) if better is not None else (arguments, problem)
    if problem:
        return _failed_result(call, f"Bad arguments: {problem}. Correct them and call again.")
    try:
        output = tool.execute(**arguments, **_injected_arguments(tool, call, messages))
        value = await output if inspect.isawaitable(output) else output
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except Exception as error:  # the handler is the caller's code: its failure is reported to the model
        return _failed_result(call, f"{type(error).__name__}: {error}")
    return ToolResultPart(call.id, call.name, text)


def _failed_result(call: ToolCallPart, text: str) -> ToolResultPart:
    return ToolResultPart(call.id, call.name, text, is_error=True)


def _arguments(text: str, tool: CallableTool) -> tuple[dict[str, Any], str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"this is not valid JSON ({error})"
    if not isinstance(value, dict):
        return {}, "an object is expected"
    value = in_wanted_form(without_absent(value, tool.parameters), tool.parameters)
    return value, find_schema_error(value, tool.parameters, is_own=True)


def _injected_arguments(
    tool: CallableTool, call: ToolCallPart, messages: Sequence[Message]
) -> dict[str, Any]:
    offered = {"messages": tuple(messages), "tool_call_id": call.id}
    properties = tool.parameters.get("properties")
    taken = properties if isinstance(properties, Mapping) else {}
    try:
        named = inspect.signature(tool.execute).parameters if tool.execute else {}
    except (TypeError, ValueError):  # the handler is a builtin function without signature
        return {}
    return {name: value for name, value in offered.items() if name in named and name not in taken}
