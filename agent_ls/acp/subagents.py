"""Convert the events of a session and of its subagents to updates, each for the session that it belongs to. Pure.

For a client that follows subagents, each subagent is a session of its own that its parent announces with
`subagent_update`. Other clients get a subagent as a tool call of the session (updates.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agent_ls.acp.errors import INTERNAL
from agent_ls.acp.updates import TITLE_CHARS, Update, UpdateMapper, message_id
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    Envelope,
    SteeringInjected,
    SubagentChanged,
    UserInput,
)

Sent: TypeAlias = tuple[str, Update]
"""An update, after the id of its session."""

_STOP_REASONS = {
    "": "end_turn", "limit": "max_turn_requests", "refused": "refusal", "error": "error", "interrupted": "cancelled",
    "closed": "cancelled", "stopped": "cancelled",
}  # fmt: skip


def split_id(session_id: str) -> tuple[str, str]:
    """Return the ids of session and subagent that the id of a subagent's session consists of; "" for no subagent."""
    parent, _, agent_id = session_id.partition(":")
    return parent, agent_id


@dataclass(slots=True)
class _Child:
    """A subagent that was announced. `asking`: its open approvals."""

    mapper: UpdateMapper
    parent: str
    asking: set[str] = field(default_factory=set)


class SessionMappers:
    """The mappers of one session and its subagents. `make` returns a mapper for a session id."""

    def __init__(
        self, session_id: str, make: Callable[[str], UpdateMapper], *, follows_subagents: bool
    ) -> None:
        self.main = make(session_id)
        self._make = make
        self._follows = follows_subagents
        self._children: dict[str, _Child] = {}

    @property
    def has_output(self) -> bool:
        """Whether output of a command waits to be sent by `outputs`."""
        return any(mapper.has_output for mapper in self._mappers())

    def set_replay(self, is_replay: bool) -> None:
        for mapper in self._mappers():
            mapper.is_replay = is_replay

    def of_call(self, call_id: str) -> UpdateMapper:
        """Return the mapper of the session that a tool call belongs to."""
        return next((mapper for mapper in self._mappers() if mapper.knows(call_id)), self.main)

    def feed(self, envelope: Envelope) -> Iterator[Sent]:
        """Yield the updates of an event."""
        event = envelope.event
        if self._follows and isinstance(event, SubagentChanged):
            yield from self._changed(event, envelope)
        elif child := self._children.get(envelope.agent_id):
            yield from _of_child(child, envelope)
        else:
            yield from ((self.main.session_id, update) for update in self.main.feed(envelope))

    def outputs(self) -> Iterator[Sent]:
        """Yield the latest output of running commands, for clients that display no terminals."""
        for mapper in self._mappers():
            yield from ((mapper.session_id, update) for update in mapper.outputs())

    def _mappers(self) -> Iterator[UpdateMapper]:
        yield self.main
        yield from (child.mapper for child in self._children.values())

    def _session_of(self, agent_id: str) -> str:
        child = self._children.get(agent_id)
        return child.mapper.session_id if child else self.main.session_id

    def _changed(self, event: SubagentChanged, envelope: Envelope) -> Iterator[Sent]:
        parent = self._session_of(envelope.agent_id)
        child = self._children.get(event.agent_id)
        if child is None:
            mapper = self._make(f"{self.main.session_id}:{event.agent_id}")
            mapper.is_replay = self.main.is_replay
            child = self._children[event.agent_id] = _Child(mapper, parent)
        if event.status == "running":
            about: Update = {
                "title": " ".join(event.task.split())[:TITLE_CHARS],
                "description": event.agent_kind or None,
                "cwd": event.working_dir,
                "capabilities": {"cancel": {}},
            }
            yield _state(child, {"state": "running"}, **about)
            yield _message(child, event.task, envelope, parent)
            return
        idle: Update = {"state": "idle", "stopReason": _STOP_REASONS[event.reason]}
        if event.reason == "error":
            idle["error"] = {"code": INTERNAL, "message": event.output}
        yield _state(child, idle, capabilities=None)


def _of_child(child: _Child, envelope: Envelope) -> Iterator[Sent]:
    match envelope.event:
        case UserInput():
            return  # its parent's message, which was sent when it began
        case SteeringInjected(text=text):
            yield _message(child, text, envelope)
            return
        case ApprovalRequested(request_id=request_id):
            child.asking.add(request_id)
            yield _state(child, {"state": "requires_action"})
        case ApprovalResolved(request_id=request_id) if request_id in child.asking:
            child.asking.discard(request_id)
            if not child.asking:
                yield _state(child, {"state": "running"})
    for update in child.mapper.feed(replace(envelope, agent_id="")):
        yield child.mapper.session_id, update


def _state(child: _Child, state: Update, **more: object) -> Sent:
    update = {"sessionUpdate": "subagent_update", "sessionId": child.mapper.session_id, "state": state}
    return child.parent, {**update, **more}


def _message(child: _Child, text: str, envelope: Envelope, sender: str = "") -> Sent:
    """Return a message to a subagent. `sender` is the id of the session that sent it; "" for not known."""
    child_id = child.mapper.session_id
    update: Update = {
        "sessionUpdate": "session_message",
        "messageId": message_id(child_id, f"e{envelope.seq}"),
        "recipientSessionId": child_id,
        "content": [{"type": "text", "text": text}],
    }
    return child_id, update | ({"senderSessionId": sender} if sender else {})
