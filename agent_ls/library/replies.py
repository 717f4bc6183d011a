"""Answer a session's requests with the program's callbacks. Decline requests that have no callback."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from anyio.abc import TaskGroup

from agent_ls.argument_types import find_misuse
from agent_ls.library.streams import with_origin
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.errors import SessionError
from agent_ls.loop.events.types import (
    DECIDED_BY_PROGRAM,
    ApprovalRequested,
    Hunk,
    HunkStateChanged,
    QuestionAsked,
    Warning,
)
from agent_ls.loop.questions import BadAnswerError
from agent_ls.own_code import error_words
from agent_ls.program_calls import call_program
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.review.decision_request import Selection
from agent_ls.services.review.service import ReviewService
from agent_ls.sessions.live import LiveSession
from agent_ls.text import join_sentences, to_display_line

log = logging.getLogger(__name__)

Approver: TypeAlias = Callable[[ApprovalRequested], Awaitable[ApprovalAnswer | bool] | ApprovalAnswer | bool]
"""A callback that approves or denies effects that the mode does not allow. An exception or a value of
another type denies the effect.
"""

Answerer: TypeAlias = Callable[
    [QuestionAsked], Awaitable[str | Sequence[str] | None] | str | Sequence[str] | None
]
"""A callback that answers a question of the model. It returns a text, or None to decline. It may return several
texts if the question allows several answers.
"""

LimitExtender: TypeAlias = Callable[[QuestionAsked], Awaitable[bool] | bool]
"""A callback that decides whether a turn that has reached a limit continues, until it reaches the limit again."""

ChangeReviewer: TypeAlias = Callable[[Sequence[Hunk]], Awaitable[bool] | bool]
"""A callback that decides whether proposed changes (`review="before"`) are applied."""

ANSWER = "answer"
"""The name of what a callback returns, in messages."""

ANSWERS: TypeAlias = str | list[str] | tuple[str, ...] | None

NOBODY = (
    "nobody can approve actions in this session; work without this one, or say in your answer what you need"
)
NO_REVIEWER = "a program runs this session and passed no `review_changes`, so nobody can review the change"


@dataclass(frozen=True, slots=True)
class ProgramCallbacks:
    """The program's callbacks. If a callback is None, its requests are declined.

    With `answers_later`, they instead stay pending until the program calls a method of the session.
    """

    approve: Approver | None = None
    answer: Answerer | None = None
    extend_limit: LimitExtender | None = None
    review_changes: ChangeReviewer | None = None
    answers_later: bool = False

    def is_left(self, callback: object) -> bool:
        """Return whether requests for `callback` stay pending: it is None, and the program answers later by a
        method.
        """
        return callback is None and self.answers_later


class Replies:
    """Answers each request in a separate task, so that one callback does not delay another."""

    def __init__(
        self, live: LiveSession, review: ReviewService, callbacks: ProgramCallbacks, tasks: TaskGroup
    ) -> None:
        self._live = live
        self._review = review
        self._callbacks = callbacks
        self._tasks = tasks
        self._reviewed: set[str] = set()

    async def run(self) -> None:
        """Answer pending requests, then each new request, until the session ends."""
        for request in self._live.approver.pending():
            self._tasks.start_soon(self._begin_restored, request)
        for question in self._live.session.questions.pending():
            self._begin(question)
        self._tasks.start_soon(self._review_proposals)
        with self._live.session.subscribe() as events:
            async for item in events:
                self._begin(with_origin(item.envelope))

    async def _begin_restored(self, request: ApprovalRequested) -> None:
        """Answer a request of an earlier program, unless the policy of now refuses its call."""
        if await self._live.approver.approvals.is_to_answer(request.request_id):
            self._begin(request)

    def _begin(self, event: object) -> None:
        callbacks = self._callbacks
        match event:
            case ApprovalRequested() if not callbacks.is_left(callbacks.approve):
                self._tasks.start_soon(self._approve, event)
            case QuestionAsked(purpose="limit") if not callbacks.is_left(callbacks.extend_limit):
                self._tasks.start_soon(self._extend, event)
            case QuestionAsked(purpose="question") if not callbacks.is_left(callbacks.answer):
                self._tasks.start_soon(self._reply, event)
            case HunkStateChanged(hunks=hunks) if any(hunk.state == "proposed" for hunk in hunks):
                self._tasks.start_soon(self._review_proposals)

    async def _approve(self, request: ApprovalRequested) -> None:
        answer, reason = await self._ask("approve", request, object, without=NOBODY)
        approver = self._live.approver
        if not reason:
            try:
                approver.answer(request.request_id, as_answer(answer))
                return
            except (AppError, SessionError) as error:
                reason = _unusable("approve", error)
        # otherwise, the turn was stopped while the callback decided
        if any(it.request_id == request.request_id for it in approver.pending()):
            approver.answer(request.request_id, as_answer(ApprovalAnswer("deny", reason=reason)))

    async def _extend(self, question: QuestionAsked) -> None:
        goes_on, reason = await self._ask("extend_limit", question, bool)
        self._give(question, question.choices[:1] if goes_on is True else (), reason)  # the first goes on

    async def _reply(self, question: QuestionAsked) -> None:
        answer, reason = await self._ask("answer", question, ANSWERS)
        self._give(question, (answer,) if isinstance(answer, str) else answer or (), reason)

    def _give(self, question: QuestionAsked, answers: Sequence[str], reason: str) -> None:
        """Answer a question. Decline it if there is no answer, or with a warning because of `reason`."""
        questions = self._live.session.questions
        said = tuple(text for text in answers if text.strip())
        if not reason:
            try:
                questions.answer(question.question_id, said, declined=not said, by=DECIDED_BY_PROGRAM)
                return
            except BadAnswerError as error:
                reason = _unusable("answer", error)
        self._warn(reason)
        if question.purpose == "question":
            self._live.notice(f"The question was not answered: {reason}.")
        questions.answer(question.question_id, (), declined=True, by=DECIDED_BY_PROGRAM)

    async def _review_proposals(self) -> None:
        callback = self._callbacks.review_changes
        if self._callbacks.is_left(callback):
            return
        proposed = [
            hunk
            for hunk in _all(self._review.open_hunks(session_id=self._live.id).values())
            if hunk.state == "proposed" and hunk.id not in self._reviewed
        ]
        # Proposals of calls that have ended are not passed to the callback. They wait for a later review.
        hunks = [hunk for hunk in proposed if self._live.approver.is_reviewed_first(hunk.call_id)]
        if not hunks:
            return
        self._reviewed.update(hunk.id for hunk in hunks)
        keeps, reason = await self._ask("review_changes", tuple(hunks), bool, without=NO_REVIEWER)
        if reason and callback:
            self._warn(reason)
        await self._review.review(
            "keep" if keeps is True else "undo",
            Selection(hunk_ids=[hunk.id for hunk in hunks]),
            comment=reason,
        )

    async def _ask(self, name: str, subject: object, wanted: object, *, without: str = "") -> tuple[Any, str]:
        """Return the answer of the callback `name`, and why there is none: `without` if there is no callback."""
        callback: Callable[[Any], Any] | None = getattr(self._callbacks, name)
        if callback is None:
            return None, without
        try:
            answer = await call_program(callback, subject)
        # the callback is the program's code: if it fails, the request is declined
        except Exception as error:
            return None, _failure(name, error)
        if misuse := find_misuse(ANSWER, answer, wanted):
            return None, _unusable(name, BadChoiceError(*misuse))
        return answer, ""

    def _warn(self, reason: str) -> None:
        self._live.emit(Warning(f"Denied: {reason}.", "program"))


def as_answer(answer: ApprovalAnswer | bool) -> ApprovalAnswer:
    """Return the answer of a program to an approval request, decided by the program unless it names somebody.

    Raises:
        BadChoiceError: the answer has a wrong type or value, or a rule without a scope, or a scope without a rule.
    """
    if misuse := find_misuse(ANSWER, answer, ApprovalAnswer | bool):
        raise BadChoiceError(*misuse)
    if isinstance(answer, bool):
        answer = ApprovalAnswer("allow" if answer is True else "deny")
    if (answer.scope == "once") is bool(answer.rule_id):
        raise BadChoiceError(
            f"{ANSWER}.scope: {answer.scope!r} does not fit the rule_id {answer.rule_id!r}",
            "a rule of request.rules gives both: scope=rule.scope, rule_id=rule.id",
        )
    return answer if answer.decided_by else replace(answer, decided_by=DECIDED_BY_PROGRAM)


def _failure(name: str, error: Exception) -> str:
    """Return which callback raised what, and log its traceback."""
    words = f"the `{name}` callback of the program raised {error_words(error)}"
    log.error("%s", words, exc_info=error)
    return words


def _unusable(name: str, error: AppError | SessionError) -> str:
    """Return which callback returned what cannot be used, and log it with what to return."""
    words = (
        f"the `{name}` callback of the program returned what cannot be used: {to_display_line(str(error))}"
    )
    log.error("%s", join_sentences(words, error.hint))
    return words.rstrip(".")


def _all(groups: Iterable[Sequence[Hunk]]) -> Iterable[Hunk]:
    return (hunk for group in groups for hunk in group)
