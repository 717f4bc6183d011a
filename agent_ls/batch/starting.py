"""Start and end the processes of attempts.

On Linux, a program (cli/batch_starter.py) that has imported the modules of `agent-ls exec` forks the processes. Where
this is not possible, each attempt is a new program (cli/batch_child.py).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, Protocol, Self

import anyio
from anyio.abc import Process

from agent_ls.environments.local.processes.ending import kill_and_wait, terminate
from agent_ls.services.errors import AppError

CHILD = (sys.executable, "-P", "-m", "agent_ls.cli.batch_child")
STARTER = (sys.executable, "-P", "-m", "agent_ls.cli.batch_starter")
NEWS_BYTES = 64


@dataclass(frozen=True, slots=True)
class AttemptFiles:
    """The files for the output of an attempt, and the descriptor of its task's lock. The process of the attempt holds
    the lock until it has ended, even if the runner is killed.
    """

    events: BinaryIO
    errors: BinaryIO
    lock: int


class AttemptProcess(Protocol):
    """The process of one attempt. It ends when its standard input is closed."""

    async def send(self, data: bytes) -> None:
        """Write to the standard input of the process. Does nothing if the process has ended."""
        ...

    async def wait(self) -> int:
        """Wait until the process has ended. Returns its exit code; negative: the number of the signal."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM if the process runs."""
        ...

    async def kill(self) -> None:
        """Kill the process if it runs, wait until it has ended, and close its standard input."""
        ...


class AttemptStarter:
    """Starts the processes of attempts, with the environment variables `environ`.

    In the `async with` block, the processes are forked if possible.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._program: Process | None = None
        self._socket: socket.socket | None = None

    async def __aenter__(self) -> Self:
        if _can_fork():
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs, suppress(OSError):
                self._program = await anyio.open_process(
                    [*STARTER, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=self._environ,
                    pass_fds=[theirs.fileno()],
                )
                self._socket = ours
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._socket:
            self._socket.close()
        if self._program:
            await kill_and_wait(self._program)
            await self._program.aclose()
        self._socket = self._program = None

    async def start(self, files: AttemptFiles) -> AttemptProcess:
        """Start a process.

        Raises:
            AppError: the process cannot be started.
        """
        try:
            forked = await _fork(self._socket, files) if self._socket else None
            return forked or await _spawn(files, self._environ)
        except OSError as error:
            raise AppError(f"agent-ls cannot be started: {error.strerror}", "run `agent-ls doctor`") from None


def _can_fork() -> bool:
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False  # an old kernel, or a container that forbids it
    return True


async def _spawn(files: AttemptFiles, environ: Mapping[str, str]) -> AttemptProcess:
    process = await anyio.open_process(
        CHILD,
        stdin=subprocess.PIPE,
        stdout=files.events,
        stderr=files.errors,
        env=environ,
        # The child stays in this process's POSIX session, because LocalEnvironment treats children in other sessions as
        # leftovers of a check, and ends them.
        pass_fds=() if sys.platform == "win32" else (files.lock,),
    )
    return SpawnedAttempt(process)


class SpawnedAttempt:
    """A process that was started as a program."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def send(self, data: bytes) -> None:
        assert self._process.stdin
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._process.stdin.send(data)

    async def wait(self) -> int:
        return await self._process.wait()

    def terminate(self) -> None:
        terminate(self._process)

    async def kill(self) -> None:
        await kill_and_wait(self._process)
        await self._process.aclose()


async def _fork(starter: socket.socket, files: AttemptFiles) -> AttemptProcess | None:
    """Ask the program at the other end of the socket for a process. Returns None if that program has ended."""
    theirs, ours = os.pipe()
    news, news_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given = [theirs, files.events.fileno(), files.errors.fileno(), files.lock, news_theirs.fileno()]
    try:
        socket.send_fds(starter, [b"start"], given)
    except OSError:
        pass
    finally:
        os.close(theirs)
        news_theirs.close()
    news.setblocking(False)
    process = _Forked(ours, news)
    if not await process.has_started():
        await process.kill()
        return None
    return process


class _Forked:
    """A process that was forked. Its exit code, and nothing else, arrives at `news` when it has ended."""

    def __init__(self, stdin: int, news: socket.socket) -> None:
        os.set_blocking(stdin, False)
        self._stdin = stdin
        self._news = news
        self._pidfd: int | None = None
        self._exit_code: int | None = None

    async def has_started(self) -> bool:
        """Wait until the process runs. Returns False if it cannot be started."""
        with anyio.CancelScope(shield=True):  # a cancelled start would leave a process that nobody ends
            await anyio.wait_readable(self._news)
        data, given, _, _ = socket.recv_fds(self._news, NEWS_BYTES, 1)
        self._pidfd = given[0] if given else None
        return bool(data)

    async def send(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)
            except BrokenPipeError:
                return

    async def wait(self) -> int:
        if self._exit_code is None:
            await anyio.wait_readable(self._news)
            # Without a code, the program that forks was killed, and nobody knows how the process has ended.
            self._exit_code = int(self._news.recv(NEWS_BYTES) or -signal.SIGKILL)
        return self._exit_code

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    async def kill(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._pidfd is not None:
                self._signal(signal.SIGKILL)
                await anyio.wait_readable(self._pidfd)
                os.close(self._pidfd)
                self._pidfd = None
                await self.wait()
        os.close(self._stdin)
        self._news.close()
