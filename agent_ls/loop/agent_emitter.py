"""Wrappers around a session's emitter, recorder and approver that add the id of a subagent.

A subagent ends with its parent's turn at the latest. A cancelled turn waits until its subagents have ended.
Then each running call of a subagent gets an end event, and the subagents' pending approval requests are denied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent_ls.llm.messages import ImagePart, ToolResultPart
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Approver, Decision
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.emission import DeltaKind, EventEmitter
from agent_ls.loop.events.types import ApprovalRequested, Envelope, RecordedEvent
from agent_ls.loop.seams import NestedDocuments, Recorder
from agent_ls.loop.turns import Turn


class AgentEmitter:
    """Emits a subagent's events and deltas through the session's emitter. Implements Emitter."""

    def __init__(self, emitter: EventEmitter, agent_id: str) -> None:
        self._emitter = emitter
        self._agent_id = agent_id

    @property
    def turn_id(self) -> str:
        return self._emitter.turn_id

    @property
    def waiting_calls(self) -> Collection[str]:
        return ()

    def emit(self, event: RecordedEvent) -> Envelope:
        return self._emitter.emit(event, self._agent_id)

    def append(self, kind: DeltaKind, part_id: str, text: str, name: str = "") -> None:
        self._emitter.append(kind, part_id, text, name)

    def open_part(self, kind: DeltaKind, part_id: str, name: str = "") -> object:
        return self._emitter.open_part(kind, part_id, name, self._agent_id)

    def close_part(self, part_id: str) -> None:
        self._emitter.close_part(part_id)

    def text_of(self, part_id: str) -> str:
        return self._emitter.text_of(part_id)


class AgentRecorder:
    """Records a subagent's turns and outputs. Implements Recorder.

    The methods that record the state of a suspended turn do nothing, because a subagent is never suspended.
    """

    def __init__(self, recorder: Recorder, agent_id: str) -> None:
        self._recorder = recorder
        self._agent_id = agent_id

    @property
    def problem(self) -> str:
        return self._recorder.problem

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

    async def output(self, call_id: str, text: str, missing_bytes: int = 0) -> str:
        return await self._recorder.output(call_id, text, missing_bytes)

    def result(self, call_id: str, result: ToolResultPart) -> None:
        return None

    def images(self, message_id: str, images: Sequence[ImagePart]) -> None:
        return None

    def record_read(self, path: str, digest: str) -> None:
        return None

    async def sync(self) -> None:
        await self._recorder.sync()


class AgentApprover:
    """Passes questions to the session's approver, with the id of the subagent that asks.

    Implements Approver.
    """

    def __init__(self, approver: Approver, agent_id: str) -> None:
        self._approver = approver
        self._agent_id = agent_id

    async def decide(self, question: ApprovalQuestion) -> Decision:
        return await self._approver.decide(replace(question, agent_id=self._agent_id))

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        return await self._approver.allow_unasked(replace(question, agent_id=self._agent_id))

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        asked = question and replace(question, agent_id=self._agent_id)
        return await self._approver.resume(request, asked)


class NoNotices:
    """The notice board of a subagent. It is always empty, because notices about the subagent's hunks are sent
    to the main agent.

    Implements NoticeBoard.
    """

    async def collect(self) -> None:
        return None

    def take_messages(self) -> Sequence[str]:
        return ()


class AgentDocuments:
    """The project's instructions for subfolders, requested for one subagent.

    Each request carries the subagent's id, so that the subagent also gets instructions that only its parent has
    received so far. Implements NestedDocuments.
    """

    def __init__(self, documents: NestedDocuments, agent_id: str) -> None:
        self._documents = documents
        self._agent_id = agent_id

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        return await self._documents.for_paths(paths, family, agent_id or self._agent_id)

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        self._documents.forget_compacted(kept, agent_id or self._agent_id)
