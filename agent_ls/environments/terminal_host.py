"""Interface TerminalHost: opens terminals for the relay, usually visible ones in an editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

OPEN_SECONDS = 20.0
"""For how long a command waits for its terminal. An editor that has just started may need several seconds."""


@dataclass(frozen=True, slots=True)
class NewTerminal:
    """A terminal to open. The terminal runs the program `argv` in the folder `cwd`."""

    id: str
    argv: Sequence[str]
    cwd: str
    title: str


class TerminalHost(Protocol):
    @property
    def has_terminals(self) -> bool:
        """Whether terminals can be opened at all."""
        ...

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        """Open a terminal. Return False if the editor reports an error. Must not raise.

        The terminal can be used only after its relay has connected.
        """
        ...

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """Report that the command of tool call `call_id` now runs in this terminal. Must not raise."""
        ...
