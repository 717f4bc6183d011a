"""Fetch the prompts and resources of MCP servers that a message names, before the message is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_ls.features.mcp.prompt_commands import prompt_text
from agent_ls.features.mcp.resource_mentions import resource_text
from agent_ls.server import protocol as wire
from agent_ls.server.rpc.context import Context

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession


async def with_server_prompts(
    context: Context, live: LiveSession, parts: Sequence[wire.InputPart]
) -> Sequence[wire.InputPart]:
    """Return the parts with names of prompts and resources replaced by the texts that the servers return.
    Commands in files have priority over prompts of the same name.

    Raises:
        AppError: the prompt or resource is unknown, or its server does not answer.
    """
    found: list[wire.InputPart] = []
    for part in parts:
        is_named = isinstance(part, wire.CommandInput) and ":" in part.name
        if (
            isinstance(part, wire.CommandInput)
            and is_named
            and not await context.has_command(part.name, live)
        ):
            part = wire.TextInput(text=await prompt_text(live.servers, part.name, part.arguments))
        if isinstance(part, wire.ResourceInput):
            part = wire.TextInput(text=await resource_text(live.servers, part.server, part.uri))
        found.append(part)
    return found
