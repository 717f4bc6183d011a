"""The errors of a turn that a program waits for, and of the end of a session."""

from __future__ import annotations

from typing import Literal

from agent_ls.services.errors import AppError
from agent_ls.text import join_sentences


class CleanupError(AppError):
    """The session has ended, but the `cleanup` of the program's environment failed."""

    kind = "cleanup"


class TurnFailedError(RuntimeError):
    """Raised by `ask`: the turn failed, or ended at a limit.

    `reason` says which of the two. `kind` is the `error_kind` of the turn's `Error`, or the name of the limit;
    `hint` says what to do next. A turn with `retryable` True may succeed if it is asked again.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["error", "limit"],
        kind: str = "",
        hint: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.kind = kind
        self.hint = ""
        self.retryable = retryable
        if hint:
            self.add_hint(hint)

    def add_hint(self, hint: str) -> None:
        self.hint = join_sentences(self.hint, hint) if self.hint else hint
        self.__notes__ = [self.hint]  # the traceback of a program shows it
