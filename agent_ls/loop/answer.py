"""One answer of the model as it streams: its parts become events at once, and an assistant turn at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from agent_ls.llm import stream
from agent_ls.llm.messages import (
    ContentPart,
    Message,
    Role,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.stream import StreamEvent, StreamFinish
from agent_ls.loop.call_ids import CallIds
from agent_ls.loop.emission import Voice, args_part
from agent_ls.loop.events import AssistantTextEnd, AssistantTextStart, ReasoningEnd, ReasoningStart
from agent_ls.loop.ids import ToolCallId, new_id

_Kind: TypeAlias = Literal["assistant_text_delta", "reasoning_delta"]


@dataclass(frozen=True, slots=True)
class _OpenText:
    kind: _Kind
    part_id: str


class Answer:
    """Folds the events of one stream. Parts are kept by their index, so that the order is the provider's."""

    def __init__(
        self,
        hub: Voice,
        call_ids: CallIds,
        on_call: Callable[[ToolCallPart, ToolCallId, int], None] = lambda part, call_id, place: None,
    ) -> None:
        """`on_call` is told each call whose arguments are complete, and its place among the calls."""
        self._on_call = on_call
        self.response_id = ""
        self.finish: StreamFinish | None = None
        self._hub = hub
        self._call_ids = call_ids
        self._parts: dict[int, ContentPart] = {}
        self._open: dict[int, _OpenText] = {}
        self._event_ids: dict[int, ToolCallId] = {}

    @property
    def has_begun(self) -> bool:
        """Something of it was shown: a failed call is not made again from here on (U8)."""
        return bool(self._parts or self._open or self._event_ids)

    @property
    def message(self) -> Message:
        return Message(Role.ASSISTANT, tuple(part for _, part in sorted(self._parts.items())))

    @property
    def event_ids(self) -> tuple[ToolCallId, ...]:
        """The ids that events use for the calls of `message`, in their order."""
        calls = (i for i, part in sorted(self._parts.items()) if isinstance(part, ToolCallPart))
        return tuple(self._event_ids[i] for i in calls)

    def feed(self, event: StreamEvent) -> None:
        match event:
            case stream.TextDelta(index=index, text=text) | stream.ReasoningDelta(index=index, text=text):
                kind: _Kind = (
                    "assistant_text_delta" if isinstance(event, stream.TextDelta) else "reasoning_delta"
                )
                self._hub.append(kind, self._opened(index, kind).part_id, text)
            case stream.ToolCallDelta(index=index, json=json):
                self._hub.append("tool_call_args_delta", args_part(self._call_id(index, "")), json)
            case stream.TextStart(index=index):
                self._opened(index, "assistant_text_delta")
            case stream.ReasoningStart(index=index):
                self._opened(index, "reasoning_delta")
            case stream.ToolCallStart(index=index, id=id_, name=name):
                self._hub.open_part("tool_call_args_delta", args_part(self._call_id(index, id_)), name)
            case stream.TextEnd(index=index, part=part):
                self._end_text(index, "assistant_text_delta", part.text)
                self._parts[index] = part
            case stream.ReasoningEnd(index=index, part=part):
                self._end_text(index, "reasoning_delta", part.text)
                self._parts[index] = part
            case stream.ToolCallEnd(index=index, part=part):
                call_id = self._call_id(index, part.id)
                self._parts[index] = part
                self._on_call(part, call_id, sorted(self._event_ids).index(index))
            case stream.OpaqueItem(index=index, part=part):
                self._parts[index] = part
            case stream.StreamStart(response_id=response_id):
                self.response_id = response_id
            case stream.StreamFinish():
                self.finish = event
                self._close_cut_calls()
            case stream.ProviderEvent():
                pass
            case never:
                assert_never(never)

    def cut(self) -> Message:
        """Ends what is open as interrupted, and keeps the texts only.

        Calls of a cut answer never run, and what a provider signed is valid whole or not at all.
        """
        kept = {i: part.text for i, part in self._parts.items() if isinstance(part, TextPart)}
        for index, opened in sorted(self._open.items()):
            text = self._hub.text_of(opened.part_id)
            if opened.kind == "assistant_text_delta":
                kept[index] = text
                self._hub.emit(AssistantTextEnd(opened.part_id, text, interrupted=True))
            else:
                self._hub.emit(ReasoningEnd(opened.part_id, text, interrupted=True))
        self._open.clear()
        self._close_cut_calls(all_calls=True)
        return Message(Role.ASSISTANT, tuple(TextPart(text) for _, text in sorted(kept.items()) if text))

    def _close_cut_calls(self, *, all_calls: bool = False) -> None:
        for index, call_id in self._event_ids.items():
            if all_calls or index not in self._parts:
                self._hub.close_part(args_part(call_id))

    def _opened(self, index: int, kind: _Kind) -> _OpenText:
        opened = self._open.get(index)
        if opened is None:
            opened = self._open[index] = _OpenText(kind, new_id("p"))
            start = AssistantTextStart if kind == "assistant_text_delta" else ReasoningStart
            self._hub.emit(start(opened.part_id))
        return opened

    def _end_text(self, index: int, kind: _Kind, text: str) -> None:
        part_id = self._opened(index, kind).part_id
        del self._open[index]
        end = AssistantTextEnd if kind == "assistant_text_delta" else ReasoningEnd
        self._hub.emit(end(part_id, text))

    def _call_id(self, index: int, provider_id: str) -> ToolCallId:
        if index not in self._event_ids:
            self._event_ids[index] = self._call_ids.unique(provider_id)
        return self._event_ids[index]
