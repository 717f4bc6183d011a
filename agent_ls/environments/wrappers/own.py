"""The environment of a program: what its methods raise, or wrongly return, becomes an error of environments.

Without this wrapper, an `OSError` of the program would end the turn, a `CancelledError` of another task would end the
session, and a command that never ends would hold its turn.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from anyio import CancelScope, current_time, get_cancelled_exc_class, move_on_after

from agent_ls.argument_types import find_misuse, hints_of
from agent_ls.environments.base import (
    Attribution,
    CommandOptions,
    CommandTerminal,
    ExecResult,
    ExecutionEnvironment,
    FileState,
    FileWrite,
    OutputSink,
    Stream,
    TerminalWatcher,
)
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local.processes.output import CommandOutput
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.own_code import (
    FailureLog,
    Watched,
    WrongValueError,
    describe_failure,
    exits_as_errors,
    failure_place,
    is_cancelled,
)

GRACE_MS = 5_000
"""Added to the time limit of a command, for an environment that keeps the limit itself and ends processes."""
CLEANUP_S = 60.0
"""How long the end of a session waits for `cleanup`."""
TIMEOUT_EXIT_CODE = 124
"""The exit code of timeout(1) for a command that it ended."""
CUT_OFF = "The environment did not end the command at its time limit, so the call was cancelled."


class OwnEnvironmentError(EnvError):
    """A method of the program's environment raised an error that is no EnvError, or returned a wrong value."""

    kind = "internal"


class OwnEnvironment(ForwardingEnvironment):
    """Forwards all operations. The methods without `async` are called once, by `initialize`."""

    def __init__(self, inner: ExecutionEnvironment) -> None:
        super().__init__(inner)
        self._has_begun = False
        self._facts: dict[str, str] = {}
        self._failures = FailureLog()
        self.cleanup_error: EnvError | None = None

    async def initialize(self) -> None:
        """Start the environment, unless it was started before.

        Raises:
            EnvError: the program's code failed.
        """
        if self._has_begun:
            return
        self._has_begun = True
        await self._call("initialize")
        for name in ("working_directory", "platform", "os_version"):
            self._facts[name] = await self._call(name)
        folder = self.working_directory()
        if not (PurePosixPath(folder).is_absolute() or PureWindowsPath(folder).is_absolute()):
            wrong = WrongValueError(f"the result: {folder!r} is no absolute path")
            raise self._failed("working_directory", wrong)

    async def cleanup(self) -> None:
        """Never raises: an error is kept in `cleanup_error`. The caller has shielded the call from cancellation."""
        with move_on_after(CLEANUP_S) as limit:
            try:
                await self._call("cleanup")
            except EnvError as error:
                self.cleanup_error = error
            except get_cancelled_exc_class() as error:
                if not limit.cancel_called:
                    self.cleanup_error = self._failed("cleanup", error)
        if limit.cancel_called:
            late = WrongValueError(f"it did not end in {CLEANUP_S:g} s, and was left")
            self.cleanup_error = self._failed("cleanup", late)

    def working_directory(self) -> str:
        return self._facts["working_directory"]

    def platform(self) -> str:
        return self._facts["platform"]

    def os_version(self) -> str:
        return self._facts["os_version"]

    async def file_exists(self, path: str) -> bool:
        try:
            return bool(await self._call("file_exists", path))
        except EnvError:
            return False

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        states: Sequence[FileState] = await self._call("commit", writes, attribution)
        if len(states) != len(writes):
            counts = f"{len(states)} FileState values, expected {len(writes)}"
            raise self._failed("commit", WrongValueError(f"the result: {counts}"))
        return states

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        """Cancel a command that the environment does not end at its time limit. What it has reported is kept."""
        begun, heard = current_time(), CommandOutput()

        def listen(stream: Stream, text: str) -> None:
            heard.add(stream, text)
            if on_output:
                on_output(stream, text)

        limit_s = (options.timeout_ms + GRACE_MS) / 1000
        with CancelScope(deadline=begun + limit_s) as scope:
            if options.terminal:
                options = replace(options, terminal=_PausingWatcher(options.terminal, scope, limit_s))
            result: ExecResult = await self._call("exec_command", command, options, listen)
            return result
        return ExecResult(
            stdout=heard.text("stdout"),
            stderr=heard.text("stderr"),
            output=heard.text("stdout", "stderr"),
            exit_code=TIMEOUT_EXIT_CODE,
            timed_out=True,
            duration_ms=round((current_time() - begun) * 1000),
            note=CUT_OFF,
            dropped=heard.dropped("stdout", "stderr"),
        )

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            with exits_as_errors():
                result = getattr(self.inner, name)(*args, **kwargs)
                if inspect.iscoroutine(result):
                    result = await Watched(f"{type(self.inner).__name__}.{name}", result)
        except EnvError:
            raise
        except get_cancelled_exc_class() as error:
            if is_cancelled():
                raise
            raise self._failed(name, error) from error
        except Exception as error:
            raise self._failed(name, error) from error
        wanted = hints_of(getattr(ExecutionEnvironment, name))["return"]
        sample = result[:1] if isinstance(result, list) else result  # the first item has what all have
        if wanted and (misuse := find_misuse("the result", sample, wanted)):
            raise self._failed(name, WrongValueError(misuse[0]))
        return result

    def _failed(self, name: str, error: BaseException) -> OwnEnvironmentError:
        message = describe_failure(self.inner, name, error)
        self._failures.write(failure_place(self.inner, name, error), message, error)
        return OwnEnvironmentError(message)


class _PausingWatcher:
    """Pauses the time limit of a command while the command waits for input in its terminal."""

    def __init__(self, inner: TerminalWatcher, scope: CancelScope, limit_s: float) -> None:
        self._inner = inner
        self._scope = scope
        self._limit_s = limit_s

    def report_terminal(self, terminal: CommandTerminal) -> None:
        self._inner.report_terminal(terminal)

    def report_waiting(self, waiting: bool) -> None:
        self._scope.deadline = math.inf if waiting else current_time() + self._limit_s
        self._inner.report_waiting(waiting)


def _guarded(name: str) -> Callable[..., Any]:
    @wraps(getattr(ForwardingEnvironment, name))
    async def call(self: OwnEnvironment, *args: Any, **kwargs: Any) -> Any:
        return await self._call(name, *args, **kwargs)

    return call


for _name in vars(ForwardingEnvironment):
    if not _name.startswith("_") and _name not in vars(OwnEnvironment):
        setattr(OwnEnvironment, _name, _guarded(_name))
