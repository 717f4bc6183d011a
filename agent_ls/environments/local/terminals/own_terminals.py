"""Terminals that no editor displays: this process starts the relay (agent_ls/relay) itself.

Clients get output and send input as protocol messages.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

from agent_ls.environments.local.trees import adoption
from agent_ls.environments.terminal_host import NewTerminal, TerminalHost

Shown: TypeAlias = Literal["relay", "own", "pipes"]
"""Where commands run.

`relay`: in terminals of the editor, if it supports them. `own`: in terminals of this process. `pipes`:
without a terminal.
"""


class OwnTerminals:
    """Implements TerminalHost with terminals of this process. A relay ends when its connection is closed."""

    @property
    def has_terminals(self) -> bool:
        return os.name != "nt"

    async def open_terminal(self, terminal: NewTerminal) -> bool:
        return _start_terminal(terminal)

    def runs_in(self, terminal_id: str, call_id: str) -> None:
        """Do nothing: clients request the output by call id."""


def _start_terminal(terminal: NewTerminal) -> bool:
    try:
        with adoption.STARTING:
            relay = subprocess.Popen(
                terminal.argv,
                cwd=terminal.cwd,
                env={},  # the relay needs no variables and passes none on
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            adoption.own_child(relay.pid)
    except OSError:
        return False
    # The relay ends by itself when its connection is closed, but its exit status must be collected.
    threading.Thread(target=_wait, args=(relay,), daemon=True, name="agent-ls-relay-end").start()
    return True


def _wait(relay: subprocess.Popen[bytes]) -> None:
    relay.wait()
    adoption.not_our_child(relay.pid)


class ChosenTerminals:
    """Opens terminals in the editor, in this process, or nowhere. `shown` returns the setting that selects
    this.

    Terminals that are open when the setting changes stay in use.
    """

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
