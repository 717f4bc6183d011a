"""The authors of the lines of a file."""

from __future__ import annotations

from typing import ClassVar, Literal

from agent_ls.server.protocol.base import Params, Wire


class BlameOrigin(Wire):
    """The call that wrote lines. `message` is the user's message of its turn."""

    session_id: str
    turn_id: str
    call_id: str
    message: str
    model: str
    time: str
    decision: Literal["", "kept", "pending", "edited"]


class BlamedRange(Wire):
    """Lines [start, end) from 0 of one author. `origin` is an index of `origins`, for the agent's lines only."""

    range: tuple[int, int]
    author: Literal["user", "agent", "unknown"]
    origin: int | None = None


class Blame(Params):
    """Returns who wrote the lines of a file, as it is in the editor."""

    method: ClassVar[str] = "agent/blame"
    uri: str


class BlameResult(Wire):
    """`version` is that of the synced document, None if the file is not open."""

    ranges: tuple[BlamedRange, ...]
    origins: tuple[BlameOrigin, ...]
    version: int | None = None
