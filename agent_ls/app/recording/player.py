"""What the user did in a recorded session, done again where he did it: at the same calls of the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agent_ls.app.live_session import LiveSession
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested, ProcessingEnd, QuestionAsked

ActName: TypeAlias = Literal["steer", "follow_up"]
Timed: TypeAlias = tuple[int, Mapping[str, Any]]
"""An event, as JSON, and how many calls of the model had begun before it."""


@dataclass(slots=True)
class Input:
    """`before` is steered while nothing ran; `begins_at` is how many calls there had been."""

    text: str
    begins_at: int
    before: Sequence[str] = ()


@dataclass(slots=True)
class Course:
    """`during` is done while that call (counted from 1) is answered; the answers to `interrupted` calls were cut."""

    inputs: list[Input] = field(default_factory=list)
    during: dict[int, list[tuple[ActName, str]]] = field(default_factory=dict)
    interrupted: set[int] = field(default_factory=set)
    approvals: deque[Mapping[str, Any]] = field(default_factory=deque)
    questions: deque[Mapping[str, Any]] = field(default_factory=deque)


def course_of(events: Sequence[Timed]) -> Course:
    course = Course()
    taken_back = {event["data"]["steerId"] for _, event in events if event["kind"] == "steering_removed"}
    queued_at: dict[str, int] = {}
    waiting: list[str] = []
    is_busy = False
    for calls, event in events:
        data = event["data"]
        match event["kind"]:
            case "user_input" if is_busy:
                at = queued_at.get(data.get("queuedId", ""), calls)
                course.during.setdefault(at, []).append(("follow_up", data["text"]))
            case "user_input":
                course.inputs.append(Input(data["text"], calls, tuple(waiting)))
                is_busy, waiting = True, []
            case "queue":
                for item in data["items"]:
                    queued_at.setdefault(item["queuedId"], calls)
            case "steering_queued" if data["steerId"] not in taken_back:
                if is_busy:
                    course.during.setdefault(calls, []).append(("steer", data["text"]))
                else:
                    waiting.append(data["text"])
            case "processing_end":
                is_busy = False
                if data["reason"] == "interrupted":
                    course.interrupted.add(calls)
            case "approval_resolved":
                course.approvals.append(data)
            case "question_answered":
                course.questions.append(data)
    return course


class Player:
    """Plays a course to a live session. The model's stand-in says when a call begins, and where one was cut."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._live: LiveSession | None = None

    async def play(self, live: LiveSession) -> None:
        self._live = live
        for each in self._course.inputs:
            if live.session.is_closing:
                return
            for text in each.before:
                live.session.steer(text)
            with live.session.subscribe() as events:
                live.session.submit(each.text)
                self.call_begins(each.begins_at)
                async for item in events:
                    event = item.envelope.event
                    if isinstance(event, ProcessingEnd):
                        break
                    if isinstance(event, ApprovalRequested | QuestionAsked):
                        self._answer(live, event)

    def call_begins(self, number: int) -> None:
        """`number` counts from 1; what was done before the first call is done at 0."""
        for act, text in self._course.during.pop(number, ()):
            if self._live:
                getattr(self._live.session, act)(text)

    def was_cut(self, number: int) -> bool:
        """Whether the user stopped the turn at this call; then it is stopped here."""
        if number not in self._course.interrupted or not self._live:
            return False
        self._live.session.interrupt()
        return True

    def _answer(self, live: LiveSession, asked: ApprovalRequested | QuestionAsked) -> None:
        course = self._course
        if isinstance(asked, ApprovalRequested):
            resolved = course.approvals.popleft() if course.approvals else {"decision": "deny"}
            live.desk.answer(asked.request_id, _as_answered(resolved))
            return
        reply = course.questions.popleft() if course.questions else {}
        live.session.questions.answer(
            asked.question_id,
            tuple(reply.get("answers", ())),
            declined=bool(reply.get("declined", True)),
            by=str(reply.get("decidedBy", "replay")),
        )


def _as_answered(recorded: Mapping[str, Any]) -> Answer:
    # Rules have ids of their own session: what they went on to allow was not asked about again, and is answered so.
    return Answer(
        "allow" if recorded["decision"] == "allow" else "deny",
        reason=str(recorded.get("reason", "")),
        rule_id=str(recorded.get("ruleId", "")),
        scope=recorded.get("scope", "once"),
        decided_by=str(recorded.get("decidedBy", "replay")),
    )
