"""Refuse effects while the session's log cannot be written, unless the user allows them."""

from __future__ import annotations

import anyio

from agent_ls.loop.events.types import Error
from agent_ls.loop.seams import Recorder
from agent_ls.tools.base import Question, QuestionAsker

GO_ON = "Continue without a log"
STOP = "Stop here"


class LogGuard:
    """A guard against effects that cannot be logged, shared by all agents of a session.

    `refusal` is the error that refuses all effects in the running turn, None if effects are allowed.
    """

    def __init__(self, recorder: Recorder, questions: QuestionAsker) -> None:
        self.refusal: Error | None = None
        self._recorder = recorder
        self._questions = questions
        self._is_allowed = False
        self._asking = anyio.Lock()

    def begin(self) -> None:
        """Clear the refusal at the start of a turn, because the user may have freed disk space."""
        self.refusal = None

    async def may_act(self) -> bool:
        """Return whether a call may change anything now.

        If the log cannot be written, ask the user once whether to continue. A "yes" holds until the log can
        be written again, a "no" at most until the end of the turn.
        """
        async with self._asking:
            problem = self._recorder.problem
            if not problem:
                self._is_allowed, self.refusal = False, None
                return True
            if self._is_allowed or self.refusal:
                return self._is_allowed
            text = f"The session's log cannot be written ({problem}). Continue without a log?"
            reply = await self._questions.ask(Question(text, (GO_ON, STOP), purpose="limit"), "")
            self._is_allowed = not reply.declined and GO_ON in reply.answers
            if not self._is_allowed:
                self.refusal = Error(
                    f"Stopped: the session's log cannot be written ({problem}).",
                    "not_recorded",
                    "Free disk space or make the log file writable, then send a message to continue.",
                    retryable=True,
                    action="retry",
                )
            return self._is_allowed
