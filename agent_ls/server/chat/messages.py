"""Parameters of the standard LSP messages that the chat of plugin-free clients handles. Unknown fields are
ignored.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from agent_ls.server.lsp.from_lsp import mended_action


class _Sent(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, defer_build=True
    )


class Position(_Sent):
    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(_Sent):
    start: Position
    end: Position

    def in_order(self) -> tuple[Position, Position]:
        """Return start and end in document order; for a selection made upwards, the client may send the end
        first.
        """
        start, end = self.start, self.end
        is_backwards = (end.line, end.character) < (start.line, start.character)
        return (end, start) if is_backwards else (start, end)


class Document(_Sent):
    uri: str


class ClientProblem(_Sent):
    """A diagnostic of any language server, which the editor sends with its request for code actions."""

    range: Range
    message: str
    source: str | None = None


class ActionContext(_Sent):
    only: tuple[str, ...] | None = None
    diagnostics: tuple[ClientProblem, ...] = ()


class CodeAction(_Sent):
    text_document: Document
    range: Range
    context: ActionContext = ActionContext()

    @model_validator(mode="before")
    @classmethod
    def _mend(cls, raw: Any) -> Any:
        return mended_action(raw)


class CodeLens(_Sent):
    text_document: Document


class CompletionParams(_Sent):
    text_document: Document
    position: Position


class Hover(_Sent):
    text_document: Document
    position: Position


class BlamedPlace(_Sent):
    uri: str
    line: int = Field(ge=0)


class ProgressCancel(_Sent):
    token: str | int


class Command(_Sent):
    command: str
    arguments: tuple[Any, ...] | None = None


class ChatCommand(_Sent):
    """A command about the chat document `uri`. `uri` None means the only open chat document."""

    uri: str | None = None


class SendCommand(ChatCommand):
    """Sends the message that is written in the chat. `worktree`: if the message creates a session, it works in
    a new git worktree, with the uncommitted changes ("current") or without ("head").
    """

    worktree: Literal["current", "head"] | None = None


class QuestionAnswer(_Sent):
    """The user's answer to a question of the agent, in the chat `uri`."""

    question_id: str
    answer: str = Field(min_length=1)
    uri: str | None = None


class PlanAcceptance(_Sent):
    """Accepts the plan in the chat `uri`; the agent carries it out in `mode`."""

    mode: Literal["ask", "edits"]
    uri: str | None = None


class Approval(_Sent):
    session_id: str | None = None
    request_id: str
    rule_id: str = ""
    scope: Literal["once", "turn", "session"] = "once"
    reason: str = ""


class Denial(_Sent):
    """Denies one request, or all pending ones if `requestId` is missing."""

    request_id: str | None = None
    reason: str = ""


class HunkCommand(_Sent):
    hunk_ids: tuple[str, ...] | None = None
    uri: str | None = None
    confirm: bool = False
    comment: str = ""


class MentionCommand(_Sent):
    """Mentions the lines [first, end) of a document in the chat with the URI `chat`.

    If `command` is not empty, a message with the command, the text `about` and the mention is sent at once.
    """

    uri: str
    chat: str | None = None
    first: int = Field(ge=0)
    end: int = Field(ge=0)
    command: Literal["", "fix", "explain"] = ""
    about: str = ""
