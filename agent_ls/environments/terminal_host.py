"""SEAM TerminalHost: who opens terminals that a person sees, and runs our relay in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NewTerminal:
    """`argv` is to run as it is given, in the folder `cwd`."""

    id: str
    argv: Sequence[str]
    cwd: str
    title: str


class TerminalHost(Protocol):
    @property
    def has_terminals(self) -> bool:
        """False: not asked at all."""
        ...

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        """True when it says that it did; the relay's call is what counts. Must not raise."""
        ...

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """The command of this call runs in that terminal now. Must not raise."""
        ...
