"""Build one answer of the model from its stream. Parts are published as they arrive; they form a turn when the
stream ends.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeGuard, assert_never

from agent_ls.llm.messages import (
    ContentPart,
    Message,
    Role,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd as StreamedReasoningEnd,
    ReasoningStart as StreamedReasoningStart,
    StreamEvent,
    StreamFinish,
    StreamFinish as StreamedStreamFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.loop.emission import Emitter, args_part
from agent_ls.loop.events.types import AssistantTextEnd, AssistantTextStart, ReasoningEnd, ReasoningStart
from agent_ls.loop.ids import ToolCallId, new_id
from agent_ls.loop.model.call_ids import CallIds

_Kind: TypeAlias = Literal["assistant_text_delta", "reasoning_delta"]


@dataclass(frozen=True, slots=True)
class _OpenText:
    """A text or reasoning that is still streaming."""

    kind: _Kind
    part_id: str


class ModelAnswer:
    """Builds an answer from the events of one stream.

    Parts are stored by index, which keeps the provider's order.
    """

    def __init__(
        self,
        emitter: Emitter,
        call_ids: CallIds,
        on_call: Callable[[ToolCallPart, ToolCallId, int], None] = lambda part, call_id, place: None,
    ) -> None:
        """Start an answer.

        `on_call` is called when the arguments of a call are complete: with the call, its id in events, and
        its index among the calls of the answer.
        """
        self._on_call = on_call
        self.response_id = ""
        self.finish: StreamFinish | None = None
        self._emitter = emitter
        self._call_ids = call_ids
        self._parts: dict[int, ContentPart] = {}
        self._open: dict[int, _OpenText] = {}
        self._event_ids: dict[int, ToolCallId] = {}
        self._begun_calls: dict[int, tuple[str, str]] = {}  # id and name of the calls
        self._call_places: list[int] = []  # the keys of `_event_ids`, sorted
        self._reasoning: list[str] = []
        self._provider_ids: set[str] = set()
        self._chars: dict[int, int] = {}
        self.has_events = False

    @property
    def received_chars(self) -> int:
        """Number of received characters: of texts, reasoning and arguments."""
        return sum(self._chars.values())

    @property
    def has_begun(self) -> bool:
        """Whether any part of the answer was published. If so, the model call must not be retried."""
        return bool(self._parts or self._open or self._event_ids)

    @property
    def message(self) -> Message:
        return Message(Role.ASSISTANT, tuple(part for _, part in sorted(self._parts.items())))

    @property
    def event_ids(self) -> tuple[ToolCallId, ...]:
        """The ids that events use for the tool calls in `message`, in order."""
        calls = (i for i, part in sorted(self._parts.items()) if isinstance(part, ToolCallPart))
        return tuple(self._event_ids[i] for i in calls)

    def feed(self, event: StreamEvent) -> None:
        self.has_events = True
        match event:
            case TextDelta(index=index, text=text) | ReasoningDelta(index=index, text=text):
                kind: _Kind = "assistant_text_delta" if isinstance(event, TextDelta) else "reasoning_delta"
                self._emitter.append(kind, self._open_text(index, kind).part_id, text)
                self._received(index, text)
            case ToolCallDelta(index=index, json=json):
                self._emitter.append("tool_call_args_delta", args_part(self._open_call(index)), json)
                self._received(index, json)
            case TextStart() | StreamedReasoningStart():
                pass  # published with the first character, so that an answer that breaks before it can be repeated
            case ToolCallStart(index=index, id=id_, name=name):
                self._begun_calls[index] = (id_, name)
            case TextEnd(index=index, part=part):
                self._end_text(index, "assistant_text_delta", part.text)
                self._parts[index] = part
                self._chars[index] = len(part.text)
            case StreamedReasoningEnd(index=index, part=part):
                self._end_text(index, "reasoning_delta", part.text)
                self._parts[index] = part
                self._chars[index] = len(part.text)
            case ToolCallEnd(index=index, part=part):
                self._begun_calls.setdefault(index, (part.id, part.name))
                call_id = self._open_call(index)
                part = self._with_own_id(part)
                self._parts[index] = part
                self._chars[index] = len(part.arguments)
                self._on_call(part, call_id, bisect_left(self._call_places, index))
            case OpaqueItem(index=index, part=part):
                self._parts[index] = part
            case StreamStart(response_id=response_id):
                self.response_id = response_id
            case StreamedStreamFinish():
                self.finish = event
                self._parts.update(self._end_cut_calls())
            case ProviderEvent():
                pass
            case never:
                assert_never(never)

    def _received(self, index: int, text: str) -> None:
        self._chars[index] = self._chars.get(index, 0) + len(text)

    def end_interrupted(self, *, with_calls: bool = False) -> Message:
        """End all open parts as interrupted. Returns a message with only the texts, and the calls if `with_calls`.

        Calls of an incomplete answer never run, and items that a provider signed are valid only as a
        whole.
        """
        calls = {i: replace(part, origin=None) for i, part in self._parts.items() if _is_call(part)}
        calls |= self._end_cut_calls() if with_calls and self.has_begun else {}
        kept = {i: part.text for i, part in self._parts.items() if isinstance(part, TextPart)}
        for index, opened in sorted(self._open.items()):
            text = self._emitter.text_of(opened.part_id)
            if opened.kind == "assistant_text_delta":
                kept[index] = text
                reasoning = self._reasoning_so_far()
                self._emitter.emit(
                    AssistantTextEnd(opened.part_id, text, interrupted=True, reasoning=reasoning)
                )
            else:
                self._emitter.emit(ReasoningEnd(opened.part_id, text, interrupted=True))
        self._open.clear()
        for call_id in self._event_ids.values():
            self._emitter.close_part(args_part(call_id))
        self._parts = {i: TextPart(text) for i, text in kept.items() if text}
        self._parts |= calls if with_calls else {}
        return self.message

    def _end_cut_calls(self) -> dict[int, ToolCallPart]:
        """Return the calls whose arguments are incomplete, with what has arrived of them: as no JSON, so that they
        are never run.
        """
        cut: dict[int, ToolCallPart] = {}
        for index, (id_, name) in self._begun_calls.items():
            if index in self._parts:
                continue
            part = args_part(self._open_call(index))
            text = self._emitter.text_of(part)
            self._emitter.close_part(part)
            if name:
                cut[index] = self._with_own_id(ToolCallPart(id_, name, _cut_arguments(text)))
        return cut

    def _open_text(self, index: int, kind: _Kind) -> _OpenText:
        opened = self._open.get(index)
        if opened is None:
            opened = self._open[index] = _OpenText(kind, new_id("p"))
            start = AssistantTextStart if kind == "assistant_text_delta" else ReasoningStart
            self._emitter.emit(start(opened.part_id))
        return opened

    def _end_text(self, index: int, kind: _Kind, text: str) -> None:
        part_id = self._open_text(index, kind).part_id
        del self._open[index]
        if kind == "assistant_text_delta":
            self._emitter.emit(AssistantTextEnd(part_id, text, reasoning=self._reasoning_so_far()))
        else:
            self._reasoning.append(text)
            self._emitter.emit(ReasoningEnd(part_id, text))

    def _reasoning_so_far(self) -> str:
        """Return the reasoning since the last text, and clear it."""
        reasoning = "\n\n".join(text for text in self._reasoning if text)
        self._reasoning.clear()
        return reasoning

    def _with_own_id(self, part: ToolCallPart) -> ToolCallPart:
        """Give a call an id that is unique in the answer, because providers refuse a request with two results
        for the same id.
        """
        call_id, number = part.id, 2
        while call_id in self._provider_ids:
            call_id, number = f"{part.id[:48]}_{len(self._provider_ids)}_{number}", number + 1
        self._provider_ids.add(call_id)
        return part if call_id == part.id else replace(part, id=call_id, origin=None)

    def _open_call(self, index: int) -> ToolCallId:
        if index not in self._event_ids:
            insort(self._call_places, index)
            provider_id, name = self._begun_calls.setdefault(index, ("", ""))
            call_id = self._event_ids[index] = self._call_ids.unique(provider_id)
            self._emitter.open_part("tool_call_args_delta", args_part(call_id), name)
        return self._event_ids[index]


def _is_call(part: ContentPart) -> TypeGuard[ToolCallPart]:
    return isinstance(part, ToolCallPart)


def _cut_arguments(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text if text.strip() else "{"
    return "{"
