"""Connect with one MCP server outside of a session: for `agent-ls mcp test` and `agent-ls mcp login`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from agent_ls.environments.errors import EnvError
from agent_ls.environments.local.environ import without_secrets
from agent_ls.features.mcp.confinement import ServerConfinement
from agent_ls.features.mcp.login import (
    authenticate,
    login_store,
    read_entered,
    server_secrets,
    why_not_asked,
)
from agent_ls.installation import extra_command
from agent_ls.mcp.config import ConfigError, HttpTarget, ServerConfig, VariableValues, fill_variables
from agent_ls.mcp.descriptions import Elicitation, ElicitationReply, ServerDescription
from agent_ls.mcp.names import command_for
from agent_ls.mcp.process import ServerProcesses
from agent_ls.policy.places import Places
from agent_ls.services.errors import AppError
from agent_ls.services.permissions.paths import places_of
from agent_ls.services.settings.layers import user_settings

if TYPE_CHECKING:
    from agent_ls.mcp.session import ConnectionCallbacks, McpConnection

START_S = 60


def values_for(state: Path, folder: Path, environ: Mapping[str, str]) -> VariableValues:
    secrets = server_secrets(state)
    return VariableValues(environ.get, lambda server, name: read_entered(secrets, server, name), str(folder))


async def try_server(
    config: ServerConfig, state: Path, folder: Path, environ: Mapping[str, str]
) -> ServerDescription:
    """Connect to a server once, and return its tools, prompts and resources.

    Raises:
        AppError: the connection to the server fails.
    """
    return await _connect(config, state, folder, environ, None)


async def log_in(
    config: ServerConfig,
    state: Path,
    folder: Path,
    environ: Mapping[str, str],
    show: Callable[[str], Awaitable[None]],
) -> ServerDescription:
    """Log in to a server in the user's browser, and store the tokens; `show` displays the address to open.

    Raises:
        AppError: the connection to the server fails.
    """
    return await _connect(config, state, folder, environ, show)


async def _begin_login(
    stack: AsyncExitStack, config: ServerConfig, state: Path, show: Callable[[str], Awaitable[None]]
) -> Any:
    """Begin a login at a server, which replaces the stored one when it succeeds, and return an object that
    authenticates the requests. `show` gets the address for the user's browser.

    `stack` ends the login.
    """
    from agent_ls.mcp import oauth

    target = config.target
    assert isinstance(target, HttpTarget)
    store = login_store(target, state, _hide_nothing)
    login = oauth.Login(target.url, config.oauth, store, show, dict(target.headers))
    listener = await login.listen()
    group = await stack.enter_async_context(anyio.create_task_group())
    group.start_soon(login.serve, listener)
    stack.callback(group.cancel_scope.cancel)
    return login


async def _open_http(
    stack: AsyncExitStack,
    ready: ServerConfig,
    target: HttpTarget,
    state: Path,
    callbacks: ConnectionCallbacks,
    show: Callable[[str], Awaitable[None]] | None,
) -> McpConnection:
    """Connect by HTTP, with a new login if there is `show`. If the server names several login servers, they are tried
    in turn until one shows its page.
    """
    from agent_ls.mcp import oauth, session
    from agent_ls.mcp.session_errors import McpServerError

    login = await _begin_login(stack, ready, state, show) if show else None
    while True:
        opened = session.by_http(
            target,
            callbacks,
            auth=login or authenticate(ready, state, _hide_nothing),
            judge=why_not_asked,
            is_legacy=False,
            timeout_s=oauth.LOGIN_S if show else ready.start_timeout_ms / 1000 or START_S,
        )
        try:
            return await stack.enter_async_context(opened)
        except McpServerError:
            if login is None or not await login.try_next_server():
                raise


async def _connect(
    config: ServerConfig,
    state: Path,
    folder: Path,
    environ: Mapping[str, str],
    show: Callable[[str], Awaitable[None]] | None,
) -> ServerDescription:
    if _is_missing():
        raise AppError(
            "agent-ls is installed without support for MCP servers", f"install it: {extra_command('mcp')}"
        )
    from agent_ls.mcp import session
    from agent_ls.mcp.errors import LoginNeededError
    from agent_ls.mcp.managed_server import login_needed
    from agent_ls.mcp.session_errors import problem_of

    places = await anyio.to_thread.run_sync(_places, str(folder))
    confinement = ServerConfinement(lambda: places, state)
    processes = ServerProcesses(environ, str(folder), confinement.confine)
    callbacks = session.ConnectionCallbacks(lambda kind: None, _cancel, lambda: (str(folder),))
    start_s = config.start_timeout_ms / 1000 or START_S
    try:
        ready = fill_variables(config, values_for(state, folder, environ))
        async with AsyncExitStack() as stack:
            if isinstance(ready.target, HttpTarget):
                connection = await _open_http(stack, ready, ready.target, state, callbacks, show)
            else:
                process = await stack.enter_async_context(processes.run_server(ready.target))
                opened = session.by_process(process, callbacks, is_legacy=False, timeout_s=start_s)
                connection = await stack.enter_async_context(opened)
            return await connection.describe(start_s)
    except (ConfigError, EnvError) as error:
        raise AppError(f"the MCP server {config.name}: {error}", _correct(config)) from error
    except LoginNeededError as error:
        raise AppError(
            f"the MCP server {config.name}: {error}", f"run {command_for('login', config.name)}"
        ) from error
    except Exception as error:
        if login_needed(error):
            raise AppError(
                f"the MCP server {config.name} requires a login", f"run {command_for('login', config.name)}"
            ) from error
        if problem := problem_of(error):
            raise AppError(f"the MCP server {config.name}: {problem}", _correct(config)) from error
        raise
    finally:
        await processes.end_all()
        await confinement.close()


def _correct(config: ServerConfig) -> str:
    what = (
        "start the server, or correct its url"
        if isinstance(config.target, HttpTarget)
        else "correct its command"
    )
    return f"{what} in {config.file or 'the setting agentLs.mcp.servers'}"


def _places(folder: str) -> Places:
    """Return the places of a session in this folder, with the paths of the user's settings. Blocks."""
    return places_of(folder, settings=user_settings().paths)


async def _cancel(asked: Elicitation) -> ElicitationReply:
    return ElicitationReply("cancel")


def _hide_nothing(values: Sequence[str]) -> None:
    """Do nothing with the secrets of a login: `agent-ls mcp` prints no secrets that would have to be hidden."""


def _is_missing() -> bool:
    import importlib.util

    return importlib.util.find_spec("mcp") is None


def environ_without_keys(secrets: Sequence[str]) -> Mapping[str, str]:
    """Return the environment variables of this process without those that contain a provider's key."""
    return without_secrets(os.environ, secrets)
