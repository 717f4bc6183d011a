"""The background processes of one environment: they go on while others run, are read, written to and ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
from anyio import to_thread

from agent_ls.environments.base import CommandOptions, ProcessInfo
from agent_ls.environments.errors import InputRefusedError, PathNotFoundError
from agent_ls.environments.local import process_tree
from agent_ls.environments.local.children import Child, Children
from agent_ls.environments.local.output import BackgroundOutput
from agent_ls.environments.local.pipes import InputPipe, drain, new_pipe
from agent_ls.environments.local.shown import TerminalInput

INPUT_SECONDS = 10
"""How long a background process may take to read what it is given; a pipe holds 64 KiB of it meanwhile."""


@dataclass(frozen=True, slots=True)
class _Background:
    id: str
    command: str
    child: Child
    input: InputPipe | TerminalInput
    output: BackgroundOutput
    reader: threading.Thread | None
    started_ms: int

    def info(self) -> ProcessInfo:
        return ProcessInfo(
            self.id, self.command, self.child.process.pid, self.child.process.returncode, self.started_ms
        )


class BackgroundProcesses:
    def __init__(self, children: Children) -> None:
        self._children = children
        self._backgrounds: dict[str, _Background] = {}

    async def settle(self) -> None:
        """After all have been ended."""
        for background in self._backgrounds.values():
            await _settled(background)

    async def start(self, command: str, folder: str, options: CommandOptions) -> ProcessInfo:
        launch = await self._children.prepared(command, folder, options)
        output, reader = BackgroundOutput(), None
        given: InputPipe | TerminalInput
        if link := await self._children.terminal(options):
            child, process = await self._children.in_terminal(link, launch, options, output.add)
            given = TerminalInput(process)
        else:
            with new_pipe() as pipe, new_pipe() as stdin:
                child = await self._children.by_pipes(launch, pipe, pipe, stdin)
                reader = drain(pipe.give_reading(), output.add)
                given = InputPipe(stdin.give_writing())
        background = _Background(
            f"p{len(self._backgrounds) + 1}", command, child, given, output, reader, round(time.time() * 1000)
        )
        self._backgrounds[background.id] = background
        return background.info()

    def infos(self) -> Sequence[ProcessInfo]:
        return [background.info() for background in self._backgrounds.values()]

    def read(self, process_id: str, offset: int) -> tuple[str, int]:
        return self._background(process_id).output.read(offset)

    async def wait(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        await background.child.process.wait()
        background.input.close()
        return background.info()

    async def write(self, process_id: str, text: str, *, close: bool) -> ProcessInfo:
        background = self._background(process_id)
        code = background.child.process.returncode
        if code is not None:
            raise InputRefusedError(process_id, f"it has ended with exit code {code}")
        if not background.input.is_open:
            raise InputRefusedError(process_id, "its input was closed")
        try:
            with anyio.fail_after(INPUT_SECONDS):
                await background.input.write(text.encode("utf-8", "replace"), close=close)
        except BrokenPipeError:
            raise InputRefusedError(process_id, "it does not read any more") from None
        except TimeoutError:
            reason = f"it has not read all that was written within {INPUT_SECONDS} s"
            raise InputRefusedError(process_id, reason) from None
        return background.info()

    async def kill(self, process_id: str) -> ProcessInfo:
        background = self._background(process_id)
        with anyio.CancelScope(shield=True):
            await self._children.end_tree(background.child)
            await _settled(background)
        self._children.forget(background.child)
        return background.info()

    def _background(self, process_id: str) -> _Background:
        if process_id not in self._backgrounds:
            raise PathNotFoundError(process_id)
        return self._backgrounds[process_id]


async def _settled(background: _Background) -> None:
    """Returns when the exit code is known and the output is complete, or nothing more can be done about it."""
    background.input.close()
    with anyio.move_on_after(process_tree.KILL_WAIT_SECONDS):
        await background.child.process.wait()
    if background.reader:
        await to_thread.run_sync(
            background.reader.join, process_tree.KILL_WAIT_SECONDS, limiter=anyio.CapacityLimiter(1)
        )
