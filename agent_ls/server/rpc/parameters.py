"""Read the parameters of messages, and the types that several standard LSP messages use."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from agent_ls.server.lsp.from_lsp import mended_action
from agent_ls.server.protocol import Wire
from agent_ls.server.transport.errors import InvalidParamsError

M = TypeVar("M", bound=BaseModel)


def read_params(model: type[M], method: str, raw: Any) -> M:
    """Return the parameters of a message.

    Raises:
        InvalidParamsError: the message names the fields, without their values, which may be a prompt or an API key.
    """
    try:
        return model.model_validate({} if raw is None else raw)
    except ValidationError as invalid:
        problems = (f"{'.'.join(map(str, it['loc'])) or 'params'}: {it['msg']}" for it in invalid.errors())
        raise InvalidParamsError(method, "; ".join(problems)) from None


class Document(Wire):
    uri: str


class Position(Wire):
    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(Wire):
    start: Position
    end: Position

    def in_order(self) -> tuple[Position, Position]:
        """Return start and end in document order; for a selection made upwards, the client may send the end
        first.
        """
        start, end = self.start, self.end
        is_backwards = (end.line, end.character) < (start.line, start.character)
        return (end, start) if is_backwards else (start, end)


class ClientProblem(Wire):
    """A diagnostic of any language server, which the editor sends with its request for code actions."""

    range: Range
    message: str
    source: Any = None


class ActionContext(Wire):
    only: tuple[str, ...] | None = None
    diagnostics: tuple[ClientProblem, ...] = ()


class CodeAction(Wire):
    text_document: Document
    range: Range
    context: ActionContext = ActionContext()

    @model_validator(mode="before")
    @classmethod
    def _mend(cls, raw: Any) -> Any:
        return mended_action(raw)


class Command(Wire):
    command: str
    arguments: tuple[Any, ...] | None = None
