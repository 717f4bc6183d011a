"""Check the events of a program's own provider: the types of their fields, and that each part begins and ends."""

from __future__ import annotations

from typing import get_args

from agent_ls.argument_types import find_misuse
from agent_ls.llm.requests import Usage, wrong_amounts
from agent_ls.llm.stream import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    StreamFinish,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.own_code import WrongValueError

EVENTS = get_args(StreamEvent)
_STARTS: dict[type, type] = {
    TextDelta: TextStart,
    ReasoningDelta: ReasoningStart,
    ToolCallDelta: ToolCallStart,
}
_ENDS: dict[type, type] = {TextStart: TextEnd, ReasoningStart: ReasoningEnd, ToolCallStart: ToolCallEnd}
_COMPLETE = ("stop", "tool_calls")
"""Kinds of finish reasons of answers that were not cut."""


class EventOrder:
    """Checks the events of one stream, in order."""

    def __init__(self) -> None:
        self._open: dict[int, type] = {}
        """The start events of the parts that have not ended, by index."""

    def check(self, event: object) -> None:
        """Check the next event.

        Raises:
            WrongValueError: it is no event, a field has a wrong type, the part of a delta has not begun, or the
                usage has a negative or infinite value.
        """
        kind = type(event)
        if kind not in EVENTS:
            raise WrongValueError(f"it yielded a value of the type {kind.__name__}, no StreamEvent")
        if misuse := find_misuse(kind.__name__, event, kind):
            raise WrongValueError(f"it yielded a wrong value: {misuse[0]}")
        match event:
            case TextStart(index) | ReasoningStart(index):
                self._open[index] = kind
            case ToolCallStart(index=index):
                self._open[index] = kind
            case TextDelta(index) | ReasoningDelta(index) | ToolCallDelta(index):
                start = _STARTS[kind]
                if self._open.get(index) is not start:
                    raise WrongValueError(
                        f"it yielded {kind.__name__}({index}, …) without {start.__name__} before"
                    )
            case TextEnd(index) | ReasoningEnd(index) | ToolCallEnd(index):
                self._open.pop(index, None)
            case StreamFinish(finish_reason=reason, usage=usage):
                self._check_ended(reason.kind)
                check_amounts(usage)

    def _check_ended(self, reason: str) -> None:
        """A tool call that the output limit cut off has no end; another part without its end would be lost."""
        for index, start in self._open.items():
            if start is not ToolCallStart or reason in _COMPLETE:
                end = _ENDS[start]
                raise WrongValueError(f"it yielded StreamFinish, but no {end.__name__}({index}, …)")


def check_amounts(usage: Usage | None) -> None:
    """Raise a WrongValueError for a count or a cost that no limit could count."""
    for name in wrong_amounts(usage) if usage else ():
        raise WrongValueError(f"usage.{name} is {getattr(usage, name)}; it must be 0 or more, and finite")
