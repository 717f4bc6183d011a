"""Run shell commands on this machine and wait for them; background processes are in background.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import anyio

from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink, Stream
from agent_ls.environments.local.environ import EnvPolicy, EnvRules
from agent_ls.environments.local.processes.background import MAX_RUNNING, BackgroundProcesses
from agent_ls.environments.local.processes.children import Children, numbers
from agent_ls.environments.local.processes.output import CommandOutput
from agent_ls.environments.local.processes.pipes import Pipe, Readers, new_pipe
from agent_ls.environments.local.processes.thread_pipes import new_readers
from agent_ls.environments.local.terminals.relay_link import CommandLaunch, RelayedProcess, RelayLink
from agent_ls.environments.local.terminals.relays import Relays
from agent_ls.environments.local.terminals.terminal_commands import (
    CLOSED_NOTE,
    EDITOR_ENDS_SECONDS,
    INPUT_WAIT_MS,
    LOST_NOTE,
    UNANSWERED_NOTE,
    wait_for_command,
)
from agent_ls.environments.local.trees.base import Child
from agent_ls.long_texts import run_for_text

TERMINATE_GRACE_MS = 2_000  # between SIGTERM and SIGKILL

UNKNOWN_EXIT_CODE = -9
"""Reported exit code of a process that could not be ended. It is the code of a process killed by SIGKILL."""

DRAIN_SECONDS = 0.3
"""Time to wait for output after a command's end if another process still holds the output open."""


class LocalProcesses:
    """The shell commands of one environment: `run` waits for a command, `background` starts background
    processes.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        env_policy: EnvRules | EnvPolicy | Callable[[], EnvRules],
        terminate_grace_ms: int,
        relays: Relays | None = None,
        input_wait_ms: int = INPUT_WAIT_MS,
        max_background: Callable[[], int] = lambda: MAX_RUNNING,
        processes_before: int = 0,
    ) -> None:
        self._children = Children(environ, env_policy, terminate_grace_ms / 1000, relays)
        self._input_wait_ms = input_wait_ms
        self.background = BackgroundProcesses(self._children, max_background, processes_before)

    @property
    def mark(self) -> str:
        return self._children.mark

    async def initialize(self) -> None:
        await self._children.initialize()

    async def cleanup(self) -> None:
        """End all processes of this environment, including processes that ended commands left running."""
        if not self._children.have_been:
            return
        with anyio.CancelScope(shield=True):
            await self._children.end_all()
            await self.background.wait_for_ends()
            await self._children.close_terminals()

    async def run(
        self, command: str, folder: str, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        begun = anyio.current_time()
        launch = await self._children.prepare_launch(command, folder, options)
        if link := await self._children.terminal(options):
            return await self._run_shown(link, launch, options, on_output)
        readers = new_readers(CommandOutput(), on_output)
        with new_pipe() as stdout, new_pipe() as stderr:
            pipes: dict[Stream, Pipe] = {"stdout": stdout, "stderr": stderr}
            if options.one_stream:
                stderr.close()
                del pipes["stderr"]
                readers.is_done["stderr"].set()
            child = await self._children.by_pipes(launch, stdout, pipes.get("stderr", stdout))
            try:
                timed_out, notes = await self._wait_for_end(child, readers, pipes, options)
            except BaseException:  # usually a cancellation
                with anyio.CancelScope(shield=True):
                    await self._children.end(child)
                raise
            finally:
                self._children.forget(child)
        return await _result(child, readers.output, timed_out=timed_out, notes=notes, begun=begun)

    async def _run_shown(
        self, link: RelayLink, launch: CommandLaunch, options: CommandOptions, on_output: OutputSink | None
    ) -> ExecResult:
        begun = anyio.current_time()
        output = CommandOutput()

        def take(text: str) -> None:
            output.add("stdout", text)
            if on_output:
                on_output("stdout", text)

        child, process = await self._children.in_terminal(link, launch, options, take)
        try:
            timed_out, notes = await self._wait_in_terminal(child, process, options.timeout_ms)
        except BaseException:  # usually a cancellation
            with anyio.CancelScope(shield=True):
                await self._children.end(child)
            raise
        finally:
            self._children.forget(child)
        return await _result(child, output, timed_out=timed_out, notes=notes, begun=begun)

    async def _wait_in_terminal(
        self, child: Child, process: RelayedProcess, timeout_ms: int
    ) -> tuple[bool, list[str]]:
        """Wait for a command in a terminal. The relay reads the output and reports how the command ended.

        Returns whether the command was ended at the time limit, and notes for the result.
        """
        notes: list[str] = []
        timed_out = not await wait_for_command(process, timeout_ms, self._input_wait_ms)
        if timed_out and process.is_waiting:
            notes.append(UNANSWERED_NOTE)
        if timed_out or process.is_closed or process.is_lost:
            with anyio.CancelScope(shield=True):
                notes += await self._children.end(child)
        if process.is_closed or process.is_lost:
            notes.append(CLOSED_NOTE if process.is_closed else LOST_NOTE)
            await anyio.sleep(EDITOR_ENDS_SECONDS)
        left = (
            await self._children.find_left_processes(child)
            if process.is_held or self._children.adopts_orphans
            else []
        )
        if process.is_held and not timed_out:
            notes.append(_describe_open_output(left))
        return timed_out, notes

    async def _wait_for_end(
        self, child: Child, readers: Readers, pipes: Mapping[Stream, Pipe], options: CommandOptions
    ) -> tuple[bool, list[str]]:
        """Wait until the shell has ended and its output is read.

        Returns whether the shell was ended at the time limit, and notes for the result.
        """
        notes: list[str] = []
        async with anyio.create_task_group() as group:
            for stream, pipe in pipes.items():
                group.start_soon(readers.read, pipe, stream)
            with anyio.move_on_after(options.timeout_ms / 1000) as limit:
                await child.process.wait()
            if limit.cancelled_caught:
                with anyio.CancelScope(shield=True):
                    notes += await self._children.end(child)
            with anyio.move_on_after(DRAIN_SECONDS):
                await readers.all_done()
            group.cancel_scope.cancel()
        for stream, pipe in pipes.items():
            readers.finish(pipe, stream)
        is_held = not readers.are_done and not limit.cancelled_caught
        # A program of ours leaves no processes, so the whole process table need not be read for it.
        may_leave = self._children.adopts_orphans and not options.is_own_program
        left = await self._children.find_left_processes(child) if is_held or may_leave else []
        if is_held:
            notes.append(_describe_open_output(left))
            for pipe in pipes.values():
                readers.discard_output(pipe)
        return limit.cancelled_caught, notes


async def _result(
    child: Child, output: CommandOutput, *, timed_out: bool, notes: list[str], begun: float
) -> ExecResult:
    code = child.process.returncode
    stdout, stderr, both = await run_for_text(output.kept_chars, output.texts)
    return ExecResult(
        stdout=stdout,
        stderr=stderr,
        output=both,
        exit_code=UNKNOWN_EXIT_CODE if code is None else code,
        timed_out=timed_out,
        duration_ms=round((anyio.current_time() - begun) * 1000),
        note=" ".join(notes),
        dropped=output.dropped("stdout", "stderr"),
    )


def _describe_open_output(left: Sequence[int]) -> str:
    who = (
        f"Processes still running in the background: {numbers(left)}."
        if left
        else "A process of the command is still running."
    )
    return (
        f"{who} Such a process still has the output of the command open; its further output is not displayed."
    )
