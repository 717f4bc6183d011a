"""Differences for a command in a terminal: its variables, its time limit, and reports that it waits for input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import anyio

from agent_ls.environments.base import TerminalWatcher
from agent_ls.environments.local.terminals.relay_link import RelayedProcess

TERMINAL_VARIABLES = MappingProxyType(
    {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}
)
"""Variables of a command in a terminal. Without them a pager would wait for a key after each page."""

_NO_EDITOR = "echo 'Nobody can type into an editor here: pass the text, or --no-edit.' >&2; false"
PIPES_VARIABLES = MappingProxyType({"GIT_EDITOR": _NO_EDITOR, "GIT_SEQUENCE_EDITOR": _NO_EDITOR})
"""Variables of a command without a terminal. Without them, an editor started by git would wait for keys until
the time limit.

The user's own values of these variables take precedence.
"""

PATIENCE_MS = 300_000
"""Time for the user to type an answer; it does not count towards the command's time limit."""

MOST_MS = 600_000
"""Maximum duration of a command, including time for typing."""

UNANSWERED_NOTE = (
    "It waited for its user to type, and nobody did: more time is of no use. Run it so that it asks nothing."
)
EDITOR_ENDS_SECONDS = 1.0
"""Delay after a terminal was closed, to find out whether the editor itself is ending.

A killed editor closes its terminals first. If it is ending, the closed terminal was not the user's
decision, and the model must not continue with it.
"""

CLOSED_NOTE = "The user closed its terminal, which ended the command."
LOST_NOTE = (
    "Its terminal is gone, which ended the command: it was closed by force, or the command itself ended it."
)


class InteractiveInput:
    """The terminal as the input of a background process: data is typed, and closing sends end of input (Ctrl-D)."""

    def __init__(self, process: RelayedProcess) -> None:
        self._process = process
        self._is_in_line = False
        self.is_open = True

    @property
    def is_awaited(self) -> bool:
        return self.is_open and self._process.is_waiting

    async def write(self, data: bytes, *, close: bool) -> None:
        # Enter is CR on a terminal; in raw mode a line feed would be another key.
        typed = data.decode("utf-8", "replace").replace("\n", "\r")
        self._is_in_line = not typed.endswith("\r") if typed else self._is_in_line
        # Within a line, the first Ctrl-D only submits the line so far.
        end = ("\x04\x04" if self._is_in_line else "\x04") if close else ""
        await self._process.write(typed + end)
        self.is_open = self.is_open and not close

    def close(self) -> None:
        self.is_open = False


async def waited_for(process: RelayedProcess, timeout_ms: int, patience_ms: int) -> bool:
    """Wait until the command has ended or its terminal was closed; return False at a time limit.

    While the command waits for the user to type, `patience_ms` applies instead of `timeout_ms`. Both together
    are at most MOST_MS, or `timeout_ms` if that is longer.
    """
    left = {False: timeout_ms / 1000, True: patience_ms / 1000}
    end = anyio.current_time() + max(timeout_ms, MOST_MS) / 1000
    while not process.is_over and not process.is_closed:
        waits, begun = process.is_waiting, anyio.current_time()
        with anyio.move_on_after(min(left[waits], end - begun)) as limit:
            await process.changed.wait()
        if limit.cancelled_caught:
            return False
        left[waits] -= anyio.current_time() - begun
    return True


def in_terminal_environ(environ: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return a command's variables for a terminal; `added` are the command's own."""
    kept = {name: value for name, value in environ.items() if PIPES_VARIABLES.get(name) != value}
    return {**kept, **TERMINAL_VARIABLES, **added}


def on_waiting(watcher: TerminalWatcher | None) -> Callable[[bool], None]:
    return watcher.waits if watcher else _untold


def _untold(waiting: bool) -> None:
    """Ignore the report."""
