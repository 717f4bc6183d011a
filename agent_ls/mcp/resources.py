"""The tool by which the model lists and reads resources of MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import Field

from agent_ls.environments.effects import CallEffect, NoEffect
from agent_ls.mcp.descriptions import ServerResource
from agent_ls.mcp.hosts import hosts_in
from agent_ls.mcp.managed_server import ManagedServer, UnavailableError
from agent_ls.mcp.results import text_of
from agent_ls.mcp.tools import ToolKit
from agent_ls.mcp.visible import visible, without_hidden
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.summary import one_line

READ_RESOURCE = "read_resource"
MAX_LISTED = 100
TEMPLATES = "Templates of resources; replace each part in braces by a value:"


class ResourceArguments(Arguments):
    server: str = Field(description="The name of the MCP server.")
    uri: str = Field(
        default="",
        description="The uri of the resource; without a uri the resources of the server are listed.",
    )


def resource_tool(servers: Callable[[], Sequence[ManagedServer]], kit: ToolKit) -> Tool[Any]:
    async def prepare(arguments: ResourceArguments, context: ToolContext) -> Prepared:
        server = next((it for it in servers() if it.name == arguments.server), None)
        if server is None:
            names = ", ".join(it.name for it in servers()) or "none"
            raise ToolError(
                f"No MCP server is named {arguments.server!r}. There are: {names}.", kind="validation"
            )
        if not arguments.uri:
            return Prepared(NoEffect(), lambda: _listing(server))
        uri = kit.redact(arguments.uri)

        async def run() -> ToolOutput:
            timeout_ms = server.config.timeout_ms or kit.call_timeout_ms()
            try:
                blocks = await server.resource(uri, timeout_ms / 1000)
            except UnavailableError as error:
                raise ToolError(str(error), kind="server_unavailable") from None
            return ToolOutput(text_of(blocks) or "(empty)")

        effect = CallEffect(
            tool=READ_RESOURCE,
            text=visible(uri),
            category="read",
            server=server.name,
            title="read a resource",
            annotated="read" if server.config.trusts_annotations else "",
            hosts=hosts_in({"uri": uri}),
            definition=server.config.digest,
        )
        return Prepared(effect, run)

    return Tool(
        name=READ_RESOURCE,
        description="Read a resource of one of the user's MCP servers, or list the resources of a server.",
        category="read",
        arguments=ResourceArguments,
        prepare=prepare,
        look=Look("read", "Reading", "Read"),
        summarize=lambda arguments: one_line(f"{arguments.server} {arguments.uri}"),
    )


async def _listing(server: ManagedServer) -> ToolOutput:
    lines = _lines(server.description.resources)
    if templates := server.description.templates:
        lines += [TEMPLATES, *_lines(templates)]
    return ToolOutput("\n".join(lines) or "The server has no resources.")


def _lines(resources: Sequence[ServerResource]) -> list[str]:
    lines = [
        without_hidden(f"{it.uri}  {it.name}{f': {it.description}' if it.description else ''}")
        for it in resources[:MAX_LISTED]
    ]
    left_out = len(resources) - MAX_LISTED
    return [*lines, *([f"[... and {left_out} more ...]"] if left_out > 0 else [])]
