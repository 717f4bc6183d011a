"""Emit a session's events: each event is numbered, encoded once, recorded, and only then published.

Deltas are published but not recorded. The text of each open part is kept in memory for late subscribers and
is written to the log about once a second. The text is stored as a list of pieces, so that the cost of adding
a delta does not grow with the text.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

import anyio

from agent_ls.loop.calls.approval import asks_for_trust
from agent_ls.loop.calls.redaction import Known, known_end, none_known, redact_line, without_known
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.proposals import ProposedHunks
from agent_ls.loop.events.subscription import EncodedEvent, Subscription
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    Error,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    ReasoningEnd,
    ReasoningStart,
    RecordedEvent,
    Retry,
    SessionEnd,
    SessionStart,
    TerminalExit,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    Warning,
)
from agent_ls.loop.ids import SessionId
from agent_ls.loop.seams import Clock, Recorder
from agent_ls.loop.turn_facts import TurnEvidence

log = logging.getLogger(__name__)

PARTIAL_INTERVAL_S = 1.0
SYNC_DELAY_S = 0.1
"""Time between the end of a turn and the flush of the log. Turns that follow at once would compete with a flush."""

DeltaKind: TypeAlias = Literal[
    "assistant_text_delta", "reasoning_delta", "tool_call_args_delta", "tool_call_output_delta"
]


def args_part(call_id: str) -> str:
    return f"{call_id}:args"


def output_part(call_id: str) -> str:
    return f"{call_id}:out"


class Emitter(Protocol):
    """Interface for emitting events of one agent: the session's EventEmitter, or a subagent's AgentEmitter."""

    @property
    def turn_id(self) -> str: ...

    @property
    def waiting_calls(self) -> Collection[str]:
        """Ids of the agent's calls that wait for the user. A cancellation does not end these calls."""
        ...

    def emit(self, event: RecordedEvent) -> Envelope: ...

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None: ...

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "") -> object: ...

    def close_part(self, part_id: str) -> None: ...

    def text_of(self, part_id: str) -> str: ...


