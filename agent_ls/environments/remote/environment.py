"""The near end as an ExecutionEnvironment: each operation is a call to `LocalEnvironment` at the remote end."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import anyio

from agent_ls.environments.base import (
    READ_LIMIT_BYTES,
    Attribution,
    CommandOptions,
    DirEntry,
    ExecResult,
    FileState,
    FileWrite,
    GrepOptions,
    GrepResult,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.errors import (
    EnvironmentLostError,
    PathNotFoundError,
    ProcessStartError,
    StaleFileError,
)
from agent_ls.environments.opened import current_check
from agent_ls.environments.remote.commit_outcome import CommitOutcome, compare_writes, lost_commit
from agent_ls.environments.remote.connection import (
    CLOSE_SECONDS,
    RemoteCancelledError,
    RemoteConnection,
    await_call,
    on_loop,
    value_of,
)
from agent_ls.environments.remote.facts import EndConfig, RemoteEnvironmentFacts
from agent_ls.environments.remote.host import RemoteHost

T = TypeVar("T")


class RemoteEnvironment:
    """A folder on another machine or in a container. The connection is made at the first use.

    - `config`: returns the options; called when the environment is created at the remote end, and again after a
      lost connection.
    - `check_right`: called before a commit is sent; raises an error to refuse the commit.
    - `known`: data about the remote end from an earlier connection, used until the connection is made.
    - `notify`: gets a sentence for the model when a lost connection has ended background processes.
    """

    def __init__(
        self,
        host: RemoteHost,
        config: Callable[[], EndConfig],
        *,
        check_right: Callable[[], None] = lambda: None,
        notify: Callable[[str], None] = lambda text: None,
        known: RemoteEnvironmentFacts | None = None,
    ) -> None:
        self.host = host
        self.notify = notify
        self._config = config
        self._check_right = check_right
        self._opened = known
        self._connection: RemoteConnection | None = None
        self._opening = anyio.Lock()
        self._processes: dict[str, tuple[RemoteConnection, str]] = {}

    @property
    def facts(self) -> RemoteEnvironmentFacts | None:
        """Metadata from the remote end; None before the first connection."""
        return self._opened

    async def initialize(self) -> None:
        """Connect, and check the folder.

        Raises:
            EnvironmentLostError, PathNotFoundError, NotAFolderError.
        """
        await self._ensure_connected()

    async def cleanup(self) -> None:
        connection, opened = self._connection, self._opened
        self._connection = None
        if connection and opened and not connection.loss:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS):
                with suppress(EnvironmentLostError):
                    await await_call(connection.call("close", opened.number))

    def working_directory(self) -> str:
        return self._opened.root if self._opened else self._config().folder

    def platform(self) -> str:
        return self._opened.platform if self._opened else "linux"

    def os_version(self) -> str:
        """Return the operating system's version at the remote end, and the name of the machine, for the model's
        prompt.
        """
        return f"{self._opened.os_version if self._opened else ''} on {self.host.place.machine}".strip()

    # --- files

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        return await self._read("read_bytes", bytes, path, max_bytes)

    async def file_exists(self, path: str) -> bool:
        return await self._query("file_exists", bool, path)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        return await self._read("list_directory", tuple[DirEntry, ...], path, depth)

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        self._check_right()
        connection, number = await self._ensure_connected()
        # shielded, because the result of a commit must be known even if the call is cancelled
        with anyio.CancelScope(shield=True):
            try:
                states = await self._commit_on(connection, number, writes, attribution)
            except EnvironmentLostError as error:
                states = await self._finish_lost_commit(writes, attribution, connection, error)
        await anyio.lowlevel.checkpoint()
        return states

    async def _commit_on(
        self, connection: RemoteConnection, number: int, writes: Sequence[FileWrite], attribution: Attribution
    ) -> Sequence[FileState]:
        call = connection.call("commit", list(writes), attribution, environment=number, check=current_check())
        return value_of(await await_call(call), tuple[FileState, ...])[0]

    async def _finish_lost_commit(
        self,
        writes: Sequence[FileWrite],
        attribution: Attribution,
        lost: RemoteConnection,
        error: EnvironmentLostError,
    ) -> Sequence[FileState]:
        """Find out over a new connection which files a commit wrote before the old connection was lost.

        Write the missing files if no file has unexpected content.

        Raises:
            EnvironmentLostError: lists the files that were written, not written, and in an unknown state.
        """
        changed = [write for write in writes if write.content != write.base]
        try:
            connection, number = await self._ensure_connected()
            await self._sweep(connection, changed, lost.pid)
            outcome = await compare_writes(changed, self._content)
            if outcome.is_untouched or outcome.is_partly_done:
                # another process may have taken over the session while the connection was lost
                self._check_right()
                with suppress(StaleFileError):  # the lost remote end may have written a file just now
                    await self._commit_on(connection, number, outcome.not_begun, attribution)
                outcome = await compare_writes(changed, self._content)
        except EnvironmentLostError as again:
            raise lost_commit(error, CommitOutcome(unknown=tuple(changed)), again) from again
        if outcome.is_done:
            root = self.working_directory()
            return [FileState(_absolute(root, it.path), it.base, it.content) for it in writes]
        raise lost_commit(error, outcome, None)

    async def _sweep(self, connection: RemoteConnection, writes: Sequence[FileWrite], pid: int) -> None:
        """Remove temporary files that the remote end with this process id left next to the files of `writes`."""
        root = self.working_directory()
        folders = sorted({posixpath.dirname(_absolute(root, write.path)) for write in writes})
        await await_call(connection.call("sweep", folders, pid))

    async def _content(self, path: str) -> bytes | None:
        try:
            return await self.read_bytes(path, 1 << 40)
        except PathNotFoundError:
            return None

    # --- commands

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        try:
            return await self._ask(
                "exec_command",
                ExecResult,
                command,
                _prepare_options(options),
                on_output=on_loop(on_output) if on_output else None,
            )
        except EnvironmentLostError as error:
            raise EnvironmentLostError(
                f"{error.sentence} The command was ended on that machine; its earlier effects remain.",
                "Check what the command did before you run it again.",
            ) from error

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        connection, number = await self._ensure_connected()
        info = await self._ask_over(
            connection, number, "start_process", ProcessInfo, command, _prepare_options(options)
        )
        self._processes[info.id] = (connection, command)
        return info

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return await self._query("list_processes", tuple[ProcessInfo, ...])

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        return await self._of_process("read_process", process_id, tuple[str, int], offset)

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return await self._of_process("wait_process", process_id, ProcessInfo)

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        return await self._of_process("write_process", process_id, ProcessInfo, text, close)

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return await self._of_process("kill_process", process_id, ProcessInfo)

    async def _of_process(self, method: str, process_id: str, expected: type[T], *arguments: Any) -> T:
        connection, number = await self._ensure_connected()
        if (known := self._processes.get(process_id)) and known[0] is not connection:
            raise EnvironmentLostError(
                f"Process {process_id} was ended when the connection to {self.host.place.machine} was lost, "
                "and the output of the process is lost.",
                "Start the process again if it is still needed.",
            )
        # Use exactly this connection: the remote end of a newer connection would not know the process.
        return await self._ask_over(connection, number, method, expected, process_id, *arguments)

    # --- search

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        return await self._query("grep", GrepResult, pattern, path, options)

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        return await self._query("glob", tuple[str, ...], pattern, path)

    # --- calls

    async def _ensure_connected(self) -> tuple[RemoteConnection, int]:
        """Return the connection, and this environment's number at the remote end; create both if necessary."""
        async with self._opening:
            connection = await self.host.connected()
            if connection is self._connection and self._opened:
                return connection, self._opened.number
            config = replace(self._config(), processes_before=len(self._processes))
            raw = await await_call(connection.call("open", config))
            self._opened = value_of(raw, RemoteEnvironmentFacts)[0]
            before, self._connection = self._connection, connection
            lost = [(name, of) for name, (of, _) in self._processes.items() if of is before]
            if before and lost:
                commands = "; ".join(f"{name} ({self._processes[name][1]})" for name, _ in lost)
                self.notify(
                    f"The connection to {self.host.place.machine} was lost and restored, which ended the "
                    f"background processes on that machine: {commands}."
                )
            return connection, self._opened.number

    async def _query(self, method: str, expected: type[T], *arguments: Any) -> T:
        """Send a call that changes nothing, and return its result.

        If the connection was lost, send the call once more over a new connection.
        """
        return await self._call_twice(partial(self._ask, method, expected, *arguments))

    async def _call_twice(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Call `ask`; if the connection was lost, call it once more, over a new connection."""
        try:
            return await ask()
        except EnvironmentLostError:
            if self.host.find_connection():
                raise
            return await ask()

    async def _ask(
        self,
        method: str,
        expected: type[T],
        *arguments: Any,
        on_output: Callable[[str, str], object] | None = None,
    ) -> T:
        connection, number = await self._ensure_connected()
        return await self._ask_over(connection, number, method, expected, *arguments, on_output=on_output)

    async def _ask_over(
        self,
        connection: RemoteConnection,
        number: int,
        method: str,
        expected: type[T],
        *arguments: Any,
        on_output: Callable[[str, str], object] | None = None,
    ) -> T:
        call = connection.call(method, *arguments, environment=number, on_output=on_output)
        try:
            return value_of(await await_call(call), expected)[0]
        except anyio.get_cancelled_exc_class():
            # The remote end ends the processes of the call before the caller continues.
            connection.cancel(call)
            with anyio.CancelScope(shield=True), suppress(Exception):  # the result is not used any more
                await await_call(call)
            raise
        except RemoteCancelledError as error:
            raise EnvironmentLostError(f"{self.host.place.machine} cancelled this call.") from error

    async def _read(self, method: str, expected: type[T], path: str, *arguments: Any) -> T:
        """Send a call that reads a file or folder, and return its result.

        Before returning, run the current check (opened.py) on each file that the remote end opened.
        """
        return await self._call_twice(partial(self._read_once, method, expected, path, *arguments))

    async def _read_once(self, method: str, expected: type[T], path: str, *arguments: Any) -> T:
        check = current_check()
        connection, number = await self._ensure_connected()
        call = connection.call(method, path, *arguments, environment=number)
        try:
            raw = await await_call(call)
        except anyio.get_cancelled_exc_class():
            connection.cancel(call)
            raise
        value, opened = value_of(raw, expected)
        if check:
            for facts in opened:
                await anyio.to_thread.run_sync(check, facts.real, facts.result())
        return value


def _prepare_options(options: CommandOptions) -> CommandOptions:
    """Return the options to send to the remote end.

    Raises:
        ProcessStartError: the command needs confinement, which cannot be enforced on another machine.
    """
    if options.confinement:
        raise ProcessStartError("This machine cannot confine commands that run on another machine.")
    return replace(options, terminal=None, shown="")


def _absolute(root: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(root, path))
