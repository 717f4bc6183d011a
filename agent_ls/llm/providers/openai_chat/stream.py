"""Decode the stream of Chat Completions: deltas of one message. A complete answer is handled as one large delta.

The stream ends with a `finish_reason` and `[DONE]`. If a server omits `[DONE]`, closing the connection ends the
stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import JsonObject, JsonValue, OpaquePart, Origin, SearchPart
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.call_dialects import PrintedCall, is_mark
from agent_ls.llm.providers.citations import url_citations
from agent_ls.llm.providers.error_bodies import find_failure, is_keep_alive
from agent_ls.llm.providers.error_mapping import ProviderFailure
from agent_ls.llm.providers.openai_chat.calls import OpenCall, OpenCalls, add_piece, split_piece
from agent_ls.llm.providers.openai_chat.channels import Channels
from agent_ls.llm.providers.openai_chat.errors import body_error, http_error
from agent_ls.llm.providers.openai_chat.reasoning import ReasoningDetails, ThinkingBlocks, reasoning_piece
from agent_ls.llm.providers.openai_chat.repeated import RepeatedText
from agent_ls.llm.providers.openai_chat.response import (
    CUT,
    counts_in,
    ending,
    finish_kind,
    finish_reason,
    unwrapped,
    usage,
)
from agent_ls.llm.providers.part_writer import PartWriter
from agent_ls.llm.providers.printed_calls import PrintedCalls, calls_at_end
from agent_ls.llm.providers.rate_limits import openai_rate_limit
from agent_ls.llm.providers.think_tags import Piece, ThinkTags
from agent_ls.llm.providers.wire_json import (
    int_at,
    object_at,
    objects_at,
    parse_event,
    parse_object,
    repair_object,
    repair_value,
    text_at,
)
from agent_ls.llm.requests import Request
from agent_ls.llm.sse import Frame
from agent_ls.llm.stream import (
    ProviderEvent,
    StreamEvent,
    StreamFinish,
    StreamStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from agent_ls.patterns import regex

_LEAST_REPEATED = 40  # characters of an answer in some pieces; a shorter one may say the same twice
_LEAST_PIECES = 3
_GOOD = ReplyHead(200)
# The name of an event that only this server sends, as `x.tool.progress`, and that is no failure.
_OF_ITS_OWN = regex(r"(?!.*(?:error|fail|exception|abort|refus))\w+(?:[.:]\w+)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerSyntax:
    """Options for parsing the text of an answer. `offered` are the tool names that calls in the text may have.

    `textual`: the model was asked to write calls as text (text_tools.py). `notice` is a warning for the user.
    `thinks_first`: the answer begins with reasoning, without a tag. `on_unopened` is called when this is noticed.
    `notice_of` returns a warning for the number of input tokens, "" for none.
    """

    provider: str
    offered: tuple[str, ...]
    textual: bool = False
    notice: str = ""
    thinks_first: bool = False
    on_unopened: Callable[[], None] = lambda: None
    notice_of: Callable[[int], str] = lambda input_tokens: ""


class ChatStream:
    """The StreamDecoder of the Chat Completions API; see StreamDecoder for the contract."""

    def __init__(self, request: Request, head: ReplyHead, reading: AnswerSyntax) -> None:
        self._model = request.model
        self._head = head
        self._reading = reading
        self._provider = reading.provider
        self._parts = PartWriter()
        self._channels = Channels()
        self._repeated = {"text": RepeatedText(), "reasoning": RepeatedText()}
        self._tags = ThinkTags(is_opened=reading.thinks_first)
        self._printed = PrintedCalls(reading.offered, lenient=reading.textual)
        self._details = ReasoningDetails()
        self._blocks = ThinkingBlocks()
        self._has_content_key = False  # whether reasoning arrived in the field `reasoning_content`
        self._thoughts: list[str] = []
        self._calls = OpenCalls(reading.offered)
        self._late: list[str] = []  # text that arrived while a call was open
        self._annotations: list[JsonObject] = []
        self._extra: dict[str, JsonValue] = {}
        self._usage: JsonObject = {}
        self._id = ""
        self._finish: str | None = None
        self._said: list[str] = []
        self._said_chars = 0
        self._has_only_messages = False  # whether each event had a message in place of a delta
        self._has_started = self._has_refusal = self._is_finished = False
        self._warnings: list[str] = [reading.notice] if reading.notice else []

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if self._is_finished:
            return ()
        if frame.data.strip() == "[DONE]":
            return self._end() if self._has_started else ()
        if is_keep_alive(frame.data):
            return ()
        event = parse_event(frame.data, unmended="choices")
        if event is None:
            raise http_error(self._provider, self._model, _GOOD, frame.data.encode())
        event = unwrapped(event)
        is_other = "choices" not in event and "usage" not in event
        if is_other and "error" not in event and _OF_ITS_OWN.fullmatch(frame.event):
            return (ProviderEvent(repair_object(event)),)
        if failure := _failure_in(event, is_error=frame.event == "error"):
            raise body_error(self._provider, self._model, failure)
        if is_other:
            return (ProviderEvent(repair_object(event)),)
        return self.chunk(event)

    def chunk(self, event: JsonObject) -> Sequence[StreamEvent]:
        """Return the events of one chunk, which must not be an error."""
        self._start(event)
        self._usage = counts_in(event, self._usage)
        for choice in objects_at(event, "choices"):
            self._usage = object_at(choice, "usage") or self._usage  # Moonshot
            # Some servers send a complete message instead of deltas; others repeat the message beside the last delta.
            is_message = self._takes_messages and "message" in choice and not object_at(choice, "delta")
            self._has_only_messages = is_message and not ending(choice)
            self._delta(object_at(choice, "message" if is_message else "delta"))
            if not choice.keys() & {"delta", "message"}:  # the older Completions API
                self._say(text_at(choice, "text"))
            self._finish = ending(choice) or self._finish
            break  # only one choice is requested
        return self._parts.take()

    def close(self) -> Sequence[StreamEvent]:
        if self._is_finished:
            return ()
        if self._finish is None and not self._has_only_whole_calls:
            raise StreamError(
                f"the connection to {self._provider} ended in the middle of the answer",
                provider=self._provider,
                model=self._model,
                hint="Send again; what arrived is kept.",
            )
        return self._end()

    @property
    def _has_only_whole_calls(self) -> bool:
        """Whether the answer ends with complete calls: some servers close the stream behind them.

        A JSON object never begins a longer one; `{}` may precede the real arguments.
        """
        calls = self._calls.calls
        return bool(calls) and all(parse_object(call.final_arguments) for call in calls) and not self._late

    def _start(self, event: JsonObject) -> None:
        if self._has_started:
            return
        self._has_started = True
        self._id = text_at(event, "id")
        self._parts.out.append(StreamStart(self._id, text_at(event, "model")))

    @property
    def _takes_messages(self) -> bool:
        return self._has_only_messages or not (
            self._parts.count or self._parts.open_kind or self._calls.calls
        )

    # --- pieces

    def _delta(self, delta: JsonObject) -> None:
        self._details.add(delta)
        self._blocks.add(delta)
        if thought := reasoning_piece(delta):
            self._has_content_key = self._has_content_key or bool(text_at(delta, "reasoning_content"))
            self._reason(self._repeated["reasoning"].feed(thought))
        for kind, piece in _contents(delta.get("content")):
            if kind == "thinking":
                self._reason(piece)
            else:
                if piece:
                    self._reason(self._repeated["reasoning"].close())
                self._say(self._repeated["text"].feed(piece))
        if refusal := text_at(delta, "refusal"):
            self._has_refusal = True
            self._write(refusal)
        self._annotations += [repair_object(item) for item in objects_at(delta, "annotations")]
        if extra := object_at(delta, "extra_content"):
            self._extra["extra_content"] = repair_value(extra)
        pieces = [*_call_pieces(delta)]
        if pieces:
            self._say_held()
        for place, raw in enumerate(pieces):
            for one in split_piece(raw):
                self._call_piece(one, place if len(pieces) > 1 else None)

    def _reason(self, piece: str) -> None:
        if piece and self._calls.open is None:
            self._thoughts.append(piece)
            self._parts.write("reasoning", piece)

    def _say_held(self) -> None:
        self._reason(self._repeated["reasoning"].close())
        self._say(self._repeated["text"].close())

    def _say(self, piece: str) -> None:
        # RAGFlow ends the stream with the whole answer once more, as a piece.
        is_as_long = len(piece) == self._said_chars >= _LEAST_REPEATED and len(self._said) >= _LEAST_PIECES
        if is_as_long and piece == "".join(self._said):
            return
        self._said.append(piece)
        self._said_chars += len(piece)
        for channel, said in self._channels.feed(piece):
            self._sort([(channel, said)] if channel == "reasoning" else self._tags.feed(said))

    def _sort(self, pieces: Sequence[Piece]) -> None:
        for kind, text in pieces:
            if kind == "reasoning":
                self._reason(text)
            else:
                self._write(self._printed.feed(text))

    def _write(self, text: str) -> None:
        if text and self._calls.open is not None:
            self._late.append(text)
        elif text:
            self._end_part("text")
            self._parts.write("text", text)

    def _end_part(self, following: str = "") -> None:
        """End the open part unless it is of kind `following`."""
        kind = self._parts.open_kind
        if kind is None or kind == following:
            return
        if kind == "reasoning":
            self._parts.end(self._reasoning_origin())
        else:
            self._end_text()

    def _reasoning_origin(self) -> Origin | None:
        """Remove and return the collected reasoning items, which later requests send back; None if there are
        none.
        """
        thoughts, self._thoughts = "".join(self._thoughts), []
        if raw := self._take_items():
            return Origin(self._provider, self._model, raw)
        if self._has_content_key and thoughts:
            return Origin(self._provider, self._model, {"reasoning_content": repair_value(thoughts)})
        return None

    def _take_items(self) -> JsonObject:
        """Remove and return the items in a form of the server's own; empty if there are none."""
        details, blocks = self._details.joined_items, self._blocks.signed_blocks
        self._details, self._blocks = ReasoningDetails(), ThinkingBlocks()
        if details:
            return {"reasoning_details": details}
        return {"thinking_blocks": blocks} if blocks else {}

    def _end_text(self) -> None:
        """End the open text part. It gets citations if the server searched the web."""
        annotations, self._annotations = self._annotations, []
        origin = Origin(self._provider, self._model, {"annotations": annotations}) if annotations else None
        self._parts.end(origin, url_citations(annotations, self._parts.open_text))

    # --- calls

    def _call_piece(self, raw: JsonObject, place: int | None = None) -> None:
        call = self._calls.find_call(raw, place) or self._begin_call(raw, place)
        if call.has_ended and call.is_followed_by(raw):
            raw = {**raw, "id": "", "function": {**object_at(raw, "function"), "name": call.name}}
            call = self._begin_call(raw, place)
        elif call.has_ended:
            if not call.repeats(raw):
                self._warnings.append(
                    f"the model added arguments to its complete call of {call.name}: left out"
                )
            return
        ready, is_whole = add_piece(call, raw)
        if call.is_shown and ready:
            self._parts.out.append(ToolCallDelta(call.at, ready))
        elif self._calls.open is call and not call.is_shown and call.name:  # some servers name a call later
            self._show_call(call)
        if is_whole and call.is_shown:
            self._end_call(call)
            self._show_waiting()

    def _begin_call(self, raw: JsonObject, place: int | None) -> OpenCall:
        self._end_part()
        if (earlier := self._calls.open) is not None and earlier.name and earlier.is_whole:
            self._end_call(earlier)
            self._show_waiting()
        made = f"call_{self._id}_{len(self._calls.calls)}"
        return self._calls.begin(raw, self._parts.index(), made, place)

    def _show_waiting(self) -> None:
        """Emit the calls whose start was delayed, in order, up to the first call that is still incomplete."""
        while (waiting := self._calls.open) is not None and waiting.name:
            self._show_call(waiting)
            if not waiting.is_whole:
                return
            self._end_call(waiting)

    def _show_call(self, call: OpenCall) -> None:
        call.is_shown = True
        self._parts.out.append(ToolCallStart(call.at, call.id, call.name))
        if call.arguments.text:
            self._parts.out.append(ToolCallDelta(call.at, call.arguments.text))

    def _end_call(self, call: OpenCall) -> None:
        if not call.is_shown:
            self._show_call(call)
        call.has_ended = True
        self._parts.out.append(ToolCallEnd(call.at, call.part(self._provider, self._model)))

    def _end_calls(self) -> None:
        """End the calls that are still open, and drop truncated calls."""
        is_cut = finish_kind(self._finish or "") in CUT
        for call in self._calls.calls:
            if call.has_ended:
                continue
            if not call.name or (is_cut and not call.is_whole):
                self._warnings.append(
                    f"the model did not finish its call of {call.name or 'a tool'}, so the call was dropped"
                )
                call.has_ended = True
                if call.name and not call.is_shown:
                    self._show_call(call)
                continue
            self._end_call(call)

    # --- the end

    def _end(self) -> Sequence[StreamEvent]:
        self._is_finished = True
        self._say_held()
        for channel, said in self._channels.close():
            self._sort([(channel, said)] if channel == "reasoning" else self._tags.feed(said))
        self._sort(self._tags.close())
        if self._tags.was_unopened:
            self._reading.on_unopened()
        has_printed = self._end_printed() or self._end_thought_calls()
        self._end_calls()
        self._write("".join(self._late))
        self._end_part()
        self._keep_unsaid()
        ended = [call for call in self._calls.calls if call.name]
        reason = finish_reason(
            self._finish or "", has_calls=bool(ended) or has_printed, has_refusal=self._has_refusal
        )
        counts = usage(self._usage)
        if notice := self._reading.notice_of(counts.input_tokens):
            self._warnings.append(notice)
        finish = StreamFinish(reason, counts, {}, tuple(self._warnings), openai_rate_limit(self._head))
        return [*self._parts.take(), finish]

    def _end_printed(self) -> bool:
        """Use the calls that the model wrote as text, if the answer has no other calls."""
        rest, printed, was_cut = self._printed.close()
        if self._calls.calls:
            self._late.append("" if is_mark(rest) else rest)
            return False
        self._write(rest)
        if was_cut:
            self._warnings.append(
                "text after a tool call, or a tool call that the model did not finish, was dropped"
            )
        self._add_printed(printed)
        return bool(printed)

    def _end_thought_calls(self) -> bool:
        """Use the calls with which an answer that is only reasoning ends, because the server did not find them."""
        if self._calls.calls or self._parts.open_kind != "reasoning" or self._parts.count > 1:
            return False
        found = calls_at_end("".join(self._thoughts), self._reading.offered)
        self._add_printed(found)
        return bool(found)

    def _add_printed(self, printed: Sequence[PrintedCall]) -> None:
        if printed:
            self._end_part()
        for number, call in enumerate(printed):
            raw: JsonObject = {
                "id": f"call_{self._id}_{number}",
                "index": number,
                "function": {"name": call.name, "arguments": call.arguments},
            }
            self._call_piece(raw)

    def _keep_unsaid(self) -> None:
        """Add parts for reasoning items, annotations and other fields that no part of the answer contains yet."""
        if raw := self._take_items():  # reasoning without text, which is only encrypted
            self._parts.begin("reasoning")
            self._parts.end(Origin(self._provider, self._model, raw))
        if self._annotations:  # the annotations arrived after the end of the text that they refer to
            origin = Origin(self._provider, self._model, {"annotations": self._annotations})
            sources = dict.fromkeys(found.source for found in url_citations(self._annotations, ""))
            self._parts.item(SearchPart((), tuple(sources), origin))
        if self._extra:
            self._parts.item(OpaquePart(Origin(self._provider, self._model, self._extra)))


