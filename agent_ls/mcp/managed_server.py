"""One MCP server of a session: start it, list its tools, call them, and restart it when it ends. One task
owns the connection.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import anyio
import anyio.to_thread

from agent_ls.environments.errors import EnvError
from agent_ls.installation import extra_command
from agent_ls.mcp.config import (
    ConfigError,
    HttpTarget,
    ServerConfig,
    StdioTarget,
    VariableValues,
    fill_variables,
    secret_values,
)
from agent_ls.mcp.descriptions import (
    CallResult,
    Elicitation,
    ElicitationReply,
    ResultBlock,
    ServerDescription,
    ServerTool,
)
from agent_ls.mcp.errors import LoginNeededError
from agent_ls.mcp.names import command_for
from agent_ls.mcp.process import LAST_WORDS_S, EndedError, ServerProcess, ServerProcesses
from agent_ls.mcp.sources import no_code

if TYPE_CHECKING:
    from agent_ls.mcp.session import McpConnection

T = TypeVar("T")

log = logging.getLogger(__name__)

RESTART_S = (1, 4, 16)
"""Seconds to wait before each restart after the server ended by itself."""
RELOAD_S = 5
"""How long a call that has changed the lists of its server waits for the new lists."""
STEADY_S = 60
"""After a server has run for this many seconds, the count of its restarts begins at 0 again."""
SHOWN_STDERR_CHARS = 600
CODE_CHANGED = (
    "files of the project that it runs have changed; with your next message you are asked about it again"
)

State: TypeAlias = Literal[
    "off", "unapproved", "denied", "starting", "running", "restarting", "login", "failed", "stopped"
]


class UnavailableError(Exception):
    """The server cannot be called now; `str()` says why and what to do next."""


Elicit: TypeAlias = Callable[[Elicitation], Awaitable[ElicitationReply]]
Authenticate: TypeAlias = Callable[[ServerConfig], Any]
"""Makes the SDK's OAuth object for an HTTP server; None for a server that needs no login. May raise
LoginNeededError.
"""


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Services of the session for one server. `protect` registers values that must be redacted from now on.
    `changed` is called after each change of state or lists. `roots` are folders that the user trusts. `judge`
    returns why requests to a host are not allowed, "" if they are allowed. `code_of` returns the current digest of the
    files of the project that a server runs; it blocks. `login_stamp` returns a value that differs after
    each login; it blocks.
    """

    processes: ServerProcesses
    values: VariableValues
    sleep: Callable[[float], Awaitable[None]]
    start_timeout_s: float
    protect: Callable[[Sequence[str]], None]
    roots: Callable[[], Sequence[str]]
    changed: Callable[[], None]
    authenticate: Authenticate
    judge: Callable[[str], Awaitable[str]]
    code_of: Callable[[ServerConfig], str] = no_code
    login_stamp: Callable[[], object] = lambda: None


@dataclass(slots=True)
class _OwnerRequests:
    """Flags that other tasks set to ask the task that owns the connection to reload the lists, to connect again, to
    end because a login is needed, or to stop.
    """

    wake: anyio.Event = field(default_factory=anyio.Event)
    reload: bool = False
    connect: bool = False
    login: bool = False
    stop: bool = False

    def wake_owner(self) -> None:
        self.wake.set()


def has_sdk() -> bool:
    """Return whether the package that the extra `mcp` installs is there."""
    return importlib.util.find_spec("mcp") is not None


