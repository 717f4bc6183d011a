"""Terminals that nobody sees: the same relay, started by ourselves. What a client shows and types goes by messages."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from agent_ls.environments.terminal_host import NewTerminal, TerminalHost

Shown: TypeAlias = Literal["relay", "own", "pipes"]
"""`relay`: in terminals of the editor where it has some; `own`: in terminals of ours; `pipes`: in none."""


class OwnTerminals:
    """ADAPTER TerminalHost of this process. A relay ends with its connection."""

    @property
    def has_terminals(self) -> bool:
        return os.name != "nt"

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        return _started(terminal)

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """Who shows it asks for its output by the call."""


def _started(terminal: NewTerminal) -> bool:
    try:
        relay = subprocess.Popen(
            terminal.argv,
            cwd=terminal.cwd,
            env={},  # it needs none, and hands on none
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    # It ends with its connection; somebody has to take note.
    threading.Thread(target=relay.wait, daemon=True, name="agent-ls-relay-end").start()
    return True


class ChosenTerminals:
    """ADAPTER TerminalHost as the setting stands when a command starts. A terminal that is open goes on being used."""

    def __init__(self, shown: Callable[[], Shown], editor: TerminalHost | None) -> None:
        self._shown = shown
        self._editor = editor
        self._own = OwnTerminals()

    @property
    def has_terminals(self) -> bool:
        host = self._host()
        return host is not None and host.has_terminals

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        host = self._host()
        return host is not None and await host.open_terminal(terminal)

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        if host := self._host():
            host.runs_in(terminal_id, call_id)

    def _host(self) -> TerminalHost | None:
        match self._shown():
            case "relay":
                return self._editor
            case "own":
                return self._own
            case "pipes":
                return None
