"""What a subagent is connected to: the session's own hub, recorder and approver, with the agent's name on everything.

A subagent ends with its parent's turn at the latest, so nothing of it outlives a cancellation: its calls always get
their end, and what it asks a person is settled then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent_ls.llm.messages import ImagePart, ToolResultPart
from agent_ls.loop.approval import ApprovalQuestion, Approver, Decision
from agent_ls.loop.emission import DeltaKind, EventHub
from agent_ls.loop.events import ApprovalRequested, Envelope, RecordedEvent
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.seams import Recorder
from agent_ls.loop.turns import Turn


class AgentVoice:
    """ADAPTER Voice."""

    def __init__(self, hub: EventHub, agent_id: str) -> None:
        self._hub = hub
        self._agent_id = agent_id

    @property
    def turn_id(self) -> str:
        return self._hub.turn_id

    @property
    def asked(self) -> Collection[str]:
        return ()

    def emit(self, event: RecordedEvent) -> Envelope:
        return self._hub.emit(event, self._agent_id)

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None:
        self._hub.append(kind, part_id, text, name)

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "") -> object:
        return self._hub.open_part(kind, part_id, name, self._agent_id)

    def close_part(self, part_id: str) -> None:
        self._hub.close_part(part_id)

    def text_of(self, part_id: str) -> str:
        return self._hub.text_of(part_id)


class AgentRecorder:
    """ADAPTER Recorder. What only a suspended turn would need is not kept: a subagent is never suspended."""

    def __init__(self, recorder: Recorder, agent_id: str) -> None:
        self._recorder = recorder
        self._agent_id = agent_id

    def event(self, envelope: Envelope, encoded: bytes) -> None:
        self._recorder.event(envelope, encoded)

    def turn(self, turn: Turn) -> None:
        self._recorder.agent_turn(self._agent_id, turn)

    def agent_turn(self, agent_id: str, turn: Turn) -> None:
        self._recorder.agent_turn(agent_id, turn)

    def prompt(self, system_prompt: str) -> None:
        return None

    def prefix(self, prefix: Prefix) -> None:
        return None

    def partial(self, part_id: str, text: str) -> None:
        self._recorder.partial(part_id, text)

    def output(self, call_id: str, text: str) -> str:
        return self._recorder.output(call_id, text)

    def result(self, call_id: str, result: ToolResultPart) -> None:
        return None

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        return None

    def shown(self, path: str, digest: str) -> None:
        return None

    async def sync(self) -> None:
        await self._recorder.sync()


class AgentApprover:
    """ADAPTER Approver: the session's own decides, and a person is told who asks."""

    def __init__(self, approver: Approver, agent_id: str) -> None:
        self._approver = approver
        self._agent_id = agent_id

    async def decide(self, question: ApprovalQuestion) -> Decision:
        return await self._approver.decide(replace(question, agent_id=self._agent_id))

    async def is_free(self, question: ApprovalQuestion) -> bool:
        return await self._approver.is_free(replace(question, agent_id=self._agent_id))

    async def resume(self, request: ApprovalRequested) -> Decision:
        return await self._approver.resume(request)


class NoNotices:
    """ADAPTER NoticeBoard: verdicts on a subagent's hunks are for its parent, who answers for them."""

    async def look(self) -> None:
        return None

    def take(self) -> Sequence[str]:
        return ()
