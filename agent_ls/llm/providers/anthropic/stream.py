"""Decode Anthropic's stream: blocks one after the other, each with a start, deltas and a stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import (
    JsonObject,
    JsonValue,
    OpaquePart,
    ReasoningPart,
    SearchPart,
    TextPart,
    ToolCallPart,
)
from agent_ls.llm.providers.anthropic.errors import NAME, body_error, http_error
from agent_ls.llm.providers.anthropic.response import (
    block_part,
    decode_response,
    finish_reason,
    rate_limit,
    stop_warnings,
    usage,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import find_failure, is_keep_alive
from agent_ls.llm.providers.error_mapping import ProviderFailure
from agent_ls.llm.providers.wire_json import (
    PieceJoiner,
    int_at,
    object_at,
    parse_event,
    parse_object,
    repair_object,
    text_at,
    valid_text,
)
from agent_ls.llm.requests import Request
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import (
    OpaqueItem,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    StreamFinish,
    StreamStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    replay_as_stream,
)

_GOOD = ReplyHead(200)


@dataclass(slots=True)
class _Block:
    """A content block that has not ended.

    `raw` is the block as it was started. `shown` joins the pieces of text, `json` those of a call's
    arguments.
    """

    raw: dict[str, JsonValue]
    shown: PieceJoiner = field(default_factory=PieceJoiner)
    json: PieceJoiner = field(default_factory=PieceJoiner)
    citations: list[JsonObject] = field(default_factory=list)

    @property
    def type(self) -> str:
        return text_at(self.raw, "type")

    def to_complete(self) -> JsonObject:
        """Return the block in the form that a complete answer would contain."""
        text_key = {"text": "text", "thinking": "thinking", "compaction": "content"}.get(self.type)
        if text_key and self.shown.text:
            self.raw[text_key] = valid_text(text_at(self.raw, text_key)) + self.shown.text
        if self.citations:
            self.raw["citations"] = self.citations
        if self.arguments:
            self.raw["input"] = parse_object(self.arguments) or {}
        return self.raw

    @property
    def arguments(self) -> str:
        """The arguments of a call as JSON text. Some proxies send `{}` before the real arguments."""
        text = self.json.text.strip()
        rest = text.removeprefix("{}").lstrip()
        return rest if rest and text.startswith("{}") else text


class AnthropicStream:
    """The StreamDecoder of the Messages API; see StreamDecoder for the contract."""

    def __init__(self, request: Request, head: ReplyHead) -> None:
        self._request = request
        self._model = request.model
        self._head = head
        self._open: dict[int, _Block] = {}
        self._moved: dict[
            int, int
        ] = {}  # blocks whose deltas are of another kind, with the blocks made for them
        self._beside: dict[
            int, int
        ] = {}  # open calls whose index has a text too, with the blocks of these texts
        self._usage: dict[str, JsonValue] = {}
        self._stop: JsonObject = {}
        self._has_started = self._has_calls = False
        self._thinking_chars = 0
        self._next = 0  # the index after the last block that has begun
        self._is_finished = False

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._is_finished:
            return ()
        if is_keep_alive(frame.data) or frame.data.strip() == "[DONE]":
            return ()
        event = parse_event(frame.data)
        if event is None:
            raise http_error(self._model, _GOOD, frame.data.encode())
        match text_at(event, "type") or frame.event:
            case "content_block_delta":
                return self._delta(self._index_of(event), object_at(event, "delta"))
            case "content_block_start":
                return self._begin(int_at(event, "index"), object_at(event, "content_block"))
            case "content_block_stop":
                return self._block_stop(self._index_of(event))
            case "message_start":
                return self._message_start(object_at(event, "message"))
            case "message_delta":
                self._stop = repair_object(object_at(event, "delta"))
                self._count(object_at(event, "usage"))
                return ()
            case "message_stop" if self._has_started or self._next:
                return self._message_stop()
            case "message_stop":  # a proxy that did not understand its server
                raise self._broken("sent no answer")
            case "ping":
                return ()
            case "message" if not self._next:  # a guard of a proxy sends its whole answer at once
                self._is_finished = True
                return [*replay_as_stream(decode_response(self._request, self._head, frame.data.encode()))]
            case "error" | "":  # some servers omit the type of the event
                if failure := find_failure(repair_object(event)):
                    raise body_error(self._model, failure)
        if event.get("error"):
            raise body_error(self._model, find_failure(repair_object(event)) or ProviderFailure())
        return (ProviderEvent(repair_object(event)),)

    def close(self) -> Sequence[StreamEvent]:
        if self._is_finished:
            return ()
        if text_at(self._stop, "stop_reason"):  # some proxies do not send `message_stop`
            return self._message_stop()
        if self._has_only_whole_calls:  # some gateways close the stream behind the arguments of a call
            return self._message_stop()
        raise self._broken("ended in the middle of the answer")

    def _broken(self, problem: str) -> StreamError:
        return StreamError(
            f"the connection to {NAME} {problem}",
            provider=NAME,
            model=self._model,
            hint="Send again; what arrived is kept.",
        )

    @property
    def _has_only_whole_calls(self) -> bool:
        """Return whether the open blocks are calls whose arguments are complete. A JSON object never begins a longer
        one; `{}` may precede the real arguments.
        """
        open_blocks = self._open.values()
        return bool(open_blocks) and all(
            block.type == "tool_use" and bool(parse_object(block.arguments)) for block in open_blocks
        )

    def _message_start(self, message: JsonObject) -> Sequence[StreamEvent]:
        self._has_started = True
        self._count(object_at(message, "usage"))
        return (StreamStart(text_at(message, "id"), text_at(message, "model")),)

    def _count(self, wire: JsonObject) -> None:
        # The values of message_delta are totals, so they replace the earlier values key by key. Some proxies send zeros
        # there for what they have counted before.
        counts = {key: value for key, value in wire.items() if not (isinstance(value, int) and value < 0)}
        self._usage.update({key: value for key, value in counts.items() if value or not self._usage.get(key)})

    def _begin(self, index: int | None, raw: JsonObject) -> Sequence[StreamEvent]:
        """Begin a block. Some proxies use the index of an earlier block once more; then the later one gets its own."""
        if index is None or index >= self._next:
            return self._block_start(self._next if index is None else index, raw)
        earlier = self._moved.get(index, index)
        block = self._open.get(earlier)
        if block is not None and not (block.shown.text or parse_object(block.arguments)):
            return self._block_start(earlier, raw)
        self._moved[index] = self._next
        return (*self._end_block(earlier), *self._block_start(self._next, raw))

    def _block_start(self, index: int, raw: JsonObject) -> Sequence[StreamEvent]:
        self._next = max(self._next, index + 1)
        block = self._open[index] = _Block(dict(raw))
        match block.type:
            case "text":
                started: StreamEvent = TextStart(index)
                text = valid_text(text_at(raw, "text"))
                return (started, TextDelta(index, text)) if text else (started,)
            case "thinking" | "redacted_thinking":
                return (ReasoningStart(index),)
            case "tool_use":
                return (ToolCallStart(index, text_at(raw, "id"), text_at(raw, "name")),)
        return ()

    def _index_of(self, event: JsonObject) -> int | None:
        """Return the index of a block; without one, the last open block is meant."""
        index = int_at(event, "index")
        return max(self._open, default=None) if index is None else index

    def _delta(self, index: int | None, delta: JsonObject) -> Sequence[StreamEvent]:
        begun: Sequence[StreamEvent] = ()
        kind = {"text_delta": "text", "thinking_delta": "thinking"}.get(text_at(delta, "type"))
        index = self._moved.get(index, index) if index is not None else None
        if (
            kind and index is not None and self._is_other(index, kind)
        ):  # a proxy sends reasoning in a block of text
            made, self._moved[index] = self._next, self._next
            begun = (*self._end_block(index), *self._block_start(made, {"type": kind}))
            index = made
        elif kind and index in self._open and self._open[index].type == "tool_use":
            index, begun = self._text_beside(index, kind)
        elif kind and index not in self._open:  # some proxies send no start of a block
            index = self._next if index is None or index < self._next else index
            begun = self._block_start(index, {"type": kind})
        block = self._open.get(index) if index is not None else None
        if block is None or index is None:
            return ()
        return (*begun, *self._piece(index, block, delta))

    def _text_beside(self, call: int, kind: str) -> tuple[int, Sequence[StreamEvent]]:
        """Return the block of a text that comes with the index of an open call, and the events that begin it. The call
        goes on: some servers write a text before they end it.
        """
        earlier = self._beside.get(call)
        if earlier in self._open and self._open[earlier].type == kind:
            return earlier, ()
        ended = () if earlier is None else self._end_block(earlier)
        made = self._beside[call] = self._next
        return made, (*ended, *self._block_start(made, {"type": kind}))

    def _is_other(self, index: int, kind: str) -> bool:
        block = self._open.get(index)
        return block is not None and block.type in ("text", "thinking") and block.type != kind

    def _piece(self, index: int, block: _Block, delta: JsonObject) -> Sequence[StreamEvent]:
        match text_at(delta, "type"):
            case "text_delta":
                text = block.shown.add(text_at(delta, "text"))
                return (TextDelta(index, text),) if text and block.type == "text" else ()
            case "thinking_delta":
                text = block.shown.add(text_at(delta, "thinking"))
                return (ReasoningDelta(index, text),) if text and block.type == "thinking" else ()
            case "input_json_delta":
                text = block.json.add(text_at(delta, "partial_json"))
                return (ToolCallDelta(index, text),) if text and block.type == "tool_use" else ()
            case "signature_delta":
                block.raw["signature"] = valid_text(
                    text_at(delta, "signature")
                )  # each event has the complete value, which replaces the previous value
            case "citations_delta":
                block.citations.append(repair_object(object_at(delta, "citation")))
            case "compaction_delta":
                block.shown.add(text_at(delta, "content"))
        return ()

    def _block_stop(self, index: int | None) -> Sequence[StreamEvent]:
        return () if index is None else self._end_block(self._moved.get(index, index))

    def _end_block(self, index: int) -> Sequence[StreamEvent]:
        if (block := self._open.pop(index, None)) is None:
            return ()
        match block_part(block.to_complete(), self._model, block.arguments):
            case TextPart() as text:
                return (TextEnd(index, text),)
            case ReasoningPart() as reasoning:
                self._thinking_chars += len(reasoning.text)
                return (ReasoningEnd(index, reasoning),)
            case ToolCallPart() as call:
                self._has_calls = True
                return (ToolCallEnd(index, call),)
            case OpaquePart() | SearchPart() as item:
                return (OpaqueItem(index, item),)
        return ()

    @property
    def _is_cut(self) -> bool:
        return finish_reason(self._stop_reason, has_calls=True).kind != "tool_calls"

    @property
    def _stop_reason(self) -> str:
        """The stop reason. Some proxies leave it out; without any block, that is no answer at all."""
        return text_at(self._stop, "stop_reason") or ("end_turn" if self._next else "")

    def _message_stop(self) -> Sequence[StreamEvent]:
        events: list[StreamEvent] = []
        warnings: list[str] = []
        for index, block in sorted(self._open.items()):
            is_whole = block.type == "tool_use" and parse_object(block.arguments) is not None
            if block.type in ("text", "thinking") or (is_whole and not self._is_cut):
                events += self._block_stop(index)
            elif block.type == "tool_use":
                # The arguments of the call were truncated. Running the call with a part of them is not safe.
                warnings.append(
                    f"the model did not finish its call of {text_at(block.raw, 'name')}, so the call was dropped"
                )
        self._is_finished = True
        reason = finish_reason(self._stop_reason, has_calls=self._has_calls)
        warnings += stop_warnings(object_at(self._stop, "stop_details"))
        return (
            *events,
            StreamFinish(
                reason, usage(self._usage, self._thinking_chars), {}, tuple(warnings), rate_limit(self._head)
            ),
        )
