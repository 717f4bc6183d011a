"""MCP servers in a chat document: the command `/mcp`, and mentions of resources as `@SERVER:URI`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_ls.features.mcp.prompt_commands import prompt_commands
from agent_ls.features.mcp.resource_mentions import resource_mentions
from agent_ls.server import protocol as wire
from agent_ls.server.chat.chat_text import YOU, mentioned_words

if TYPE_CHECKING:
    from agent_ls.sessions.live import LiveSession

COMMAND = "/mcp"
NOT_STARTED = "The MCP servers of a chat are started with its first message."
DETAIL = "List the MCP servers; on, off or restart NAME switches one"


def servers_command(message: str) -> str | None:
    """Return the arguments of `/mcp` if the message is this command, else None."""
    name, _, arguments = message.partition(" ")
    return arguments.strip() if name == COMMAND and "\n" not in message else None


def quote_answer(words: str) -> str:
    """Return a text of agent-ls as a Markdown quotation, followed by the heading for the next message.

    Without the quotation, the text would look like an answer of the agent, which may be a plan that the user
    accepts later.
    """
    rows = "\n".join(f"> {line}".rstrip() for line in words.split("\n"))
    return f"\n{rows}\n\n{YOU}\n"


def has_prompt(live: LiveSession, name: str) -> bool:
    """Return whether `/name` is a prompt of one of the session's MCP servers."""
    return any(prompt.name == name for prompt in prompt_commands(live.servers))


def mentioned_resources(live: LiveSession, message: str) -> Mapping[str, wire.ResourceInput]:
    """Return the MCP resources that a message mentions. A key is a mention without its `@`."""
    known = {
        it.label: wire.ResourceInput(server=it.server, uri=it.uri) for it in resource_mentions(live.servers)
    }
    return {word: known[word] for word in mentioned_words(message) if word in known}
