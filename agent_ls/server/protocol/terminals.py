"""Commands that run in terminals, and the client's answers to requests of the server."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire


class Terminals(Params):
    """Lists commands of a session: those that run, and background commands that have ended."""

    method: ClassVar[str] = "agent/terminals"
    session_id: str


class TerminalInfo(Wire):
    terminal_id: str
    call_id: str
    command: str
    background: bool
    pid: int | None = None
    exit_code: int | None = None
    started_ms: int
    waiting: bool = False


class TerminalsResult(Wire):
    terminals: tuple[TerminalInfo, ...]


class TerminalKill(Params):
    method: ClassVar[str] = "agent/terminalKill"
    session_id: str
    client_key: str = ""
    terminal_id: str


class TerminalInput(Params):
    """Sends input to the terminal of a command."""

    method: ClassVar[str] = "agent/terminalInput"
    session_id: str
    client_key: str = ""
    terminal_id: str
    data: str


class TerminalResize(Params):
    """Reports the size of the client's view of a command's output. Not needed for a terminal of the editor,
    which knows its size.
    """

    method: ClassVar[str] = "agent/terminalResize"
    session_id: str
    client_key: str = ""
    terminal_id: str
    columns: int = Field(ge=1, le=10_000)
    rows: int = Field(ge=1, le=10_000)


class TerminalOutput(Params):
    """Returns the output of a command from `offset` on, counted in code points."""

    method: ClassVar[str] = "agent/terminalOutput"
    session_id: str
    terminal_id: str
    offset: int = Field(default=0, ge=0)


class TerminalOutputResult(Wire):
    text: str
    next_offset: int
    running: bool
    exit_code: int | None = None


class ClientAnswer(Params):
    """Answers a `client_request`: an event that is not recorded, sent to one client, answered once.

    Its data: `{requestId, clientId, what, params, deadlineMs}`. The requests are `save {documents: [{uri,
    version}]}` (each only while it has that version; result `{saved: [uri], failed: [{uri, reason}]}`),
    `editNotebook {uri, cellCount, texts, splices}` (docs/protocol/requests.md; result `{}`), `checkTime
    {uris}` (reload these files where they are shown; result `{}`), `terminalOpen {terminalId, argv, cwd,
    title}` (open a terminal that runs `argv` as given, without taking the focus; result `{}`) and
    `terminalRuns {terminalId, callId}` (the command of this call runs there now; result `{}`).
    """

    method: ClassVar[str] = "agent/clientAnswer"
    session_id: str
    request_id: str
    result: dict[str, Any] | None = None
    error: str | None = None
