"""An environment whose commands run in a sandbox. Another module chooses the program that enforces the
sandbox.

A command that fails because of the sandbox may run again without the sandbox, if the policy or the user
allows the second run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from os.path import join, normpath
from typing import Protocol

from anyio import CancelScope
from anyio.to_thread import run_sync

from agent_ls.environments.base import (
    CommandOptions,
    ExecResult,
    ExecutionEnvironment,
    OutputSink,
    ProcessInfo,
)
from agent_ls.environments.sandbox import Sandbox, exit_code, failed_at, is_confinement_required
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment


@dataclass(frozen=True, slots=True)
class SandboxedCommand:
    """A command in the form that runs in the sandbox. `is_read_only`: it has the limits of a read-only command.

    `absent` are paths that the command must not create. `placeholders` are empty folders that agent-ls keeps at
    some of these paths while the command runs. `links` are links that must keep their targets.
    """

    command: str
    options: CommandOptions
    sandbox: Sandbox
    is_read_only: bool
    absent: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


Leave = Callable[[str, CommandOptions, str, bool], Awaitable[bool]]
"""Returns whether a command may run again without the sandbox. Must not raise.

Arguments: the command, its options, the error message in its output, and whether it had the limits of a
read-only command.
"""

INSIDE = "The command ran in a sandbox: {at!r} may come from the sandbox, not from the command."
OUTSIDE = (
    "The command failed in the sandbox ({at!r}). This is the result of running it again outside, which "
    "the user allowed."
)
LOOKED = (
    "The command was classified as read-only and ran confined, without network and without write access to "
    "files. {at!r} may come from the confinement, not from the command."
)
AGAIN = (
    "The command failed while it was confined to reading ({at!r}). This is the result of running it again "
    "without the confinement."
)


class CommandSandbox(Protocol):
    """Interface to the sandbox.

    If a configured sandbox is not available, the policy asks the user about each command.
    """

    async def start_sandbox(self) -> object:
        """Find out which limits this machine can enforce, and prepare the sandbox. Must not raise."""
        ...

    def wrap_command(
        self, command: str, options: CommandOptions, folder: str, *, is_read_only: bool
    ) -> SandboxedCommand | None:
        """Return the command in the form that runs in the sandbox; None if it runs unchanged.

        Blocks: run in a thread.

        Raises:
            ProcessStartError: the command must run with read-only access, but this machine cannot enforce
                that.
        """
        ...

    def is_denied_anyway(self, output: str, folder: str) -> bool:
        """Return whether all denials in the output of a command would also occur without the sandbox.

        Blocks: run in a thread.
        """
        ...

    def rename_forbidden_files(self, inside: SandboxedCommand) -> str:
        """Rename files that the command has created at the forbidden paths `inside.absent`, or in place of a link.

        Return a sentence about the renamed files, "" for none. Call after the command has ended. Blocks.
        """
        ...

    def take_down(self) -> None:
        """Remove the sandbox after all commands have ended. Blocks: run in a thread."""
        ...


class SandboxedEnvironment(ForwardingEnvironment):
    def __init__(self, inner: ExecutionEnvironment, limits: CommandSandbox, may_leave: Leave) -> None:
        super().__init__(inner)
        self._sandbox = limits
        self._may_leave = may_leave
        self._inside: dict[str, tuple[str, SandboxedCommand]] = {}

    async def initialize(self) -> None:
        await self.inner.initialize()
        await self._sandbox.start_sandbox()

    async def cleanup(self) -> None:
        await self.inner.cleanup()
        await run_sync(self._sandbox.take_down)

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        return await self._exec(command, options, on_output, is_read_only=is_confinement_required())

    async def _exec(
        self, command: str, options: CommandOptions, on_output: OutputSink | None, *, is_read_only: bool
    ) -> ExecResult:
        inside = await self._wrap_command(command, options, is_read_only=is_read_only)
        if inside is None:
            return await self.inner.exec_command(command, options, on_output)
        try:
            result = await self.inner.exec_command(inside.command, inside.options, on_output)
        finally:
            with CancelScope(shield=True):
                note = await run_sync(self._sandbox.rename_forbidden_files, inside)
        result = _append_note(result, note) if note else result
        result = replace(result, exit_code=exit_code(result.exit_code, inside.sandbox))
        at = "" if result.exit_code == 0 or result.timed_out else failed_at(result.output, inside.sandbox)
        if not at or await run_sync(self._sandbox.is_denied_anyway, result.output, self._folder(options)):
            return result
        if not await self._may_leave(command, options, at, is_read_only):
            return _append_note(result, (LOOKED if is_read_only else INSIDE).format(at=at))
        if is_read_only:
            again = await self._exec(command, options, on_output, is_read_only=False)
            return _append_note(again, AGAIN.format(at=at))
        again = await self.inner.exec_command(command, options, on_output)
        return _append_note(again, OUTSIDE.format(at=at))

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        inside = await self._wrap_command(command, options, is_read_only=is_confinement_required())
        if inside is None:
            return await self.inner.start_process(command, options)
        try:
            started = await self.inner.start_process(inside.command, inside.options)
        except BaseException:
            with CancelScope(shield=True):
                await run_sync(self._sandbox.rename_forbidden_files, inside)
            raise
        self._inside[started.id] = (command, inside)
        return self._as_given(started)

    async def list_processes(self) -> Sequence[ProcessInfo]:
        return [self._as_given(process) for process in await self.inner.list_processes()]

    async def wait_process(self, process_id: str) -> ProcessInfo:
        return await self._finish_process(await self.inner.wait_process(process_id))

    async def kill_process(self, process_id: str) -> ProcessInfo:
        return await self._finish_process(await self.inner.kill_process(process_id))

    async def _finish_process(self, process: ProcessInfo) -> ProcessInfo:
        if found := self._inside.get(process.id):
            await run_sync(self._sandbox.rename_forbidden_files, found[1])
        return self._as_given(process)

    async def _wrap_command(
        self, command: str, options: CommandOptions, *, is_read_only: bool
    ) -> SandboxedCommand | None:
        folder = self._folder(options)
        return await run_sync(
            lambda: self._sandbox.wrap_command(command, options, folder, is_read_only=is_read_only)
        )

    def _folder(self, options: CommandOptions) -> str:
        return normpath(join(self.working_directory(), options.working_dir))

    def _as_given(self, process: ProcessInfo) -> ProcessInfo:
        command, inside = self._inside.get(process.id, (process.command, None))
        if inside is None:
            return process
        code = None if process.exit_code is None else exit_code(process.exit_code, inside.sandbox)
        return replace(process, command=command, exit_code=code)


def _append_note(result: ExecResult, note: str) -> ExecResult:
    return replace(result, note=f"{result.note} {note}".strip())
