"""An environment whose commands run within walls of the system (X4). It does not know what the walls are made of.

A command that fails at them may be run again outside, when the user allows that: an approval of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from os.path import join, normpath
from typing import Protocol

from anyio.to_thread import run_sync

from agent_ls.environments.base import (
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment

Leave = Callable[[str, CommandOptions, str], Awaitable[bool]]
"""Whether a person lets this command run outside; the last says at what it failed. Must not raise."""

INSIDE = "It ran in a sandbox: {at!r} may come from its walls, not from the command."
OUTSIDE = "It failed in the sandbox ({at!r}); this is what it did outside, as the user allowed."


class Confinement(Protocol):
    """The walls. Where they could not be raised commands are what they are: policy asks about each of them."""

    async def raise_up(self) -> object:
        """Finds out what the machine can enforce. Must not raise."""
        ...

    def confined(self, command: str, folder: str) -> str:
        """The same command within the walls. Blocks: for a thread."""
        ...

    def exit_code(self, code: int) -> int:
        """What a confined command's exit code would be without walls."""
        ...

    def failed_at(self, output: str) -> str:
        """What a failed command says of the walls, "" for nothing."""
        ...

    def take_down(self) -> None:
        """Nothing runs any more. Blocks: for a thread."""
        ...

    @property
    def stand(self) -> bool: ...


class SandboxedEnvironment(ForwardingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, walls: Confinement, may_leave: Leave) -> None:
        super().__init__(inner)
        self._walls = walls
        self._may_leave = may_leave
        self._commands: dict[str, str] = {}

    async def initialize(self) -> None:
        await self.inner.initialize()
        await self._walls.raise_up()

    async def cleanup(self) -> None:
        await self.inner.cleanup()
        await run_sync(self._walls.take_down)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        if not self._walls.stand:
            return await self.inner.exec_command(command, options, on_output)
        within = await self._within(command, options)
        result = await self.inner.exec_command(within, _inside(options, command), on_output)
        result = replace(result, exit_code=self._walls.exit_code(result.exit_code))
        at = "" if result.exit_code == 0 or result.timed_out else self._walls.failed_at(result.output)
        if not at:
            return result
        if not await self._may_leave(command, options, at):
            return _noted(result, INSIDE.format(at=at))
        again = await self.inner.exec_command(command, options, on_output)
        return _noted(again, OUTSIDE.format(at=at))

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        if not self._walls.stand:
            return await self.inner.start_process(command, options)
        within = await self._within(command, options)
        started = await self.inner.start_process(within, _inside(options, command))
        self._commands[started.id] = command
        return self._as_given(started)

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return [self._as_given(process) for process in await self.inner.list_processes()]

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return self._as_given(await self.inner.wait_process(process_id))

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return self._as_given(await self.inner.kill_process(process_id))

    async def _within(self, command: str, options: CommandOptions) -> str:
        return await run_sync(self._walls.confined, command, self._folder(options))

    def _folder(self, options: CommandOptions) -> str:
        return normpath(join(self.working_directory(), options.working_dir))

    def _as_given(self, process: ProcessInfo) -> ProcessInfo:
        command = self._commands.get(process.id)
        if command is None:
            return process
        code = None if process.exit_code is None else self._walls.exit_code(process.exit_code)
        return replace(process, command=command, exit_code=code)


def _inside(options: CommandOptions, command: str) -> CommandOptions:
    """A program without a shell (`argv`) goes inside as the command that says the same: as itself it would stay out."""
    return replace(options, shown=command, argv=())


def _noted(result: ExecResult, note: str) -> ExecResult:
    return replace(result, note=f"{result.note} {note}".strip())
