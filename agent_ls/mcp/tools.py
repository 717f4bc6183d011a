"""Offer MCP servers' tools as session tools: prepared, approved, run and truncated like all others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import ConfigDict

from agent_ls.environments.effects import CallEffect
from agent_ls.llm.absent_arguments import without_absent
from agent_ls.llm.argument_forms import in_wanted_form
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.schema_check import check_schema, find_schema_error
from agent_ls.mcp.asking import ask_user
from agent_ls.mcp.descriptions import JsonObject, ServerTool, digest_of
from agent_ls.mcp.hosts import hosts_in
from agent_ls.mcp.managed_server import ManagedServer, UnavailableError
from agent_ls.mcp.parameter_names import sent_names, with_own_names, with_sent_names
from agent_ls.mcp.results import output_of
from agent_ls.mcp.schemas import provider_schema, with_nulls
from agent_ls.mcp.visible import definition_diff, visible, without_hidden
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.registry import plain_schema
from agent_ls.tools.summary import one_line

MAX_DESCRIPTION = 8 * 1024


@dataclass(frozen=True, slots=True)
class ToolKit:
    """Functions that the tools of all servers share. `call_timeout_ms` is called for each tool call.

    `redact` removes known API keys from a text. `approved` returns the definition of a tool that the user
    approved, None for a new tool. `accept` stores the current definition as approved.
    """

    call_timeout_ms: Callable[[], int]
    redact: Callable[[str], str]
    approved: Callable[[ManagedServer, str], Mapping[str, Any] | None]
    accept: Callable[[ManagedServer, ServerTool], None]


def server_tool(server: ManagedServer, tool: ServerTool, name: str, kit: ToolKit) -> Tool[Any]:
    """Create a tool that calls `tool` of `server`. The model calls it by `name`."""
    annotated, schema = _find_effect(server, tool), provider_schema(tool.schema)
    renamed = sent_names(schema)
    return Tool(
        name=name,
        description=describe_for_model(server.name, tool),
        category=_category(annotated),
        arguments=ServerArguments,
        schema=plain_schema(with_sent_names(schema, renamed), {}),
        prepare=partial(_prepare, server, tool, name, renamed, kit),
        summarize=lambda arguments: one_line(
            f"{tool.name} {_display_arguments(collect_given(arguments), spaced=False)}"
        ),
    )


def describe_for_model(server: str, tool: ServerTool) -> str:
    """Return the description for the model, which says that the text comes from the server."""
    text = without_hidden(tool.description or tool.title)[:MAX_DESCRIPTION]
    return (
        f"(Tool of the MCP server {server}; the server, not the user, wrote this description.) {text}".strip()
    )


def _find_effect(server: ManagedServer, tool: ServerTool) -> Literal["", "read", "safe"]:
    if not server.config.trusts_annotations:
        return ""
    if tool.read_only:
        return "read"
    return "safe" if tool.destructive is False else ""


def _category(annotated: str) -> Category:
    return "read" if annotated == "read" else "write"


class ServerArguments(Arguments):
    """Any JSON object. Preparing the call validates the object against the server's schema."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=False)


def collect_given(arguments: Arguments) -> dict[str, Any]:
    return dict(arguments.model_extra or {})


def _display_arguments(arguments: Mapping[str, Any], *, spaced: bool = True) -> str:
    return visible(json.dumps(arguments, ensure_ascii=False, indent=2 if spaced else None))


async def _prepare(
    server: ManagedServer,
    tool: ServerTool,
    name: str,
    renamed: Mapping[str, str],
    kit: ToolKit,
    arguments: Arguments,
    context: ToolContext,
) -> Prepared:
    values = with_own_names(_redacted(collect_given(arguments), kit.redact), renamed)
    # The description may come from the cache, so check the definition that the server has now.
    tool = await _find_tool(server, tool.name)
    schema = _valid_schema(tool)
    values = in_wanted_form(without_absent(values, schema), schema)
    check_arguments(tool.name, schema, values)
    timeout_ms = server.config.timeout_ms or kit.call_timeout_ms()

    async def run() -> ToolOutput:
        if (await _find_tool(server, tool.name)).definition != tool.definition:
            raise ToolError("The server has just changed this tool. Call it again.", kind="stale")
        kit.accept(server, tool)

        def progress(text: str) -> None:
            context.on_output("stdout", without_hidden(f"{text}\n"))

        try:
            result = await server.call(
                tool.name, values, timeout_ms / 1000, progress, partial(ask_user, server.name, context)
            )
        except UnavailableError as error:
            raise ToolError(str(error), kind="server_unavailable") from None
        return output_of(result)

    return Prepared(effect_of(server, tool, name, kit, values), run)


async def _find_tool(server: ManagedServer, name: str) -> ServerTool:
    """Return the tool as the connected server describes it now.

    Raises:
        ToolError: the server is not running, or has no such tool any more.
    """
    try:
        await server.connected()
    except UnavailableError as error:
        raise ToolError(str(error), kind="server_unavailable") from None
    found = next((it for it in server.tools if it.name == name), None)
    if found is None:
        raise ToolError(f"The server {server.name} has no tool {name} any more.", kind="unknown_tool")
    return found


def effect_of(
    server: ManagedServer, tool: ServerTool, name: str, kit: ToolKit, values: Mapping[str, Any]
) -> CallEffect:
    """Return the effect of a call, which the policy checks and an approval displays."""
    approved = kit.approved(server, tool.name)
    change = definition_diff(approved or {}, tool.definition) if approved != tool.definition else ""
    annotated = _find_effect(server, tool)
    return CallEffect(
        tool=name,
        text=_display_arguments(values),
        category="read" if annotated == "read" else "write",
        definition=digest_of([server.config.digest, tool.definition]),
        server=server.name,
        title=visible(tool.name),
        about=visible(tool.description),
        change=change,
        annotated=annotated,
        hosts=() if server.config.trusts_annotations and tool.open_world is False else hosts_in(values),
        reads_rule=reads_rule(server) if tool.read_only else "",
    )


def reads_rule(server: ManagedServer) -> str:
    """Return the rule id for all read-only tools of a server. The id changes if one of the definitions
    changes.
    """
    reading = [tool.definition for tool in server.tools if tool.read_only]
    return f"reads:{server.name}@{digest_of([server.config.digest, reading])[:16]}"


def _valid_schema(tool: ServerTool) -> JsonObject:
    """Return the server's schema of the arguments; if it is no valid schema, the corrected one that models get."""
    schema: JsonObject = with_nulls(tool.schema)
    try:
        check_schema(schema)
    except ConfigurationError:
        return provider_schema(schema)
    return schema


def check_arguments(name: str, schema: JsonObject, values: Mapping[str, Any]) -> None:
    """Validate a call's arguments. If the schema cannot be used, nothing is checked.

    Raises:
        ToolError: the arguments are invalid.
    """
    try:
        problem = find_schema_error(values, schema)
    except ConfigurationError:
        return  # the server checks the arguments
    if problem:
        raise ToolError(f"Invalid arguments for {name}: {problem}.", kind="validation")


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redacted(inner, redact) for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_redacted(inner, redact) for inner in value]
    return value
