"""Terminals that nobody sees: the same relay, started by ourselves. What a client shows and types goes by messages."""

from __future__ import annotations

import os
import subprocess
import threading
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


def chosen_terminals(shown: Shown, editor: TerminalHost | None) -> TerminalHost | None:
    match shown:
        case "relay":
            return editor
        case "own":
            return OwnTerminals()
        case "pipes":
            return None