class ManagedServer:
    """An MCP server of a session, and its state. `description` comes from the cache until the server has sent
    its lists.
    """

    def __init__(
        self, config: ServerConfig, around: ServerContext, cached: ServerDescription | None = None
    ) -> None:
        self.config = config
        self.description = cached or ServerDescription()
        self.is_cached = cached is not None
        self.state: State = "starting"
        self.error = ""
        self.start_ended = anyio.Event()
        """Set when the server runs or has failed to start."""
        self.noise = 0
        self.has_run = False
        self._context = around
        self._connection: McpConnection | None = None
        self._available = anyio.Event()
        self._wanted = _OwnerRequests()
        self._elicit: list[Elicit] = []
        self._reloaded: anyio.Event | None = None
        self._login_stamp: object = None

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def _start_timeout_s(self) -> float:
        return self.config.start_timeout_ms / 1000 or self._context.start_timeout_s

    @property
    def tools(self) -> Sequence[ServerTool]:
        """Return the tools that the configuration offers, sorted by name."""
        offered = (tool for tool in self.description.tools if self.config.is_offered(tool.name))
        return sorted(offered, key=lambda tool: tool.name)

    def fill_config(self) -> ServerConfig:
        """Return the configuration with the values of its variables. From now on, secret values are not displayed.

        Raises:
            ConfigError: a variable has no value.
        """
        ready = fill_variables(self.config, self._context.values)
        self._context.protect(list(secret_values(self.config, ready, self._context.values)))
        return ready

    # --- the task that owns the connection

    async def run(self) -> None:
        """Run the server until it is stopped or has failed too often. Raises nothing except cancellation."""
        try:
            await self._run()
        finally:
            self._connection = None
            self.start_ended.set()
            self._available.set()

    async def _run(self) -> None:
        if not has_sdk():
            self._set_state(
                "failed", f"agent-ls is installed without MCP support: add it with {extra_command('mcp')}"
            )
            return
        # In a thread: the import takes a second or more, and would block the event loop.
        await anyio.to_thread.run_sync(importlib.import_module, "agent_ls.mcp.session")
        waits = list(RESTART_S)
        while True:
            begun = anyio.current_time()
            try:
                await self._connect_once()
                if self._wanted.stop:
                    self._set_state("stopped", "")
                    return
                if self._wanted.login:
                    raise LoginNeededError
                if self._wanted.connect:
                    self._wanted.connect = False
                    continue
            except (ConfigError, EnvError) as error:
                self._set_state("failed", str(error))
                return
            except LoginNeededError:
                self._set_state("login", self._how_to_log_in())
                return
            except UnavailableError as error:
                self.error = str(error)
            except Exception as error:  # catches everything, so that a failing server cannot end the session
                log.exception("the MCP server %s failed", self.name)
                self.error = f"{type(error).__name__}: {error}"
            if anyio.current_time() - begun > STEADY_S:
                waits = list(RESTART_S)
            if not waits:
                self._set_state("failed", self.error)
                return
            self.start_ended.set()
            self._set_state("restarting", self.error)
            await self._context.sleep(waits.pop(0))

    async def _connect_once(self) -> None:
        """Connect, and serve the connection until it ends.

        Raises:
            ConfigError, EnvError: the server cannot be started.
            LoginNeededError: the server requires a login.
            UnavailableError: the server has ended, or does not speak the protocol.
        """
        from agent_ls.mcp.session_errors import McpServerError, problem_of

        self._login_stamp = await anyio.to_thread.run_sync(self._context.login_stamp)
        ready = self.fill_config()
        process: ServerProcess | None = None
        try:
            async with self._open_connection(ready) as (connection, process):
                self.description = await connection.describe(self._start_timeout_s)
                self.is_cached = False
                self.has_run = True
                self._connection = connection
                self._set_state("running", "")
                self.start_ended.set()
                self._available.set()
                await self._serve(connection, process)
        except (McpServerError, EndedError, BaseExceptionGroup) as error:
            if found := login_needed(error):
                raise found from error
            problem = str(error) if isinstance(error, McpServerError) else problem_of(error)
            if not problem:
                raise
            raise UnavailableError(f"{problem}{await _last_words(process)}") from error
        finally:
            self._lose()
            if process:
                self.noise += process.noise

    @asynccontextmanager
    async def _open_connection(
        self, ready: ServerConfig
    ) -> AsyncIterator[tuple[McpConnection, ServerProcess | None]]:
        from agent_ls.mcp import session
        from agent_ls.mcp.session_errors import McpServerError

        callbacks = session.ConnectionCallbacks(self._list_changed, self._ask_user, self._context.roots)
        limit = self._start_timeout_s
        opened: AbstractAsyncContextManager[McpConnection]
        if isinstance(ready.target, HttpTarget):
            auth = self._context.authenticate(ready)
            opened = session.by_http(
                ready.target,
                callbacks,
                auth=auth,
                judge=self._context.judge,
                is_legacy=False,
                timeout_s=limit,
            )
            async with opened as connection:
                yield connection, None
            return
        if await anyio.to_thread.run_sync(self._context.code_of, self.config) != self.config.code:
            raise ConfigError(CODE_CHANGED)
        async with self._context.processes.run_server(ready.target) as process:
            try:
                async with session.by_process(
                    process, callbacks, is_legacy=False, timeout_s=limit
                ) as connection:
                    yield connection, process
            except McpServerError as error:
                # The server's standard error says more than the message "the connection is closed".
                raise McpServerError(f"{error}{await _last_words(process)}") from error

    async def _serve(self, connection: McpConnection, process: ServerProcess | None) -> None:
        """Serve the connection until it ends or is stopped.

        If the server reports that a list changed, this method requests all lists again. The handler of the
        notification cannot do that, because it must not wait for a response.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(connection.follow_changes, lambda kind: self._list_changed(kind))
            if process:
                group.start_soon(self._watch_end, process)
                group.start_soon(self._watch_output, process)
            while not (self._wanted.stop or self._wanted.connect or self._wanted.login):
                await self._wanted.wake.wait()
                self._wanted.wake = anyio.Event()
                if self._wanted.reload:
                    self._wanted.reload = False
                    self.description = await connection.describe(self._start_timeout_s)
                    self._context.changed()
                    if self._reloaded and not self._wanted.reload:
                        self._reloaded.set()
                        self._reloaded = None
            group.cancel_scope.cancel()

    async def _watch_end(self, process: ServerProcess) -> None:
        code = await process.wait_for_end()
        if not self._wanted.stop:
            how = (
                f"the server was ended by signal {-code}"
                if code < 0
                else f"the server ended with exit code {code}"
            )
            raise EndedError(how)

    async def _watch_output(self, process: ServerProcess) -> None:
        """Notice a server that sends no more messages, but does not end."""
        await process.closed.wait()
        with anyio.move_on_after(LAST_WORDS_S):
            await process.wait_for_end()
            return  # _watch_end says how
        if not self._wanted.stop:
            raise EndedError(process.why_closed)

    async def has_new_login(self) -> bool:
        """Return whether the server needs a login, and the user has logged in since then, here or elsewhere."""
        if self.state != "login":
            return False
        return await anyio.to_thread.run_sync(self._context.login_stamp) != self._login_stamp

    def _how_to_log_in(self) -> str:
        return f"log in with {command_for('login', self.name)}"

    def _lose(self) -> None:
        """Mark the connection as lost. Callers that wait for a connection now wait for the next connection."""
        self._connection = None
        if self._available.is_set():
            self._available = anyio.Event()

    def _set_state(self, state: State, error: str) -> None:
        self.state, self.error = state, error
        self._context.changed()

    def _list_changed(self, kind: str) -> None:
        self._wanted.reload = True
        self._reloaded = self._reloaded or anyio.Event()
        self._wanted.wake_owner()

    def stop(self) -> None:
        self._wanted.stop = True
        self._wanted.wake_owner()

    # --- called by other tasks

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_s: float,
        on_progress: Callable[[str], None],
        elicit: Elicit,
    ) -> CallResult:
        """Call a tool of the server, and return the tool's result.

        Raises:
            UnavailableError: the server is not running, or the call failed.
        """
        self._elicit.append(elicit)
        try:
            result = await self._ask_connection(
                lambda connection: connection.call(tool, arguments, timeout_s, on_progress)
            )
        finally:
            self._elicit.remove(elicit)
        if (
            changing := self._reloaded
        ):  # the call has changed the lists: the model may want to use what is new
            with anyio.move_on_after(RELOAD_S):
                await changing.wait()
        return result

    async def prompt(
        self, name: str, arguments: Mapping[str, str], timeout_s: float
    ) -> Sequence[ResultBlock]:
        """Return the messages of a prompt.

        Raises:
            UnavailableError: the server is not running, or the request failed.
        """
        return await self._ask_connection(lambda connection: connection.prompt(name, arguments, timeout_s))

    async def resource(self, uri: str, timeout_s: float) -> Sequence[ResultBlock]:
        """Return the contents of a resource.

        Raises:
            UnavailableError: the server is not running, or the request failed.
        """
        return await self._ask_connection(lambda connection: connection.resource(uri, timeout_s))

    async def _ask_connection(self, ask: Callable[[McpConnection], Awaitable[T]]) -> T:
        """Ask the server; ask once more on a new connection if the server does not know the old one any more."""
        connection = await self._connected()
        from agent_ls.mcp.session_errors import SessionLostError

        tools = self.description.tools
        try:
            return await self._ask_once(connection, ask)
        except SessionLostError:
            self._connect_again(connection)
        connection = await self._connected()
        if self.description.tools != tools:
            raise UnavailableError(
                f"The MCP server {self.name} has restarted with other tools. Call it again."
            )
        try:
            return await self._ask_once(connection, ask)
        except SessionLostError as error:
            raise UnavailableError(f"The MCP server {self.name} failed: {error}.") from error

    async def _ask_once(self, connection: McpConnection, ask: Callable[[McpConnection], Awaitable[T]]) -> T:
        from agent_ls.mcp.session_errors import CLOSED, McpServerError, SessionLostError

        try:
            return await ask(connection)
        except SessionLostError:
            raise
        except McpServerError as error:
            if login_needed(error):
                self._wanted.login = True
                self._wanted.wake_owner()
                raise UnavailableError(
                    f"The MCP server {self.name} needs a login: {self._how_to_log_in()}."
                ) from error
            is_process = isinstance(self.config.target, StdioTarget)  # else only the answer has ended
            if str(error) == CLOSED and self._connection is connection and is_process:
                # The task that owns the connection notices the loss a moment later. Mark the connection as
                # lost now, so that no other call uses it.
                self._lose()
            raise UnavailableError(f"The MCP server {self.name} failed: {error}.") from error

    def _connect_again(self, connection: McpConnection) -> None:
        if self._connection is connection:  # otherwise another call has asked for it
            self._lose()
            self._wanted.connect = True
            self._wanted.wake_owner()

    async def connected(self) -> None:
        """Wait until the server is connected and `description` is current.

        Raises:
            UnavailableError: the server is not running.
        """
        await self._connected()

    async def _connected(self) -> McpConnection:
        with anyio.move_on_after(self._start_timeout_s):
            if self.state in ("starting", "restarting", "running"):
                await self._available.wait()
        if self._connection is None:
            why = f": {self.error}" if self.error else ""
            raise UnavailableError(f"The MCP server {self.name} is not running ({self.state}){why}.")
        return self._connection

    async def _ask_user(self, elicitation: Elicitation) -> ElicitationReply:
        """Ask the user a question of the server, as part of the latest running tool call.

        Cancels the question if no call is running.
        """
        return await self._elicit[-1](elicitation) if self._elicit else ElicitationReply("cancel")


async def _last_words(process: ServerProcess | None) -> str:
    text = (await process.read_last_words()).strip() if process else ""
    return f"\n{text[-SHOWN_STDERR_CHARS:]}" if text else ""


def login_needed(error: BaseException) -> LoginNeededError | None:
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, LoginNeededError):
            return found
        if isinstance(found, BaseExceptionGroup):
            for inner in found.exceptions:
                if deeper := login_needed(inner):
                    return deeper
        found = found.__cause__ or found.__context__
    return None
