"""Parameters of the LSP messages and of the commands that only the chat of plugin-free clients handles."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_ls.server.protocol import Wire
from agent_ls.server.rpc.parameters import Document, Position


class CodeLens(Wire):
    text_document: Document


class CompletionParams(Wire):
    text_document: Document
    position: Position


class Hover(Wire):
    text_document: Document
    position: Position


class BlamedPlace(Wire):
    uri: str
    line: int = Field(ge=0)


class ProgressCancel(Wire):
    token: str | int


class ChatCommand(Wire):
    """A command about the chat document `uri`. `uri` None means the only open chat document."""

    uri: str | None = None


class SendCommand(ChatCommand):
    """Sends the message that is written in the chat. `worktree`: if the message creates a session, it works in
    a new git worktree, with the uncommitted changes ("current") or without ("head").
    """

    worktree: Literal["current", "head"] | None = None


class QuestionAnswer(Wire):
    """The user's answer to a question of the agent, in the chat `uri`."""

    question_id: str
    answer: str = Field(min_length=1)
    uri: str | None = None


class PlanAcceptance(Wire):
    """Accepts the plan in the chat `uri`; the agent carries it out in `mode`."""

    mode: Literal["ask", "edits"]
    uri: str | None = None


class Approval(Wire):
    session_id: str | None = None
    request_id: str
    rule_id: str = ""
    scope: Literal["once", "turn", "session"] = "once"
    reason: str = ""


class Denial(Wire):
    """Denies one request, or all pending ones if `requestId` is missing."""

    request_id: str | None = None
    reason: str = ""


class HunkCommand(Wire):
    hunk_ids: tuple[str, ...] | None = None
    uri: str | None = None
    confirm: bool = False
    comment: str = ""


class MentionCommand(Wire):
    """Mentions the lines [first, end) of a document in the chat with the URI `chat`.

    If `command` is not empty, a message with the command, the text `about` and the mention is sent at once.
    """

    uri: str
    chat: str | None = None
    first: int = Field(ge=0)
    end: int = Field(ge=0)
    command: Literal["", "fix", "explain"] = ""
    about: str = ""
