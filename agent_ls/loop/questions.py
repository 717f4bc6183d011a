"""Where questions to the user wait: of the model (ask_user), and of the loop itself when a limit is reached (L15, H18).

As with approvals, a question is an event that any client may answer; the first answer wins, and a question of a call
outlives its process (R4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio
from anyio.lowlevel import checkpoint

from agent_ls.loop.events import EndReason, QuestionAnswered, QuestionAsked, RecordedEvent, State
from agent_ls.loop.ids import new_id
from agent_ls.loop.inbox import Input
from agent_ls.loop.turns import AssistantTurn, Turn
from agent_ls.tools.base import Question, Reply

_CLOSING = re.compile(r"[\s*_`\"'”’»)\]]+$")


class UnknownQuestionError(Exception):
    """No question of this id is known here."""

    hint = "agent/subscribe tells in pending.questions what waits for an answer"


class BadAnswerError(Exception):
    """An answer that says nothing, or more than was asked for. Nothing is settled."""

    kind = "invalid_params"
    hint = "give one answer, or several where the question takes them, or decline it"


@dataclass(slots=True)
class _Open:
    event: QuestionAsked
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    answered: QuestionAnswered | None = None
    is_restored: bool = False


class QuestionDesk:
    """ADAPTER Questions. `emit` records and publishes an event of the session."""

    def __init__(self, emit: Callable[[RecordedEvent], object]) -> None:
        self._emit = emit
        self._questions: dict[str, _Open] = {}

    async def ask(self, question: Question, call_id: str) -> Reply:
        """A call asks once: what an earlier process asked for it is not asked again, and may be answered by now.

        So it is with a turn that paused at a limit (`call_id` ""), but it may pause again.
        """
        of_call = (it for it in self._questions.values() if it.event.call_id == call_id)
        open_ = next((it for it in of_call if call_id or it.is_restored), None) or self._asked(
            question, call_id
        )
        open_.is_restored = False
        await open_.is_answered.wait()
        answered = open_.answered
        if answered and answered.decided_by == "interrupt":
            await checkpoint()  # the turn is being stopped: its call is no answered one
        return Reply(answered.answers, answered.declined) if answered else Reply((), declined=True)

    def restore(self, event: QuestionAsked) -> None:
        """One that waits, though this process has not asked it."""
        self._questions[event.question_id] = _Open(event, is_restored=True)

    def answer(
        self, question_id: str, answers: Sequence[str], *, declined: bool, by: str, client_key: str = ""
    ) -> QuestionAnswered:
        """Settles a question. The first answer wins: a later one gets that which stands.

        Raises:
            UnknownQuestionError, BadAnswerError.
        """
        open_ = self._questions.get(question_id)
        if open_ is None:
            raise UnknownQuestionError(
                f"No question {question_id} is known in this session. It may have ended."
            )
        if open_.answered:
            return open_.answered
        said = tuple(text.strip() for text in answers if text.strip())
        if not said and not declined:
            raise BadAnswerError("the answer is empty")
        if len(said) > 1 and not open_.event.multiple:
            raise BadAnswerError("this question takes one answer")
        return self._settle(open_, () if declined else said, declined=declined, by=by, client_key=client_key)

    def reply(self, asked: QuestionAsked, text: str, client_key: str) -> None:
        """A message that was sent while it waits (L15)."""
        self.answer(asked.question_id, (text,), declined=False, by="submit", client_key=client_key)

    def stop(self) -> None:
        """The user has stopped the turn: what it asked, or would ask once more, is void."""
        for open_ in self._questions.values():
            if open_.answered is None:
                self._settle(open_, (), declined=True, by="interrupt")

    def pending(self) -> tuple[QuestionAsked, ...]:
        """What waits for an answer, oldest first."""
        return tuple(it.event for it in self._questions.values() if it.answered is None)

    def _asked(self, question: Question, call_id: str) -> _Open:
        event = QuestionAsked(
            new_id("qu"), call_id, question.text, question.choices, question.multiple, question.purpose
        )
        open_ = self._questions[event.question_id] = _Open(event)
        self._emit(event)
        return open_

    def _settle(
        self, open_: _Open, answers: tuple[str, ...], *, declined: bool, by: str, client_key: str = ""
    ) -> QuestionAnswered:
        open_.answered = QuestionAnswered(open_.event.question_id, answers, declined, by, client_key)
        self._emit(open_.answered)
        open_.is_answered.set()
        return open_.answered


def resting_state(reason: EndReason, turns: Sequence[Turn], queue: Sequence[Input]) -> State:
    """The state between turns: a label that says who has the word (L15)."""
    last = turns[-1] if turns else None
    asks = isinstance(last, AssistantTurn) and ends_with_question(last.content)
    return "AWAITING_INPUT" if reason == "completed" and asks and not queue else "IDLE"


def ends_with_question(text: str) -> bool:
    """Whether the last sentence is a question, whatever mark-up closes it (L15)."""
    return _CLOSING.sub("", text).endswith(("?", "？", "؟"))
