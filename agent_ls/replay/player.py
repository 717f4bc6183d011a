"""Repeat the user's actions of a recorded session, each during the same model call as in the recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ProcessingEnd, QuestionAsked
from agent_ls.sessions.live import LiveSession

ActName: TypeAlias = Literal["steer", "follow_up"]
StopName: TypeAlias = Literal["interrupt", "abort"]
TimedEvent: TypeAlias = tuple[int, Mapping[str, Any]]
"""A pair of an event as JSON and the number of model calls that had begun before it."""

_STOPS: Mapping[str, StopName] = {"interrupted": "interrupt", "aborted": "abort"}


@dataclass(slots=True)
class RecordedInput:
    """A user message that started a turn. `begins_at` is the number of model calls before the message.

    `before` lists the steering messages that the user sent before it while no turn was running.
    """

    text: str
    begins_at: int
    before: Sequence[str] = ()


@dataclass(slots=True)
class RecordedUserActions:
    """The user's actions in a recording. `inputs` are the messages that started turns.

    `during` maps the number of a model call (from 1) to the other messages that the user sent during this call.
    `stops` maps the number of a model call that the user stopped to how it was stopped. `approvals` and `questions`
    list the user's answers as event data, in the order of the answers.
    """

    inputs: list[RecordedInput] = field(default_factory=list)
    during: dict[int, list[tuple[ActName, str]]] = field(default_factory=dict)
    stops: dict[int, StopName] = field(default_factory=dict)
    approvals: deque[Mapping[str, Any]] = field(default_factory=deque)
    questions: deque[Mapping[str, Any]] = field(default_factory=deque)


def extract_user_actions(events: Sequence[TimedEvent]) -> RecordedUserActions:
    course = RecordedUserActions()
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
                course.inputs.append(RecordedInput(data["text"], calls, tuple(waiting)))
                is_busy, waiting = True, []
            case "queue" | "queue_splice":
                for item in data["items"]:
                    queued_at.setdefault(item["queuedId"], calls)
            case "steering_queued" if data["steerId"] not in taken_back:
                if is_busy:
                    course.during.setdefault(calls, []).append(("steer", data["text"]))
                else:
                    waiting.append(data["text"])
            case "processing_end":
                is_busy = False
                if stop := _STOPS.get(data["reason"]):
                    course.stops[calls] = stop
            case "approval_resolved":
                course.approvals.append(data)
            case "question_answered":
                course.questions.append(data)
    return course


class UserActionPlayer:
    """Repeats the recorded actions in a live session.

    The replayed model invokes `call_begins` when a model call begins, and `stop_as_recorded` when the
    recorded response is incomplete.
    """

    def __init__(self, course: RecordedUserActions) -> None:
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
        """Perform the actions recorded during model call `number` (from 1), or before the first if it is 0."""
        for act, text in self._course.during.pop(number, ()):
            if self._live:
                getattr(self._live.session, act)(text)

    def stop_as_recorded(self, number: int) -> bool:
        """Stop the turn, or the session, as the user did in model call `number` (from 1) of the recording.

        Return whether it was stopped.
        """
        if number not in self._course.stops or not self._live:
            return False
        getattr(self._live.session, self._course.stops[number])()
        return True

    def _answer(self, live: LiveSession, asked: ApprovalRequested | QuestionAsked) -> None:
        course = self._course
        if isinstance(asked, ApprovalRequested):
            resolved = course.approvals.popleft() if course.approvals else {"decision": "deny"}
            live.approver.answer(asked.request_id, _recorded_answer(resolved))
            return
        reply = course.questions.popleft() if course.questions else {}
        live.session.questions.answer(
            asked.question_id,
            tuple(reply.get("answers", ())),
            declined=bool(reply.get("declined", True)),
            by=str(reply.get("decidedBy", "replay")),
        )


def _recorded_answer(recorded: Mapping[str, Any]) -> ApprovalAnswer:
    # A rule of the recorded session does not exist in the replay. If that rule allowed later requests without
    # asking the user, the recorded decisions answer these requests too.
    return ApprovalAnswer(
        "allow" if recorded["decision"] == "allow" else "deny",
        reason=str(recorded.get("reason", "")),
        rule_id=str(recorded.get("ruleId", "")),
        scope=recorded.get("scope", "once"),
        decided_by=str(recorded.get("decidedBy", "replay")),
    )