@dataclass(slots=True)
class UnfinishedPart:
    """A part that has started and not ended. Its text is the joined `pieces`; `length` counts its code points.

    `held` is text that is not published yet, because it may be a prefix of a secret key. The event that ends
    the part contains the whole text.
    """

    kind: DeltaKind
    name: str
    agent_id: str = ""
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    is_dirty: bool = False
    held: str = ""

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class EventEmitter:
    """The single emitter of a session's events. `turn_id` is the id of the running turn, or "".

    An event of a subagent carries the subagent's id: the id passed to `emit`, or else the id of the agent that
    made the event's call. Services that emit events about a call therefore do not need to know which agent made
    the call. `secrets` returns the secret keys to redact in every event. `evidence` follows all events.
    """

    def __init__(
        self,
        session_id: SessionId,
        recorder: Recorder,
        clock: Clock,
        last_seq: int = 0,
        secrets: Known = none_known,
        evidence: TurnEvidence | None = None,
    ) -> None:
        self.turn_id = ""
        self.last_seq = last_seq
        self._session_id = session_id
        self._recorder = recorder
        self._clock = clock
        self._secrets = secrets
        self._open: dict[str, UnfinishedPart] = {}
        self._asked: dict[str, str] = {}
        self._proposed = ProposedHunks()
        self.evidence = evidence or TurnEvidence()
        self._agents: dict[str, str] = {}
        self._subscriptions: list[Subscription] = []
        self._is_over = False
        self._has_dirty = anyio.Event()
        self._is_sync_due = False

    def emit(self, event: RecordedEvent, agent_id: str = "") -> Envelope:
        """Number, redact, record and publish an event. If `agent_id` is "", the agent that made the event's
        call is used.
        """
        agent_id = agent_id or self._agent_of(event)
        now = self._clock.now()
        envelope = Envelope(self._session_id, self.last_seq + 1, now, event, self.turn_id, agent_id)
        data = event_codec.encode(envelope)
        if (clean := redact_line(data, self._secrets())) != data:
            data, envelope = clean, event_codec.decode(clean) or envelope
        # If this raises, the event is not published, and the next event gets the same number.
        self._recorder.event(envelope, data)
        self.last_seq += 1
        self._follow(event, agent_id)
        encoded = EncodedEvent(envelope, data)
        for subscription in self._subscriptions:
            subscription.push(encoded)
        if log.isEnabledFor(logging.INFO) and (said := log_line(envelope)):
            log.info("%s", said)
        if isinstance(event, SessionEnd):
            self._end_subscriptions()
        return envelope

    def emit_facts(self) -> None:
        """Emit what the running turn has changed and checked, if anything."""
        if facts := self.evidence.facts():
            self.emit(facts)

    def ask_again(
        self,
        requests: Iterable[ApprovalRequested],
        questions: Iterable[QuestionAsked],
        proposed: Mapping[str, str],
    ) -> None:
        """Restore the open approvals, questions and proposed hunks that an earlier process emitted.
        `proposed` maps the id of each undecided hunk to the id of its call.
        """
        self._asked.update({request.request_id: request.call_id for request in requests})
        self._asked.update({question.question_id: question.call_id for question in questions})
        self._proposed.restore(proposed)

    @property
    def waiting_calls(self) -> Collection[str]:
        """Ids of the calls that wait for the user: for an answer or for a decision about their changes. "" is
        the turn itself, which waits before a model call.

        Calls of subagents are left out, because a subagent ends with the turn, and so do its questions.
        """
        waiting = (*self._asked.values(), *self._proposed.calls)
        return [call_id for call_id in waiting if call_id not in self._agents]

    def emit_delta(self, delta: Delta) -> None:
        """Publish a delta without recording it, and add its text to the open part."""
        part = self._open.get(delta.part_id) or self.open_part(delta.kind, delta.part_id, delta.name)
        delta = self._without_keys(delta, part)
        if not delta.text:
            return
        part.pieces.append(delta.text)
        part.length += len(delta.text)
        if not part.is_dirty:
            part.is_dirty = True
            self._has_dirty.set()
        if self._subscriptions:
            encoded = self._enveloped(delta, part.agent_id)
            for subscription in self._subscriptions:
                subscription.push(encoded)

    def _enveloped(self, delta: Delta, agent_id: str) -> EncodedEvent:
        now = self._clock.now()
        return EncodedEvent(
            Envelope(self._session_id, None, now, delta, self.turn_id, agent_id, after=self.last_seq)
        )

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None:
        """Append text to a part and publish the text as a delta. If `name` is "", the part's current name is
        used.
        """
        if text:
            part = self._open.get(part_id)
            length, opened_as = (part.length, part.name) if part else (0, "")
            self.emit_delta(Delta(kind, part_id, length, text, name or opened_as))

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "", agent_id: str = "") -> UnfinishedPart:
        agent_id = agent_id or self._agents.get(part_id.rpartition(":")[0], "")
        part = self._open[part_id] = UnfinishedPart(kind, name, agent_id)
        return part

    def close_part(self, part_id: str) -> None:
        """Close a part that gets no end event: the arguments of a call whose stream broke off."""
        self._open.pop(part_id, None)

    def text_of(self, part_id: str) -> str:
        """Return the current text of an open part, "" if no part with this id is open."""
        part = self._open.get(part_id)
        return part.text() + part.held if part else ""

    def _without_keys(self, delta: Delta, part: UnfinishedPart) -> Delta:
        """Return the delta without secret keys, and with only the text that may be published now.

        The end of the text is held back if it may be a prefix of a key.
        """
        known = self._secrets()
        if not known:
            return delta
        text = without_known(part.held + delta.text, known)
        end = known_end(text, known)
        part.held = text[end:]
        same = end == len(delta.text) and text == delta.text and delta.offset == part.length
        return delta if same else replace(delta, text=text[:end], offset=part.length)

    def open_parts(self) -> tuple[Delta, ...]:
        return tuple(Delta(part.kind, id_, 0, part.text(), part.name) for id_, part in self._open.items())

    def subscribe(self, *, open_parts: bool = False) -> Subscription:
        subscription = Subscription(self._forget)
        for delta in self.open_parts() if open_parts else ():
            subscription.push(self._enveloped(delta, self._open[delta.part_id].agent_id))
        self._subscriptions.append(subscription)
        if self._is_over:
            self._end_subscriptions()
        return subscription

    async def keep_partials(self) -> None:
        """Write the text of each open part to the log, at most once a second. Runs until cancelled."""
        while True:
            await self._has_dirty.wait()
            await self._clock.sleep(PARTIAL_INTERVAL_S)
            self._has_dirty = anyio.Event()
            for part_id, part in list(self._open.items()):
                # Unfinished arguments are of no use to a resumed session, because their call never runs.
                if part.is_dirty and part.kind != "tool_call_args_delta":
                    self._recorder.partial(part_id, part.text())
                part.is_dirty = False

    async def sync_soon(self) -> None:
        """Flush the log to the disk in a moment, once for all turns that end until then."""
        if not self._is_sync_due:
            self._is_sync_due = True
            await self._clock.sleep(SYNC_DELAY_S)
            self._is_sync_due = False
            await self._recorder.sync()

    def agent_of_part(self, part_id: str) -> str:
        """Return the id of the subagent that an open part belongs to, "" for the main agent."""
        part = self._open.get(part_id)
        return part.agent_id if part else ""

    def _agent_of(self, event: RecordedEvent) -> str:
        match event:
            case ApprovalResolved(request_id=request_id):
                call_id = self._asked.get(request_id, "")
            case TerminalExit(terminal_id=terminal_id):
                call_id = terminal_id
            case _:
                call_id = getattr(event, "call_id", "")
        return self._agents.get(call_id, "")

    def _follow(self, event: RecordedEvent, agent_id: str) -> None:
        """Update the open parts, the pending requests, and the map of calls to agents from an event."""
        self._proposed.follow(event)
        self.evidence.follow(event)
        match event:
            case AssistantTextStart(part_id=part_id):
                self.open_part("assistant_text_delta", part_id, agent_id=agent_id)
            case ReasoningStart(part_id=part_id):
                self.open_part("reasoning_delta", part_id, agent_id=agent_id)
            case AssistantTextEnd(part_id=part_id) | ReasoningEnd(part_id=part_id):
                self._open.pop(part_id, None)
            case ToolCallStart(call_id=call_id):
                self._open.pop(args_part(call_id), None)
                if agent_id:
                    self._agents[call_id] = agent_id
            case ToolCallEnd(call_id=call_id):
                self._open.pop(output_part(call_id), None)
            case ApprovalRequested() as asked if asked.call_id or asks_for_trust(asked):
                self._asked[asked.request_id] = asked.call_id
            case QuestionAsked(question_id=question_id, call_id=call_id):
                # The call id is "" for a question about a limit.
                self._asked[question_id] = call_id
            case ApprovalResolved(request_id=asked_id) | QuestionAnswered(question_id=asked_id):
                self._asked.pop(asked_id, None)
            case ProcessingEnd() | SessionEnd():
                self._open.clear()
                self._asked.clear()
            case _:
                pass

    def _forget(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """End all subscriptions when the `with` block ends, even if session_end was not recorded because
        another process owns the log.
        """
        try:
            yield
        finally:
            self._end_subscriptions()

    def _end_subscriptions(self) -> None:
        self._is_over = True
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []


def log_line(envelope: Envelope) -> str:
    """Return the line for the process log, "" for an event that is not logged.

    It contains only numbers and names, no text from the user, the model or a file.
    """
    match envelope.event:
        case SessionStart(provider=provider, model=model, resumed=resumed):
            said = f"session {'resumed' if resumed else 'begun'} provider={provider} model={model}"
        case UsageReport(call=usage, duration_ms=duration_ms, first_output_ms=first_ms):
            said = (
                f"model_call ms={duration_ms} first_output_ms={first_ms} input={usage.input_tokens} "
                f"output={usage.output_tokens} cache_read={usage.cache_read_tokens}"
            )
        case ToolCallEnd(name=name, duration_ms=duration_ms, error_kind=kind, output_chars=chars):
            said = f"tool name={name} ms={duration_ms} chars={chars} result={kind or 'ok'}"
        case ApprovalResolved(decision=decision, decided_by=by):
            said = f"approval decision={decision} by={by}"
        case Retry(attempt=attempt, delay_ms=delay_ms, error_kind=kind):
            said = f"retry attempt={attempt} delay_ms={delay_ms} error={kind}"
        case Error(error_kind=kind):
            said = f"error kind={kind}"
        case Warning(code=code):
            said = f"warning code={code}"
        case ProcessingEnd(reason=reason):
            said = f"turn_end reason={reason}"
        case SessionEnd(reason=reason):
            said = f"session_end reason={reason}"
        case _:
            return ""
    who = f" agent={envelope.agent_id}" if envelope.agent_id else ""
    return f"{said} session={envelope.session_id} turn={envelope.turn_id}{who}"
