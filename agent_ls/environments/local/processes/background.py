"""Start, read, write to and end the background processes of one environment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
from anyio import to_thread

from agent_ls.environments.base import CommandOptions, ProcessInfo
from agent_ls.environments.errors import InputRefusedError, PathNotFoundError, ProcessLimitError
from agent_ls.environments.local.processes.children import Children
from agent_ls.environments.local.processes.output import BackgroundOutput
from agent_ls.environments.local.processes.pipes import InputPipe, drain, new_pipe
from agent_ls.environments.local.processes.thread_pipes import ThreadInputPipe, new_input
from agent_ls.environments.local.terminals.terminal_commands import InteractiveInput
from agent_ls.environments.local.trees.base import KILL_WAIT_SECONDS, Child

MAX_RUNNING = 20
"""Default maximum of background processes that run at once.

The limit stops a model that starts processes without end.
"""

WHOLE_ENDED = 20
"""The full output of the last 20 ended processes is stored; of older ended processes, only ENDED_KEPT_CHARS."""

ENDED_KEPT_CHARS = 64 * 1024

LAST_WORDS_SECONDS = 0.3
"""Time to wait for the rest of the output of an ended process if another process still holds it open."""

INPUT_SECONDS = 10
"""Time limit for writing input to a background process.

Writing waits when the process has not read the last 64 KiB, the capacity of the pipe.
"""


@dataclass(frozen=True, slots=True)
class _Background:
    id: str
    command: str
    child: Child
    input: InputPipe | ThreadInputPipe | InteractiveInput
    output: BackgroundOutput
    reader: threading.Thread | None
    started_ms: int

    @property
    def has_ended(self) -> bool:
        return self.child.process.returncode is not None

    def info(self) -> ProcessInfo:
        process = self.child.process
        is_waiting = isinstance(self.input, InteractiveInput) and self.input.is_awaited
        return ProcessInfo(
            self.id, self.command, process.pid, process.returncode, self.started_ms, is_waiting
        )


class BackgroundProcesses:
    """The background processes of one environment, with the ids p1, p2, ….

    The first `ids_before` ids are not used again.
    """

    def __init__(self, children: Children, max_running: Callable[[], int], ids_before: int = 0) -> None:
        self._children = children
        self._ids_before = ids_before
        self._max_running = max_running
        self._starting = 0
        self._backgrounds: dict[str, _Background] = {}

    async def wait_for_ends(self) -> None:
        """Wait until all processes have ended. The caller has already sent them a signal to end."""
        for background in self._backgrounds.values():
            await _wait_for_end(background)

    async def start(self, command: str, folder: str, options: CommandOptions) -> ProcessInfo:
        """Start a background process in `folder`.

        Raises:
            PathNotFoundError, NotAFolderError, ProcessLimitError, ProcessStartError.
        """
        self._check_capacity()
        self._starting += 1
        try:
            return (await self._start(command, folder, options)).info()
        finally:
            self._starting -= 1
            self._shorten_old_outputs()

    async def _start(self, command: str, folder: str, options: CommandOptions) -> _Background:
        launch = await self._children.prepare_launch(command, folder, options)
        output, reader = BackgroundOutput(), None
        given: InputPipe | ThreadInputPipe | InteractiveInput
        if link := await self._children.terminal(options):
            child, process = await self._children.in_terminal(link, launch, options, output.add)
            given = InteractiveInput(process)
        else:
            with new_pipe() as pipe, new_pipe() as stdin:
                child = await self._children.by_pipes(launch, pipe, pipe, stdin)
                reader = drain(pipe.give_reading(), output.add)
                given = new_input(stdin.give_writing())
        number = self._ids_before + len(self._backgrounds) + 1
        background = _Background(
            f"p{number}", command, child, given, output, reader, round(time.time() * 1000)
        )
        self._backgrounds[background.id] = background
        return background

    def _check_capacity(self) -> None:
        running = [(it.id, it.command) for it in self._backgrounds.values() if not it.has_ended]
        if len(running) + self._starting >= (most := self._max_running()):
            raise ProcessLimitError(most, running)

    def _shorten_old_outputs(self) -> None:
        """Shorten the stored outputs of ended processes, except of the newest WHOLE_ENDED ones."""
        ended = [it for it in self._backgrounds.values() if it.has_ended]
        for background in ended[:-WHOLE_ENDED]:
            background.output.shrink(ENDED_KEPT_CHARS)

    def infos(self) -> Sequence[ProcessInfo]:
        return [background.info() for background in self._backgrounds.values()]

    async def read(self, process_id: str, offset: int) -> tuple[str, int]:
        """Return output from `offset` on, and the offset to continue from.

        If the process has ended, first wait briefly for the rest of its output.
        """
        background = self._background(process_id)
        if background.has_ended and background.reader and background.reader.is_alive():
            await to_thread.run_sync(
                background.reader.join,
                LAST_WORDS_SECONDS,
                limiter=anyio.CapacityLimiter(1),
                abandon_on_cancel=True,
            )
        return background.output.read(offset)

    async def wait(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        await background.child.process.wait()
        background.input.close()
        return background.info()

    async def write(self, process_id: str, text: str, *, close: bool) -> ProcessInfo:
        background = self._background(process_id)
        code = background.child.process.returncode
        if code is not None:
            raise InputRefusedError(process_id, f"the process has ended with exit code {code}")
        if not background.input.is_open:
            raise InputRefusedError(process_id, "the input of the process was closed")
        try:
            with anyio.fail_after(INPUT_SECONDS):
                await background.input.write(text.encode("utf-8", "replace"), close=close)
        except BrokenPipeError:
            raise InputRefusedError(process_id, "the process no longer reads its input") from None
        except TimeoutError:
            reason = f"the process did not read all of the input within {INPUT_SECONDS} s"
            raise InputRefusedError(process_id, reason) from None
        return background.info()

    async def kill(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        with anyio.CancelScope(shield=True):
            await self._children.end_tree(background.child)
            await _wait_for_end(background)
        self._children.forget(background.child)
        return background.info()

    def _background(self, process_id: str) -> _Background:
        if process_id not in self._backgrounds:
            raise PathNotFoundError(process_id)
        return self._backgrounds[process_id]


async def _wait_for_end(background: _Background) -> None:
    """Wait until the exit code is known and the output is complete, each for at most KILL_WAIT_SECONDS."""
    background.input.close()
    with anyio.move_on_after(KILL_WAIT_SECONDS):
        await background.child.process.wait()
    if background.reader:
        await to_thread.run_sync(background.reader.join, KILL_WAIT_SECONDS, limiter=anyio.CapacityLimiter(1))
