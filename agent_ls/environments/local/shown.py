"""What is different for a command that runs in a terminal: its variables, its time limit, who is told that it waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import anyio

from agent_ls.environments.base import TerminalWatcher
from agent_ls.environments.local.relay_link import RelayedProcess

TERMINAL_VARIABLES = MappingProxyType(
    {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}
)
"""A pager would wait for a key after each page, though nobody asked to read."""

_NO_EDITOR = "echo 'Nobody can type into an editor here: pass the text, or --no-edit.' >&2; false"
PIPES_VARIABLES = MappingProxyType({"GIT_EDITOR": _NO_EDITOR, "GIT_SEQUENCE_EDITOR": _NO_EDITOR})
"""Without a terminal: an editor that git opens would wait for keys until the command's time is over. Who has set
these variables himself keeps his own."""

PATIENCE_MS = 300_000
"""For a user who is asked to type something; it does not count as the command's time."""

UNANSWERED_NOTE = (
    "It waited for its user to type, and nobody did: more time is of no use. Run it so that it asks nothing."
)
EDITOR_ENDS_SECONDS = 1.0
"""An editor that is killed closes its terminals first; that it is gone itself is known a moment later. Until then a
closed terminal may not be the user's doing, and the model is not to go on with that."""

CLOSED_NOTE = "The user closed its terminal, which ended the command."
LOST_NOTE = (
    "Its terminal is gone, which ended the command: it was closed by force, or the command itself ended it."
)


class TerminalInput:
    """The terminal as the input of a background process: what is written is typed, and closing is its end of input."""

    def __init__(self, process: RelayedProcess) -> None:
        self._process = process
        self._is_in_line = False
        self.is_open = True

    @property
    def is_awaited(self) -> bool:
        return self.is_open and self._process.is_waiting

    async def write(self, data: bytes, *, close: bool) -> None:
        # Enter is CR on a terminal; in a raw mode a line feed would be another key.
        typed = data.decode("utf-8", "replace").replace("\n", "\r")
        self._is_in_line = not typed.endswith("\r") if typed else self._is_in_line
        # Within a line the first only hands on what stands there.
        end = ("\x04\x04" if self._is_in_line else "\x04") if close else ""
        await self._process.write(typed + end)
        self.is_open = self.is_open and not close

    def close(self) -> None:
        self.is_open = False


async def waited_for(process: RelayedProcess, timeout_ms: int, patience_ms: int) -> bool:
    """Returns when the command has ended or its terminal was closed; False at the time limit."""
    left = {False: timeout_ms / 1000, True: patience_ms / 1000}
    while not process.is_over and not process.is_closed:
        waits, begun = process.is_waiting, anyio.current_time()
        with anyio.move_on_after(left[waits]) as limit:
            await process.changed.wait()
        if limit.cancelled_caught:
            return False
        left[waits] -= anyio.current_time() - begun
    return True


def in_terminal_environ(environ: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Of the variables of a command those that it has in a terminal; `added` are its own."""
    kept = {name: value for name, value in environ.items() if PIPES_VARIABLES.get(name) != value}
    return {**kept, **TERMINAL_VARIABLES, **added}


def on_waiting(watcher: TerminalWatcher | None) -> Callable[[bool], None]:
    return watcher.waits if watcher else _untold


def _untold(waiting: bool) -> None:
    """Nobody wants to know."""
