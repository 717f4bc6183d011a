"""What is different for a command that runs in a terminal: its variables, its time limit, who is told that it waits."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import anyio

from agent_ls.environments.base import TerminalWatcher
from agent_ls.environments.local.relay_link import RelayedProcess

TERMINAL_VARIABLES = MappingProxyType(
    {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}
)
"""A pager would wait for a key after each page, though nobody asked to read."""

PATIENCE_SECONDS = 300.0
"""For a user who is asked to type something; it does not count as the command's time."""

CLOSED_NOTE = "The user closed its terminal, which ended the command."


class TerminalInput:
    """The terminal as the input of a background process: what is written is typed, and closing is its end of input."""

    def __init__(self, process: RelayedProcess) -> None:
        self._process = process
        self.is_open = True

    async def write(self, data: bytes, *, close: bool) -> None:
        # Enter is CR on a terminal; in a raw mode a line feed would be another key.
        typed = data.decode("utf-8", "replace").replace("\n", "\r")
        await self._process.write(typed + ("\x04" if close else ""))
        self.is_open = self.is_open and not close

    def close(self) -> None:
        self.is_open = False


async def waited_for(
    process: RelayedProcess, timeout_ms: int, patience_seconds: float = PATIENCE_SECONDS
) -> bool:
    """Returns when the command has ended or its terminal was closed; False at the time limit."""
    left = {False: timeout_ms / 1000, True: patience_seconds}
    while not process.is_over and not process.is_closed:
        waits, begun = process.is_waiting, anyio.current_time()
        with anyio.move_on_after(left[waits]) as limit:
            await process.changed.wait()
        if limit.cancelled_caught:
            return False
        left[waits] -= anyio.current_time() - begun
    return True


def on_waiting(watcher: TerminalWatcher | None) -> Callable[[bool], None]:
    return watcher.waits if watcher else _untold


def _untold(waiting: bool) -> None:
    """Nobody wants to know."""
