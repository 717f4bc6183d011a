"""Interface TerminalHost: opens visible terminals in an editor, in which the relay runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NewTerminal:
    """A terminal to open. `argv` is run unchanged in the folder `cwd`."""

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
        """Open a terminal.

        Return whether the editor reports success; the relay's connection is the proof. Must not raise.
        """
        ...

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """Report that the command of this call runs in that terminal now. Must not raise."""
        ...
