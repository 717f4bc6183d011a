"""Environment variables, time limit and input of commands that run in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import anyio

from agent_ls.environments.base import TerminalWatcher
from agent_ls.environments.local.terminals.relay_link import RelayedProcess

TERMINAL_VARIABLES = MappingProxyType(
    {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat", "MANPAGER": "cat"}
)
"""Variables of a command in a terminal. They disable pagers, which would wait for a key after each page."""

_NO_EDITOR = (
    "echo 'git cannot open an editor in this command: pass the text as an argument, or --no-edit.' >&2; false"
)
PIPES_VARIABLES = MappingProxyType({"GIT_EDITOR": _NO_EDITOR, "GIT_SEQUENCE_EDITOR": _NO_EDITOR})
"""Variables of a command without a terminal.

They replace the editor that git starts, which would wait for keys until the time limit.

If the user has set these variables, the values of the user are used.
"""

INPUT_WAIT_MS = 300_000
"""Time for the user to type an answer. This time does not count towards the time limit of the command."""

MAX_DURATION_MS = 600_000
"""Maximum duration of a command, including time for typing."""

UNANSWERED_NOTE = (
    "The command waited for input, and nobody typed any, so more time does not help. Run the "
    "command in a way that needs no input."
)
EDITOR_ENDS_SECONDS = 1.0
"""Delay after a terminal was closed, before the command's result with CLOSED_NOTE is returned to the model.

An editor that is killed closes its terminals first. Then the user did not decide to close the terminal.
Within the delay, the end of the editor also ends this process, so that the model does not continue with
CLOSED_NOTE.
"""

CLOSED_NOTE = "The user closed the terminal of the command, which ended the command."
LOST_NOTE = (
    "The terminal of the command was closed by force, or by the command itself, which ended the command."
)


class InteractiveInput:
    """A terminal that is the standard input of a background process. Data is sent as typed keys, and
    closing sends Ctrl-D.
    """

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
        # After an unfinished line, the first Ctrl-D only submits that line.
        end = ("\x04\x04" if self._is_in_line else "\x04") if close else ""
        await self._process.write(typed + end)
        self.is_open = self.is_open and not close

    def close(self) -> None:
        self.is_open = False


async def wait_for_command(process: RelayedProcess, timeout_ms: int, input_wait_ms: int) -> bool:
    """Wait until the command has ended or its terminal was closed; return False if a time limit was reached.

    Time during which the command waits for the user to type counts against `input_wait_ms`, not `timeout_ms`.
    The total time is at most MAX_DURATION_MS, or `timeout_ms` if it is longer.
    """
    left = {False: timeout_ms / 1000, True: input_wait_ms / 1000}
    end = anyio.current_time() + max(timeout_ms, MAX_DURATION_MS) / 1000
    while not process.is_over and not process.is_closed:
        waits, begun = process.is_waiting, anyio.current_time()
        with anyio.move_on_after(min(left[waits], end - begun)) as limit:
            await process.changed.wait()
        if limit.cancelled_caught:
            return False
        left[waits] -= anyio.current_time() - begun
    return True


def in_terminal_environ(environ: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of a command in a terminal.

    They are `environ` without PIPES_VARIABLES, then TERMINAL_VARIABLES, then `added`. Later ones take
    precedence.
    """
    kept = {name: value for name, value in environ.items() if PIPES_VARIABLES.get(name) != value}
    return {**kept, **TERMINAL_VARIABLES, **added}


def on_waiting(watcher: TerminalWatcher | None) -> Callable[[bool], None]:
    return watcher.report_waiting if watcher else _ignore_waiting


def _ignore_waiting(waiting: bool) -> None:
    """Do nothing: nobody watches this terminal."""
