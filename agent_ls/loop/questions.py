"""Open questions to the user: from the model (ask_user), or from the loop when a limit is reached.

A question is sent as an event; any client may answer it, and the first answer wins. A question that a tool call
asks stays open when the session's process ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
from anyio.lowlevel import checkpoint

from agent_ls.loop.answer_limit import BY_TIMEOUT, AnswerLimit
from agent_ls.loop.errors import SessionError
from agent_ls.loop.events.types import EndReason, QuestionAnswered, QuestionAsked, RecordedEvent, State
from agent_ls.loop.ids import new_id
from agent_ls.loop.inbox import Input
from agent_ls.loop.turns import AssistantTurn, Turn
from agent_ls.text import bare_words
from agent_ls.tools.base import Question, QuestionReply

_CLOSING = "*_`\"'”’»)]!！\u200d\ufe0f"
"""Quotes, brackets and markup after a sentence, and a second mark (`?!`)."""


class UnknownQuestionError(SessionError):
    """The session has no question with this id."""

    hint = "the question may already be answered: the conversation lists the open questions"


class BadAnswerError(SessionError):
    """An answer that is empty, that has several entries although the question takes only one, or that is none of the
    choices at a limit.

    The question stays open.
    """

    kind = "invalid_params"
    hint = "give one answer, several answers if the question allows them, or decline the question"


@dataclass(slots=True)
class _Open:
    """A question and its state. `answered` is None for an open question."""

    event: QuestionAsked
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    answered: QuestionAnswered | None = None
    is_restored: bool = False


class PendingQuestions:
    """The session's open questions.

    Implements Questions. `emit` records and publishes an event of the session. A question without an answer within
    `limit` is declined by `timeout`.
    """

    def __init__(self, emit: Callable[[RecordedEvent], object], limit: AnswerLimit) -> None:
        self._emit = emit
        self._limit = limit
        self._questions: dict[str, _Open] = {}

    async def ask(self, question: Question, call_id: str) -> QuestionReply:
        """Ask the user and wait for the answer.

        If an earlier process asked the same question for this call, that question is reused, and its answer
        may already exist. A turn that paused at a limit (`call_id` "") reuses the restored question once; at
        the next limit it asks a new question.
        """
        of_call = (it for it in self._questions.values() if it.event.call_id == call_id)
        same = (it for it in of_call if (it.event.question == question.text if call_id else it.is_restored))
        open_ = next(same, None) or self._add_question(question, call_id)
        open_.is_restored = False
        await self._limit.wait(
            open_.is_answered, lambda _: self._resolve(open_, (), declined=True, by=BY_TIMEOUT)
        )
        answered = open_.answered
        if answered and answered.decided_by == "interrupt":
            # The turn is being stopped: raise the cancellation instead of returning an answer.
            await checkpoint()
        return (
            QuestionReply(answered.answers, answered.declined, answered.decided_by)
            if answered
            else QuestionReply((), declined=True)
        )

    def restore(self, event: QuestionAsked) -> None:
        """Add an open question that an earlier process asked."""
        self._questions[event.question_id] = _Open(event, is_restored=True)

    def answer(
        self, question_id: str, answers: Sequence[str], *, declined: bool, by: str, client_key: str = ""
    ) -> QuestionAnswered:
        """Answer a question. The first answer wins: every later caller gets the first answer as the result.

        Raises:
            UnknownQuestionError, BadAnswerError.
        """
        open_ = self._questions.get(question_id)
        if open_ is None:
            raise UnknownQuestionError(
                f"No question {question_id} is open in this session. The question may have been answered or cancelled."
            )
        if open_.answered:
            return open_.answered
        said = tuple(text.strip() for text in answers if text.strip())
        if not said and not declined:
            raise BadAnswerError("the answer is empty")
        if len(said) > 1 and not open_.event.multiple:
            raise BadAnswerError("this question accepts only one answer")
        if open_.event.purpose == "limit" and not declined:
            said = (choice_at_limit(open_.event, said[0]),)
            if not said[0]:
                raise BadAnswerError(f"answer with one of: {', '.join(open_.event.choices)}")
        return self._resolve(open_, () if declined else said, declined=declined, by=by, client_key=client_key)

    def reply(self, text: str, client_key: str) -> bool:
        """Answer the oldest question with a message that the user sent while it was open. Returns False if no question
        takes the text: at a limit, only a choice is an answer.
        """
        for asked in self.pending():
            if asked.purpose != "limit" or choice_at_limit(asked, text):
                self.answer(asked.question_id, (text,), declined=False, by="submit", client_key=client_key)
                return True
        return False

    def stop(self) -> None:
        """Close all open questions because the user stopped the turn."""
        for open_ in self._questions.values():
            if open_.answered is None:
                self._resolve(open_, (), declined=True, by="interrupt")

    def pending(self) -> tuple[QuestionAsked, ...]:
        """The questions without an answer, oldest first."""
        return tuple(it.event for it in self._questions.values() if it.answered is None)

    def _add_question(self, question: Question, call_id: str) -> _Open:
        event = QuestionAsked(
            new_id("qu"), call_id, question.text, question.choices, question.multiple, question.purpose
        )
        open_ = self._questions[event.question_id] = _Open(event)
        self._emit(event)
        return open_

    def _resolve(
        self, open_: _Open, answers: tuple[str, ...], *, declined: bool, by: str, client_key: str = ""
    ) -> QuestionAnswered:
        open_.answered = QuestionAnswered(open_.event.question_id, answers, declined, by, client_key)
        self._emit(open_.answered)
        open_.is_answered.set()
        return open_.answered


def choice_at_limit(asked: QuestionAsked, text: str) -> str:
    """Return the choice that a text names; "" for any other text, which must not spend more."""
    return next((it for it in asked.choices if bare_words(it) == bare_words(text)), "")


def resting_state(reason: EndReason, turns: Sequence[Turn], queue: Sequence[Input]) -> State:
    """Return the state of the session after the end of a turn.

    The state is AWAITING_INPUT if the turn was completed with a question to the user and no message is
    queued, otherwise IDLE.
    """
    last = turns[-1] if turns else None
    asks = isinstance(last, AssistantTurn) and ends_with_question(last.content)
    return "AWAITING_INPUT" if reason == "completed" and asks and not queue else "IDLE"


def ends_with_question(text: str) -> bool:
    """Return whether the last sentence is a question, ignoring what closes it."""
    last = next((char for char in reversed(text) if not _closes(char)), "")
    return last in ("?", "？", "؟")


def _closes(char: str) -> bool:
    is_pictograph = "\u2600" <= char <= "\u27bf" or "\U0001f000" <= char <= "\U0001faff"
    return char.isspace() or char in _CLOSING or is_pictograph