def _contents(content: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a content: a string, or a list of typed parts (Mistral)."""
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list | dict):
        parts = content if isinstance(content, list) else [content]
        for part in objects_at({"content": parts}, "content"):
            if text_at(part, "type") == "thinking":
                texts = (text_at(item, "text") for item in objects_at(part, "thinking"))
                yield "thinking", text_at(part, "thinking") or "".join(texts)
            else:
                yield "text", text_at(part, "text")


def _failure_in(event: JsonObject, *, is_error: bool) -> ProviderFailure | None:
    """Return the error in an event of the stream, which can stand beside an empty or missing list of choices."""
    for choice in objects_at(event, "choices"):
        if not (is_error or event.get("error")):
            failed = object_at(choice, "error") or object_at(event, "x_groq", "error")
            return find_failure({"error": repair_object(failed)}) if failed else None
    if "choices" not in event and int_at(event, "error_code"):  # FastChat
        return find_failure({"message": text_at(event, "text"), "code": int_at(event, "error_code")})
    groq = object_at(event, "x_groq").get("error")
    found = find_failure(repair_object({**event, "error": groq} if groq else event))
    return found or (ProviderFailure() if is_error else None)


def _call_pieces(delta: JsonObject) -> Iterator[JsonObject]:
    yield from objects_at(delta, "tool_calls")
    if call := object_at(delta, "tool_calls"):  # one call instead of a list
        yield call
    if older := object_at(delta, "function_call"):
        yield {"index": 0, "function": older}
