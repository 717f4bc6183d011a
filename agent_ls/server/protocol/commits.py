"""Messages of commits."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from agent_ls.server.protocol.base import Params, Wire


class CommitMessage(Params):
    """Writes a message for the staged changes of a git repository, or for all changes if none are staged, by one model
    call. Nothing is staged or committed.
    """

    method: ClassVar[str] = "agent/commitMessage"
    folder: str | None = None
    draft: str = Field(default="", max_length=10_000)


class CommitMessageResult(Wire):
    message: str
    staged: bool
