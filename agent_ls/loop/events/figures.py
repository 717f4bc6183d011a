"""Pure: statistics of a session from its events: duration and usage of each model call, round and tool.

The statistics contain only numbers and names, no text from the user, the model or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from agent_ls.llm.requests import Usage
from agent_ls.loop.events.types import Envelope, Retry, ToolCallEnd, ToolCallStart, UsageReport


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One model call and the tool calls of its answer. Times are ms; None if not measured (older logs).

    `tools_ms` is the time from the start of the first call to the end of the last, including approvals; calls
    may overlap.
    """

    turn_id: str
    agent_id: str
    model_ms: int | None
    first_output_ms: int | None
    usage: Usage
    cost_usd: float | None
    retries: int
    tools_ms: int
    tool_calls: int
    failed_calls: int


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """All calls of one tool. `output_chars` is the size of their complete output."""

    name: str
    calls: int
    failed: int
    median_ms: float
    longest_ms: int
    output_chars: int


@dataclass(frozen=True, slots=True)
class Figures:
    """The statistics of a session: `rounds` in order, `tools` by total time, longest first."""

    rounds: tuple[RoundFigures, ...]
    tools: tuple[ToolFigures, ...]


def figures_of(envelopes: Iterable[Envelope]) -> Figures:
    """Return the statistics of a whole session. `envelopes` must begin with the first event of the session."""
    count = _Count()
    for envelope in envelopes:
        count.take(envelope)
    return count.figures()


@dataclass(slots=True)
class _Round:
    turn_id: str
    agent_id: str
    report: UsageReport | None = None
    retries: int = 0
    last_index: int = -1
    calls: int = 0
    failed: int = 0
    first_start: str = ""
    last_end: str = ""

    def figures(self) -> RoundFigures:
        report = self.report
        return RoundFigures(
            turn_id=self.turn_id,
            agent_id=self.agent_id,
            model_ms=report.duration_ms if report else None,
            first_output_ms=report.first_output_ms if report else None,
            usage=report.call if report else Usage(),
            cost_usd=report.call_cost_usd if report else None,
            retries=self.retries,
            tools_ms=_ms_between(self.first_start, self.last_end),
            tool_calls=self.calls,
            failed_calls=self.failed,
        )


@dataclass(slots=True)
class _Tool:
    times_ms: list[int] = field(default_factory=list)
    failed: int = 0
    output_chars: int = 0


class _Count:
    """Collects the statistics of each round from the events.

    A new round begins with a second usage report, or with a call whose index is not higher than the index of
    the last call.
    """

    def __init__(self) -> None:
        self._rounds: list[_Round] = []
        self._now: dict[str, _Round] = {}
        self._of_call: dict[str, _Round] = {}
        self._tools: dict[str, _Tool] = {}

    def take(self, envelope: Envelope) -> None:
        match envelope.event:
            case Retry():
                self._round(envelope, lambda now: now.report is not None).retries += 1
            case UsageReport() as report:
                self._round(envelope, lambda now: now.report is not None).report = report
            case ToolCallStart(call_id=call_id, index=index):
                now = self._round(envelope, lambda now: index <= now.last_index)
                now.last_index = index
                now.first_start = now.first_start or envelope.timestamp
                self._of_call[call_id] = now
            case ToolCallEnd() as end:
                self._end(end, envelope.timestamp)

    def _round(self, envelope: Envelope, is_over: Callable[[_Round], bool]) -> _Round:
        now = self._now.get(envelope.agent_id)
        if now is None or now.turn_id != envelope.turn_id or is_over(now):
            now = self._now[envelope.agent_id] = _Round(envelope.turn_id, envelope.agent_id)
            self._rounds.append(now)
        return now

    def _end(self, end: ToolCallEnd, timestamp: str) -> None:
        if now := self._of_call.pop(end.call_id, None):
            now.calls += 1
            now.failed += end.is_error
            now.last_end = timestamp
        tool = self._tools.setdefault(end.name, _Tool())
        tool.times_ms.append(end.duration_ms)
        tool.failed += end.is_error
        tool.output_chars += end.output_chars

    def figures(self) -> Figures:
        by_time = sorted(self._tools.items(), key=lambda item: -sum(item[1].times_ms))
        return Figures(
            tuple(each.figures() for each in self._rounds),
            tuple(
                ToolFigures(
                    name,
                    len(tool.times_ms),
                    tool.failed,
                    median(tool.times_ms),
                    max(tool.times_ms),
                    tool.output_chars,
                )
                for name, tool in by_time
            ),
        )


def _ms_between(start: str, end: str) -> int:
    if not start or not end:
        return 0
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000)
