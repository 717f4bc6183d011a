"""Pure: the parts of a followed session that have started and not ended, with the text that its owner has recorded.

Deltas are never in a log. While a part is streamed, the owner records its new text about once a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_ls.loop.emission import output_part
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    ProcessingEnd,
    ReasoningEnd,
    ReasoningStart,
    SessionEnd,
    ToolCallEnd,
    ToolCallStart,
)


@dataclass(slots=True)
class RunningPart:
    """A part whose text so far is `so_far`, a delta from its beginning. `start` is the envelope of its start."""

    start: Envelope
    so_far: Delta


@dataclass(slots=True)
class RunningParts:
    """The running parts of a session, in the order of their starts. `since` is the number of the last event that
    all subscribers know already, with the text of the parts that began before.
    """

    since: int
    _open: dict[str, RunningPart] = field(default_factory=dict)

    def follow(self, envelope: Envelope) -> None:
        """Note the start or the end of a part."""
        match envelope.event:
            case AssistantTextStart(part_id=part_id):
                self._begin(envelope, Delta("assistant_text_delta", part_id, 0, ""))
            case ReasoningStart(part_id=part_id):
                self._begin(envelope, Delta("reasoning_delta", part_id, 0, ""))
            case ToolCallStart(call_id=call_id):
                # the record does not say from which stream the output comes
                self._begin(envelope, Delta("tool_call_output_delta", output_part(call_id), 0, "", "stdout"))
            case AssistantTextEnd(part_id=part_id) | ReasoningEnd(part_id=part_id):
                self._open.pop(part_id, None)
            case ToolCallEnd(call_id=call_id):
                self._open.pop(output_part(call_id), None)
            case ProcessingEnd() | SessionEnd():
                self._open.clear()
            case _:
                pass

    def _begin(self, start: Envelope, so_far: Delta) -> None:
        if (start.seq or 0) > self.since:
            self._open[so_far.part_id] = RunningPart(start, so_far)

    def extend(self, record: Mapping[str, Any], now: str, after: int) -> Envelope | None:
        """Add the text of a record of the log. Return the delta for subscribers, None if there is no new text.

        Raises:
            KeyError, TypeError: the record has no text of a part.
        """
        part, offset, text = self._open.get(record["partId"]), record["offset"], record["text"]
        if part is None or not text or offset != len(part.so_far.text):
            return None
        known, start = part.so_far, part.start
        part.so_far = Delta(known.kind, known.part_id, 0, known.text + text, known.name)
        delta = Delta(known.kind, known.part_id, offset, text, known.name)
        return Envelope(start.session_id, None, now, delta, start.turn_id, start.agent_id, after=after)

    def so_far(self) -> Sequence[tuple[Delta, str]]:
        """Return the text so far of each part that has some, and the id of its subagent."""
        return [(it.so_far, it.start.agent_id) for it in self._open.values() if it.so_far.text]
