"""Decode the stream of the Responses API. `output_index` identifies an item; ids may change.

On some servers, items overlap in time. The emitted parts never overlap (items.py). Only a reasoning part is ended
early, as soon as the next item begins, so that the next item can be displayed while it streams.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.llm.errors import LlmError, StreamError
from agent_ls.llm.messages import JsonObject, OpaquePart, ReasoningPart, SearchPart, TextPart, ToolCallPart
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import find_failure, is_keep_alive
from agent_ls.llm.providers.openai_responses.errors import NAME, event_error, http_error, response_error
from agent_ls.llm.providers.openai_responses.items import (
    ItemKind,
    StreamedItem,
    StreamedItems,
    call_id_of,
    completed,
    kind_of,
    raw_kind,
)
from agent_ls.llm.providers.openai_responses.response import (
    cut_warning,
    finish_reason,
    free_text_opening,
    free_text_piece,
    is_cut_call,
    is_refusal,
    item_part,
    usage,
)
from agent_ls.llm.providers.rate_limits import openai_rate_limit
from agent_ls.llm.providers.wire_json import (
    int_at,
    object_at,
    objects_at,
    parse_event,
    parse_object,
    repair_object,
    text_at,
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
)

_GOOD = ReplyHead(200)

# Events that are ignored, because other events have the same content.
_SILENT = frozenset(
    {
        "response.queued",
        "response.in_progress",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.annotation.added",
        "response.custom_tool_call_input.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.done",
    }
)


class ResponsesStream:
    """The StreamDecoder of the Responses API; see StreamDecoder for the contract."""

    def __init__(self, request: Request, head: ReplyHead) -> None:
        self._request = request
        self._model = request.model
        self._head = head
        self._items = StreamedItems()
        self._places: dict[str, int] = {}  # the index of each item by its id
        self._moved: dict[int, int] = {}  # the index of the item that was begun later at the same index
        # The index of what has another kind than the item there.
        self._others: dict[tuple[int, ItemKind], int] = {}
        self._warnings: list[str] = []
        self._has_started = False
        self._has_calls = False
        self._has_refusal = False
        self._is_finished = self._is_done = False
        self._failed: LlmError | None = None  # a failure without a reason: Azure gives it in the next event

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if frame.data.strip() == "[DONE]":  # OpenRouter sends [DONE], OpenAI does not
            self._raise_failed()
            self._is_done = True
            return ()
        if self._is_finished:
            return ()
        if is_keep_alive(frame.data):
            return ()
        event = parse_event(frame.data)
        if event is None:
            raise http_error(self._model, _GOOD, frame.data.encode())
        self._event(text_at(event, "type") or frame.event, event)
        return self._items.take()

    def close(self) -> Sequence[StreamEvent]:
        self._raise_failed()
        has_all = self._has_calls and all(item.has_ended for item in self._items.values())
        if (
            not self._is_finished and self._is_done and has_all
        ):  # a converter sends no last event after a call
            self._event("response.completed", {"response": {"output": []}})
            return self._items.take()
        if not self._is_finished:
            raise StreamError(
                "the connection to openai ended in the middle of the answer",
                provider=NAME,
                model=self._model,
                hint="Send again; what arrived is kept.",
            )
        return ()

    def _event(self, kind: str, event: JsonObject) -> None:
        index = self._index_of(event)
        piece = text_at(event, "delta")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._text(index, piece)
            case "response.function_call_arguments.delta":
                self._call_piece(index, piece)
            case "response.custom_tool_call_input.delta":
                self._free_text(index, piece)
            case "response.reasoning_summary_text.delta":
                self._reasoning(index, (kind, int_at(event, "summary_index")), piece)
            case "response.reasoning_text.delta":
                self._reasoning(index, (kind, int_at(event, "content_index")), piece)
            case "response.function_call_arguments.done":
                self._whole_call(index, event)
            case "response.output_text.done" | "response.refusal.done":
                self._whole_text(index, text_at(event, "text") or text_at(event, "refusal"))
            case "response.output_item.added" if object_at(event, "item"):
                self._begin(index, object_at(event, "item"))
            case "response.output_item.done" if object_at(event, "item"):
                self._done(index, object_at(event, "item"))
            case "response.created":
                self._start(_response_of(event))
            case "response.completed" | "response.incomplete" | "response.done":
                whole = _response_of(event)
                if kind == "response.completed" and isinstance(whole.get("output"), list):
                    whole = {"status": "completed", **whole}  # some proxies leave the status out
                self._terminal(whole)
            case "response.failed" | "response.cancelled":
                self._failed = response_error(self._model, _response_of(event), event)
                if kind == "response.cancelled" or event.get("error") or find_failure(_response_of(event)):
                    raise self._failed
            case "error":
                raise event_error(self._model, event)
            case _ if event.get("error") or (not kind and find_failure(event)):  # the event has no type
                raise event_error(self._model, event)
            case _ if kind not in _SILENT:
                self._items.out.append(ProviderEvent(repair_object(event)))

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _index_of(self, event: JsonObject) -> int:
        """Return the index of the item that an event belongs to. Some servers send only the item's id, or neither."""
        index = int_at(event, "output_index")
        item_id = text_at(event, "item_id") or text_at(object_at(event, "item"), "id")
        kind, is_first = kind_of(event), text_at(event, "type") == "response.output_item.added"
        if item_id in self._places and (
            index is None or (not is_first and self._is_elsewhere(index, item_id, kind))
        ):
            index = self._places[item_id]
        while index in self._moved:
            index = self._moved[index]
        if index is None:
            begins = is_first or (item_id and self._places)
            index = len(self._items) if begins else max(len(self._items) - 1, 0)
        if kind is not None and not is_first:
            index = self._of_kind(index, kind)
        if item_id:
            self._places.setdefault(item_id, index)
        return index

    def _is_elsewhere(self, index: int, item_id: str, kind: ItemKind | None) -> bool:
        """Return whether an event of an open item has an index that none has: some servers count on at each end."""
        item = self._items.get(self._places[item_id])
        return index not in self._items and item is not None and item.kind == kind and not item.has_ended

    def _of_kind(self, index: int, kind: ItemKind) -> int:
        """Return the index of the item for a piece of this kind. Some proxies give one index to all kinds."""
        if index in self._items and self._items[index].kind != kind:
            index = self._others.setdefault((index, kind), max(self._items) + 1)
        while index in self._moved:
            index = self._moved[index]
        return index

    def _start(self, response: JsonObject) -> None:
        self._has_started = True
        self._items.out.append(StreamStart(text_at(response, "id"), text_at(response, "model")))

    # --- pieces of items

    def _text(self, index: int, piece: str) -> None:
        item = self._open(index, {"type": "message"})
        if item.kind == "text" and item.has_ended and item.shown.text and not item.has_rest and piece:
            self._begin(index, {"type": "message"})  # a converter ends the item at its first piece
            index = self._moved[index]
            item = self._items[index]
        if not item.has_ended and (ready := item.shown.add(piece)):
            self._items.say(index, TextDelta(index, ready))

    def _call_piece(self, index: int, piece: str) -> None:
        item = self._open(index, {"type": "function_call"})
        if not item.has_ended and not item.whole and (ready := item.shown.add(piece)):
            self._items.say(index, ToolCallDelta(index, ready))

    def _whole_call(self, index: int, event: JsonObject) -> None:
        """Use the complete arguments of a call, for servers that send no pieces of them."""
        item = self._open(index, {"type": "function_call", "name": text_at(event, "name")})
        item.name = item.name or text_at(event, "name")
        arguments = text_at(event, "arguments")
        if item.kind != "call" or item.has_ended or not arguments:
            return
        if not item.shown.text:
            self._items.say(index, ToolCallDelta(index, item.shown.add(arguments)))
        item.whole = arguments

    def _whole_text(self, index: int, text: str) -> None:
        """Use the complete text of a message, for servers that send no pieces of it."""
        item = self._open(index, {"type": "message"})
        if item.kind == "text" and not item.has_ended and not item.shown.text and text:
            item.has_rest = True
            self._items.say(index, TextDelta(index, item.shown.add(text)))

    def _free_text(self, index: int, piece: str) -> None:
        item = self._open(index, {"type": "custom_tool_call"})
        if item.has_ended or not (ready := item.text.add(piece)):
            return
        opening = "" if item.has_opening else free_text_opening(item.name, self._request)
        item.has_opening = True
        self._items.say(index, ToolCallDelta(index, item.shown.add(opening + free_text_piece(ready))))

    def _reasoning(self, index: int, section: tuple[str, int | None], piece: str) -> None:
        item = self._open(index, {"type": "reasoning"})
        if item.has_ended or not piece:
            return
        if item.section is not None and item.section[0] != section[0]:
            return  # the same reasoning as a summary or as plain text; the end of the item tells what is missing
        if item.section not in (None, section):
            piece = "\n\n" + piece
        item.section = section
        if ready := item.shown.add(piece):
            self._items.say(index, ReasoningDelta(index, ready))

    # --- start and end of items

    def _begin(self, index: int, raw: JsonObject) -> None:
        """Begin an item. Some proxies use the index of an ended item once more; then the later one gets its own."""
        item = self._items.get(index)
        if item is not None and (
            item.kind != raw_kind(raw)
            or (item.has_ended and not (item.kind == "call" and item.call_id == call_id_of(raw)))
        ):
            self._moved[index] = index = max(self._items) + 1
        self._open(index, raw)

    def _open(self, index: int, raw: JsonObject) -> StreamedItem:
        """Return the item at `index`. If there is none yet, open it."""
        if index in self._items:
            return self._items[index]
        self._end_open_reasoning()
        item = self._items[index] = StreamedItem(raw_kind(raw), text_at(raw, "name"))
        item.call_id = call_id_of(raw)
        match item.kind:
            case "text":
                self._items.say(index, TextStart(index))
            case "reasoning":
                self._items.say(index, ReasoningStart(index))
            case "call":
                item.call_id = item.call_id or f"call_{index}"
                self._items.say(index, ToolCallStart(index, item.call_id, item.name))
            case "opaque":
                pass
        return item

    def _done(self, index: int, raw: JsonObject) -> None:
        item = self._open(index, raw)
        if item.has_ended:
            return
        raw = completed(raw, item)
        if is_cut_call(raw):
            return self._drop(index)
        self._has_refusal = self._has_refusal or is_refusal(raw)
        match item_part(raw, self._request):
            case TextPart(text) as part:
                self._say_rest(index, text, TextDelta)
                self._items.end(index, TextEnd(index, part))
            case ReasoningPart(text) as part:
                self._say_rest(index, text, ReasoningDelta)
                self._items.end(index, ReasoningEnd(index, part))
            case ToolCallPart() as part:
                self._has_calls = True
                self._say_rest(index, part.arguments, ToolCallDelta)
                self._items.end(index, ToolCallEnd(index, part))
            case OpaquePart() | SearchPart() as part:
                self._items.end(index, OpaqueItem(index, part))
            case _:
                pass

    def _say_rest(
        self, index: int, whole: str, delta: type[TextDelta] | type[ReasoningDelta] | type[ToolCallDelta]
    ) -> None:
        """Emit the part of the complete text `whole` that the deltas did not contain.

        Some servers send no deltas at all.
        """
        shown = self._items[index].shown.text
        if len(whole) > len(shown) and whole.startswith(shown):
            self._items[index].has_rest = True
            self._items.say(index, delta(index, whole[len(shown) :]))

    def _end_open_reasoning(self) -> None:
        speaking = self._items.speaking
        if speaking is not None and self._items[speaking].kind == "reasoning":
            self._end_as_shown(speaking)

    def _end_as_shown(self, index: int) -> None:
        """End a part with the text that was emitted, without an origin. Drop an incomplete call."""
        item = self._items[index]
        if item.kind == "text":
            self._items.end(index, TextEnd(index, TextPart(item.shown.text)))
        elif item.kind == "reasoning":
            self._items.end(index, ReasoningEnd(index, ReasoningPart(item.shown.text)))
        elif (
            item.kind == "call"
            and item.name
            and parse_object(item.whole or item.shown.text) is not None
            and not item.text.text
        ):
            # The server left out the event for the end of the item, but the arguments are complete.
            raw: JsonObject = {"type": "function_call", "call_id": item.call_id}
            self._done(index, raw)
        elif item.kind == "call":
            self._drop(index)

    def _drop(self, index: int) -> None:
        self._warnings.append(cut_warning(self._items[index].name))
        self._items.end(index)

    # --- the end

    def _terminal(self, response: JsonObject) -> None:
        if not self._has_started:
            self._start(response)
        # Some servers send some or all items only in the final response, without events of their own.
        output = [*objects_at(response, "output")]
        named = {index for raw in output if (index := self._named(raw)) is not None}
        for at, raw in enumerate(output):
            index = self._named(raw)
            if index is None and (index := self._unnamed(at, raw, named)) is not None:
                named.add(index)
            if index is not None:
                self._done(index, raw)
        for index, item in sorted(self._items.items()):
            if not item.has_ended:
                self._end_as_shown(index)
        self._is_finished = True
        reason = finish_reason(response, has_calls=self._has_calls, has_refusal=self._has_refusal)
        counted = usage(object_at(response, "usage"))
        self._items.out.append(
            StreamFinish(reason, counted, response, tuple(self._warnings), openai_rate_limit(self._head))
        )

    def _named(self, raw: JsonObject) -> int | None:
        """Return the index of the streamed item that an item of the final response is, by its id."""
        index = self._places.get(text_at(raw, "id"))
        item = None if index is None else self._items.get(index)
        return index if item is not None and item.kind == raw_kind(raw) else None

    def _unnamed(self, at: int, raw: JsonObject, named: set[int]) -> int | None:
        """Return the index for item number `at` of the final response, whose id is new: ids may change at the end.

        None: reasoning for which something else was streamed. Some servers stream it within the text.
        """
        kind = raw_kind(raw)
        same = [
            index for index, item in sorted(self._items.items()) if item.kind == kind and index not in named
        ]
        if same:
            return at if at in same else same[0]
        if at not in self._items:
            return at
        return None if kind == "reasoning" else max(self._items) + 1


def _response_of(event: JsonObject) -> JsonObject:
    """Return the response in an event. Some proxies send the response in place of the event."""
    return object_at(event, "response") or repair_object(event)
