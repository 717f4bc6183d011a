"""How a session tells: events are numbered, encoded once, recorded, and only then published.

Deltas are published but not recorded; the text of each open part is kept (as pieces: a delta costs the same
however long its part is), for those who come late and for the log, which gets it about once a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio

from agent_ls.loop import event_codec
from agent_ls.loop.events import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    ProcessingEnd,
    ReasoningEnd,
    ReasoningStart,
    RecordedEvent,
    SessionEnd,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.ids import SessionId
from agent_ls.loop.proposed import Proposed
from agent_ls.loop.seams import Clock, Recorder
from agent_ls.loop.subscription import Encoded, Subscription

PARTIAL_INTERVAL_S = 1.0

DeltaKind: TypeAlias = Literal[
    "assistant_text_delta", "reasoning_delta", "tool_call_args_delta", "tool_call_output_delta"
]


def args_part(call_id: str) -> str:
    return f"{call_id}:args"


def output_part(call_id: str) -> str:
    return f"{call_id}:out"


@dataclass(slots=True)
class OpenPart:
    """A part that has started and not ended. `pieces` joined are its text, `length` is its code points."""

    kind: DeltaKind
    name: str
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    is_dirty: bool = False

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class EventHub:
    """The one place where a session's events come from. `turn_id` is that of the running turn, or ""."""

    def __init__(self, session_id: SessionId, recorder: Recorder, clock: Clock, last_seq: int = 0) -> None:
        self.turn_id = ""
        self.last_seq = last_seq
        self._session_id = session_id
        self._recorder = recorder
        self._clock = clock
        self._open: dict[str, OpenPart] = {}
        self._asked: dict[str, str] = {}
        self._proposed = Proposed()
        self._subscriptions: list[Subscription] = []
        self._has_dirty = anyio.Event()

    def emit(self, event: RecordedEvent) -> Envelope:
        envelope = Envelope(self._session_id, self.last_seq + 1, self._clock.now(), event, self.turn_id)
        data = event_codec.encode(envelope)
        self.last_seq += 1
        self._recorder.event(envelope, data)
        self._follow(event)
        encoded = Encoded(envelope, data)
        for subscription in self._subscriptions:
            subscription.push(encoded)
        if isinstance(event, SessionEnd):
            self._end_subscriptions()
        return envelope

    def ask_again(self, requests: Iterable[ApprovalRequested], proposed: Mapping[str, str]) -> None:
        """These were told by the process before, and wait still: for answers, and hunks of calls for verdicts."""
        self._asked.update({request.request_id: request.call_id for request in requests})
        self._proposed.again(proposed)

    @property
    def asked(self) -> Collection[str]:
        """The ids of the calls about which a person is asked at this moment, or whose changes he is to look at."""
        return (*self._asked.values(), *self._proposed.calls)

    def emit_delta(self, delta: Delta) -> None:
        part = self._open.get(delta.part_id) or self.open_part(delta.kind, delta.part_id, delta.name)
        part.pieces.append(delta.text)
        part.length += len(delta.text)
        if not part.is_dirty:
            part.is_dirty = True
            self._has_dirty.set()
        if self._subscriptions:
            encoded = Encoded(
                Envelope(self._session_id, None, self._clock.now(), delta, self.turn_id, after=self.last_seq)
            )
            for subscription in self._subscriptions:
                subscription.push(encoded)

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None:
        """A piece of a part: its delta goes on where the part ends. `name` "" is the name that it was opened with."""
        if text:
            part = self._open.get(part_id)
            length, opened_as = (part.length, part.name) if part else (0, "")
            self.emit_delta(Delta(kind, part_id, length, text, name or opened_as))

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "") -> OpenPart:
        part = self._open[part_id] = OpenPart(kind, name)
        return part

    def close_part(self, part_id: str) -> None:
        """For a part that no event ends: arguments of a call that was cut."""
        self._open.pop(part_id, None)

    def text_of(self, part_id: str) -> str:
        """The text so far of an open part, "" when there is none."""
        part = self._open.get(part_id)
        return part.text() if part else ""

    def open_parts(self) -> tuple[Delta, ...]:
        return tuple(Delta(part.kind, id_, 0, part.text(), part.name) for id_, part in self._open.items())

    def subscribe(self) -> Subscription:
        subscription = Subscription(self._forget)
        self._subscriptions.append(subscription)
        return subscription

    async def keep_partials(self) -> None:
        """Writes open texts to the log, at most once a second each; runs until cancelled."""
        while True:
            await self._has_dirty.wait()
            await self._clock.sleep(PARTIAL_INTERVAL_S)
            self._has_dirty = anyio.Event()
            for part_id, part in list(self._open.items()):
                # Unfinished arguments are worth nothing to a resumed session: their call never runs.
                if part.is_dirty and part.kind != "tool_call_args_delta":
                    self._recorder.partial(part_id, part.text())
                part.is_dirty = False

    def _follow(self, event: RecordedEvent) -> None:
        self._proposed.follow(event)
        match event:
            case AssistantTextStart(part_id=part_id):
                self.open_part("assistant_text_delta", part_id)
            case ReasoningStart(part_id=part_id):
                self.open_part("reasoning_delta", part_id)
            case AssistantTextEnd(part_id=part_id) | ReasoningEnd(part_id=part_id):
                self._open.pop(part_id, None)
            case ToolCallStart(call_id=call_id):
                self._open.pop(args_part(call_id), None)
            case ToolCallEnd(call_id=call_id):
                self._open.pop(output_part(call_id), None)
            case ApprovalRequested(request_id=request_id, call_id=call_id):
                self._asked[request_id] = call_id
            case ApprovalResolved(request_id=request_id):
                self._asked.pop(request_id, None)
            case ProcessingEnd() | SessionEnd():
                self._open.clear()
                self._asked.clear()
            case _:
                pass

    def _forget(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _end_subscriptions(self) -> None:
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []
