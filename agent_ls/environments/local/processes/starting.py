"""Start a child process from a separate thread, which then waits until the child has exited.

If the child must be confined, the thread confines itself first: Landlock and seccomp apply to one thread and
its children. So neither a helper program nor code between fork and exec is needed. The thread lives as long as
the child, because the child gets its parent-death signal when the thread that started it ends.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

from agent_ls.confinement.wanted import Confinement
from agent_ls.environments.local.trees import adoption, cgroups

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class StartedProcess:
    """A started process. `returncode` is None while the process runs, and negative for a signal."""

    pid: int
    returncode: int | None = None
    _ended: anyio.Event = field(default_factory=anyio.Event)

    async def wait(self) -> int:
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def set_ended(self, code: int) -> None:
        """Record the exit code of the ended process. Call once, on the event loop."""
        self.returncode = code
        self._ended.set()


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A process to start in a new session. The caller closes its three descriptors.

    `mark` identifies the command and is part of the name of its control group; "" means no control group.
    """

    argv: Sequence[str]
    folder: str
    environ: Mapping[str, str]
    stdin: int
    stdout: int
    stderr: int
    confinement: Confinement | None = None
    mark: str = ""


async def start_process(start: StartRequest) -> StartedProcess:
    """Start a process. Call in a shielded cancel scope: after a cancelled start, no code would end the started
    process.

    Raises:
        OSError, ValueError: the process cannot be started or confined.
    """
    starting = _Starting(start)
    try:
        threading.Thread(target=starting.run, daemon=True, name="agent-ls-command").start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, "the system allows no more threads") from error
    return await starting.wait_for_start()


class _Starting:
    def __init__(self, start: StartRequest) -> None:
        self._start = start
        self._loop = anyio.lowlevel.current_token()
        self._is_known = anyio.Event()
        self._process: StartedProcess | None = None
        self._failure: OSError | ValueError | None = None

    async def wait_for_start(self) -> StartedProcess:
        await self._is_known.wait()
        if self._process is None:
            raise self._failure or OSError("the thread that starts the process failed")
        return self._process

    def run(self) -> None:
        """Start the process and wait for its end. Runs in its own thread, because confinement applies to a
        thread.
        """
        group: int | None = None
        try:
            # Open the control group before the thread confines itself; afterwards the thread cannot write to the
            # group's files.
            group = cgroups.open_created(self._start.mark) if self._start.mark else None
            if self._start.confinement:
                from agent_ls.confinement.confine import confine  # Linux only

                confine(self._start.confinement)
            child = _popen(self._start, group)
        except (OSError, ValueError) as error:
            return self._call_on_loop(self._handle_failure, error)
        except BaseException:
            self._call_on_loop(self._handle_failure, None)
            raise
        finally:
            if group is not None:
                os.close(group)
        self._call_on_loop(self._runs, child.pid)
        self._call_on_loop(self._handle_exit, child.wait())

    def _call_on_loop(self, call: Callable[[T], None], what: T) -> None:
        with suppress(RuntimeError):  # the event loop has ended, so nobody waits
            anyio.from_thread.run_sync(call, what, token=self._loop)

    def _runs(self, pid: int) -> None:
        self._process = StartedProcess(pid)
        self._is_known.set()

    def _handle_exit(self, code: int) -> None:
        if self._process:
            self._process.set_ended(code)

    def _handle_failure(self, error: OSError | ValueError | None) -> None:
        self._failure = error
        self._is_known.set()


def run_confined(
    argv: Sequence[str], environ: Mapping[str, str], confinement: Confinement | None, limit_s: float
) -> tuple[int, str]:
    """Run a short program until it exits; return its exit code and output. Blocks.

    Raises:
        OSError: the program cannot be started or confined.
        subprocess.TimeoutExpired: the program has not ended within `limit_s` seconds.
    """
    done: list[subprocess.CompletedProcess[bytes]] = []
    failures: list[Exception] = []

    def run() -> None:
        try:
            if confinement:
                from agent_ls.confinement.confine import confine

                confine(confinement)
            done.append(
                subprocess.run(
                    argv,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=limit_s,
                    check=False,
                )
            )
        except (OSError, subprocess.SubprocessError) as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True, name="agent-ls-confined")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return done[0].returncode, done[0].stdout.decode("utf-8", "replace")


def _popen(start: StartRequest, group: int | None) -> subprocess.Popen[bytes]:
    with adoption.STARTING:
        return subprocess.Popen(
            start.argv if group is None else cgroups.joining(group, start.argv),
            pass_fds=() if group is None else (group,),
            cwd=start.folder,
            env=start.environ,
            stdin=start.stdin,
            stdout=start.stdout,
            stderr=start.stderr,
            start_new_session=True,
        )
