"""Prompts of MCP servers as commands that a message may begin with: `/server:prompt arguments`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_ls.features.mcp.of_session import ServersOfSession
from agent_ls.loop.calls.redaction import redacted
from agent_ls.services.errors import AppError
from agent_ls.text import format_code_block

if TYPE_CHECKING:
    from agent_ls.mcp.descriptions import ServerPrompt
    from agent_ls.mcp.managed_server import ManagedServer

SEPARATOR = ":"


@dataclass(frozen=True, slots=True)
class PromptCommand:
    """A prompt of an MCP server, offered to the user as a slash command.

    `name` is `server:prompt`. `argument_hint` names the arguments, with brackets around optional arguments.
    """

    name: str
    description: str
    argument_hint: str


def prompt_commands(servers: ServersOfSession | None) -> Sequence[PromptCommand]:
    """Return the known prompts of all running or starting servers of a session."""
    return [
        PromptCommand(
            _command_name(server, prompt),
            _to_visible_line(prompt.description) or f"a prompt of the MCP server {server.name}",
            " ".join(it.name if it.is_required else f"[{it.name}]" for it in prompt.arguments),
        )
        for server, prompt in _list_all(servers)
    ]


async def prompt_text(servers: ServersOfSession | None, name: str, typed: str) -> str:
    """Return the message for the model: the words that the user typed, then the prompt's text and the server's name.

    Raises:
        AppError: no server has such a prompt, an argument is missing, or the server does not reply.
    """
    found = next(
        ((server, it) for server, it in _list_all(servers) if name == _command_name(server, it)),
        None,
    )
    if servers is None or found is None:
        raise AppError(
            f"no MCP server of this session provides the prompt {name}", "type / to list the commands"
        )
    from agent_ls.mcp.managed_server import UnavailableError
    from agent_ls.mcp.results import text_of

    server, prompt = found
    timeout_ms = server.config.timeout_ms or servers.settings().mcp.call_timeout_ms
    try:
        blocks = await server.prompt(prompt.name, _arguments(prompt, typed), timeout_ms / 1000)
    except UnavailableError as error:
        raise AppError(
            str(error), f"try again, or check the state of {server.name} in {servers.server_list}"
        ) from None
    text = redacted(text_of(blocks), servers.secrets())
    return (
        f"/{name} {typed}".rstrip()
        + f"\n\nThe MCP server {server.name} provides this prompt:\n{format_code_block(text)}"
    )


def _list_all(servers: ServersOfSession | None) -> Sequence[tuple[ManagedServer, ServerPrompt]]:
    if servers is None or not servers.made:
        return []
    running = [it for it in servers.made[0].servers if it.state in ("running", "starting", "restarting")]
    return [(server, prompt) for server in running for prompt in server.description.prompts]


def _command_name(server: ManagedServer, prompt: ServerPrompt) -> str:
    """Return the name of a prompt as a command: blanks, which would end it, are replaced by `_`."""
    return "_".join(f"{server.name}{SEPARATOR}{prompt.name}".split())


def _arguments(prompt: ServerPrompt, typed: str) -> dict[str, str]:
    """Split the typed text into the prompt's arguments, one word each; the last argument gets the rest.

    Raises:
        AppError: a required argument is missing.
    """
    try:
        words = shlex.split(typed)
    except ValueError:
        words = typed.split()
    given: dict[str, str] = {}
    last = len(prompt.arguments) - 1
    for number, argument in enumerate(prompt.arguments):
        value = " ".join(words[number:]) if number == last else "".join(words[number : number + 1])
        if value:
            given[argument.name] = value
        elif argument.is_required:
            raise AppError(
                f"the prompt needs {argument.name}",
                f"write the value after the name of the prompt: {argument.description}",
            )
    return given


def _to_visible_line(text: str) -> str:
    from agent_ls.mcp.visible import visible

    return visible(" ".join(text.split()))
