"""Parameters of the standard messages that the stock face answers; read leniently, as editors send them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


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
        """A selection that was made upwards may begin with its end."""
        start, end = self.start, self.end
        is_backwards = (end.line, end.character) < (start.line, start.character)
        return (end, start) if is_backwards else (start, end)


class Document(_Sent):
    uri: str


class ActionContext(_Sent):
    only: tuple[str, ...] | None = None


class CodeAction(_Sent):
    text_document: Document
    range: Range
    context: ActionContext = ActionContext()


class CodeLens(_Sent):
    text_document: Document


class Completion(_Sent):
    text_document: Document
    position: Position


class ProgressCancel(_Sent):
    token: str | int


class Command(_Sent):
    command: str
    arguments: tuple[Any, ...] | None = None


class ChatCommand(_Sent):
    """`uri` of a chat document; without it the one that is open, if only one is."""

    uri: str | None = None


class Reply(_Sent):
    """The user's answer to a question of the agent's, in the chat `uri`."""

    question_id: str
    answer: str = Field(min_length=1)
    uri: str | None = None


class Approval(_Sent):
    session_id: str | None = None
    request_id: str
    rule_id: str = ""
    scope: Literal["once", "turn", "session"] = "once"
    reason: str = ""


class Denial(_Sent):
    """Without a `requestId` all that waits is denied."""

    request_id: str | None = None
    reason: str = ""


class Verdict(_Sent):
    hunk_ids: tuple[str, ...] | None = None
    uri: str | None = None
    confirm: bool = False
    comment: str = ""


class Ask(_Sent):
    """The lines [first, end) of a document, to be mentioned in the chat with the uri `chat`."""

    uri: str
    chat: str | None = None
    first: int = Field(ge=0)
    end: int = Field(ge=0)
