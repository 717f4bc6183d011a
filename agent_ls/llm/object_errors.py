"""The error of an answer that is not the object that was wanted."""

from __future__ import annotations

from agent_ls.llm.errors import LlmError
from agent_ls.llm.requests import Usage


class NoObjectGeneratedError(LlmError):
    """The model's answer is not JSON or does not match the schema; `text` is the answer, `usage` what it used (None if
    unknown).
    """

    kind = "no_object"

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        usage: Usage | None = None,
        provider: str = "",
        model: str = "",
    ) -> None:
        super().__init__(
            message, provider=provider, model=model, hint="Ask again, or simplify the schema or the request."
        )
        self.text = text
        self.usage = usage
