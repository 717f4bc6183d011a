"""Pure: the subagents of a stored session: their histories, and their calls and texts that had not ended at
the end of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agent_ls.loop.calls.summaries import output_summary
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Envelope,
    ReasoningEnd,
    ReasoningStart,
    RecordedEvent,
    SubagentChanged,
    ToolCallEnd,
    ToolCallStart,
    UserInput,
)
from agent_ls.loop.restored import RestoredAgent
from agent_ls.loop.turns import AssistantTurn, Turn

CUT = (
    "Interrupted: agent-ls ended while this call was running. The call may have had part of its effect: check "
    "before you repeat it."
)
ENDED = "agent-ls ended before this agent had finished."


@dataclass(slots=True)
class StoredAgent:
    """A subagent of a stored session. `changed` is the last event about the subagent, `parent` the id of the
    agent that started it, "" for the main agent.

    `parts` and `calls` contain the texts and tool calls without an end event. `unrecorded_chars` counts the ended
    texts and the arguments of calls of an answer that is no turn yet.
    """

    turns: list[Turn] = field(default_factory=list)
    changed: SubagentChanged | None = None
    parent: str = ""
    parts: dict[str, AssistantTextStart | ReasoningStart] = field(default_factory=dict)
    calls: dict[str, ToolCallStart] = field(default_factory=dict)
    unrecorded_chars: int = 0

    @property
    def calls_model(self) -> bool:
        is_running = self.changed is not None and self.changed.status == "running"
        return is_running and bool(self.turns) and not isinstance(self.turns[-1], AssistantTurn)


class StoredAgents:
    """The subagents of a session by id, in the order of their start."""

    def __init__(self) -> None:
        self._agents: dict[str, StoredAgent] = {}
        self._cut: set[str] = set()

    @property
    def cut(self) -> list[SubagentChanged]:
        """The subagents that ended, unfinished, with the last turn or with the process."""
        ended = [agent.changed for agent in self._agents.values() if agent.changed]
        return [
            it
            for it in ended
            if it.status == "running" or (it.reason == "interrupted" and it.agent_id in self._cut)
        ]

    def turn(self, agent_id: str, turn: Turn) -> None:
        agent = self._agent(agent_id)
        agent.turns.append(turn)
        agent.unrecorded_chars = 0

    def event(self, envelope: Envelope) -> None:
        """Apply an event that a subagent emitted, or an event about a subagent."""
        match envelope.event:
            case SubagentChanged() as changed:
                agent = self._agent(changed.agent_id)
                agent.changed, agent.parent = changed, envelope.agent_id
                if changed.reason == "interrupted":
                    self._cut.add(changed.agent_id)
            case UserInput() if not envelope.agent_id:
                self._cut.clear()
            case AssistantTextStart() | ReasoningStart() as start:
                self._agent(envelope.agent_id).parts[start.part_id] = start
            case AssistantTextEnd(part_id=part_id, text=text) | ReasoningEnd(part_id=part_id, text=text):
                agent = self._agent(envelope.agent_id)
                agent.parts.pop(part_id, None)
                agent.unrecorded_chars += len(text)
            case ToolCallStart() as call:
                agent = self._agent(envelope.agent_id)
                agent.calls[call.call_id] = call
                agent.unrecorded_chars += len(call.arguments)
            case ToolCallEnd(call_id=call_id):
                self._agent(envelope.agent_id).calls.pop(call_id, None)
            case _:
                pass

    def make_end_events(self, said: dict[str, str]) -> Iterator[tuple[str, RecordedEvent]]:
        """Yield the end events of texts, calls and subagents that had not ended when the log ended.

        Each event is paired with the id of the agent that emits it, "" for the main agent. `said` maps the id
        of each open part to its text so far.
        """
        for agent_id, agent in self._agents.items():
            for part_id, start in agent.parts.items():
                end = AssistantTextEnd if isinstance(start, AssistantTextStart) else ReasoningEnd
                yield agent_id, end(part_id, said.get(part_id, ""), interrupted=True)
            for call in agent.calls.values():
                yield agent_id, _end(call)
        for agent in self._agents.values():
            if agent.changed and agent.changed.status == "running":
                yield agent.parent, _make_ended(agent.changed)

    def find_cut_calls(self, said: dict[str, str]) -> Iterator[tuple[str, int]]:
        """Yield each subagent whose model call ran when the log ended, and the number of characters of its answer."""
        for agent_id, agent in self._agents.items():
            if agent.calls_model:
                open_parts = (len(said.get(part_id, "")) for part_id in agent.parts)
                yield agent_id, agent.unrecorded_chars + sum(open_parts)

    def restored(self) -> tuple[RestoredAgent, ...]:
        return tuple(
            RestoredAgent(
                _make_ended(agent.changed) if agent.changed.status == "running" else agent.changed,
                tuple(agent.turns),
                agent.parent,
            )
            for agent in self._agents.values()
            if agent.changed
        )

    def _agent(self, agent_id: str) -> StoredAgent:
        return self._agents.setdefault(agent_id, StoredAgent())


def _make_ended(running: SubagentChanged) -> SubagentChanged:
    return replace(running, status="failed", reason="interrupted", output=ENDED)


def _end(call: ToolCallStart) -> ToolCallEnd:
    return ToolCallEnd(
        call_id=call.call_id,
        name=call.name,
        output=CUT,
        summary=output_summary(CUT),
        is_error=True,
        error_kind="interrupted",
        duration_ms=0,
        output_chars=len(CUT),
        index=call.index,
        input_summary=call.summary,
    )
