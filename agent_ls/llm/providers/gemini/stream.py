"""Decode Gemini's stream. Each chunk is a response with parts to append; a complete answer is one chunk.

There is no terminal event. The stream is complete if it ends after a chunk with a finish reason; older models send
a finish reason in every chunk. Consecutive texts are joined to one part. If one of these texts has a
signature, the `origin` of the joined part also stores the texts separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent_ls.llm.errors import StreamError
from agent_ls.llm.messages import Citation, JsonObject, JsonValue, OpaquePart, Origin, ToolCallPart
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.call_names import offered_name
from agent_ls.llm.providers.error_bodies import find_failure, is_keep_alive
from agent_ls.llm.providers.gemini.errors import NAME, body_error, http_error
from agent_ls.llm.providers.gemini.grounding import find_citations, search_part
from agent_ls.llm.providers.gemini.partial_args import PartialArgs
from agent_ls.llm.providers.gemini.response import finish_reason, usage
from agent_ls.llm.providers.part_writer import PartWriter
from agent_ls.llm.providers.wire_json import (
    arguments_at,
    json_text,
    object_at,
    objects_at,
    parse_event,
    repair_object,
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

_GOOD = ReplyHead(200)
MIN_REPEATED = 20  # characters; a shorter text may repeat by chance
_CAMEL = {"function_call": "functionCall", "thought_signature": "thoughtSignature"}
_KNOWN = ("candidates", "usageMetadata", "promptFeedback")


class GeminiStream:
    """The StreamDecoder of the Gemini API; see StreamDecoder for the contract."""

    def __init__(self, request: Request, head: ReplyHead) -> None:
        self._model = request.model
        self._offered = frozenset(tool.name for tool in request.tools)
        self._parts = PartWriter()
        self._pieces: list[tuple[JsonObject, list[str]]] = []  # wire parts of the open part, with their texts
        self._has_signature = False
        self._partial: tuple[JsonObject, str, PartialArgs] | None = (
            None  # a call that arrives in pieces: its wire part, id and arguments
        )
        self._bare: tuple[JsonObject, str] | None = None  # a call without arguments: its wire part and id
        self._grounding: JsonObject = {}
        self._said = ""  # text of ended parts
        self._texts = 0  # chunks with text
        self._is_blocked = False
        self._usage: dict[str, JsonValue] = {}
        self._id = ""
        self._calls = 0
        self._finish = ""
        self._message = ""
        self._has_started = self._is_finished = False

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if (
            frame.data.strip() == "[DONE]" and self._has_started
        ):  # some gateways end a stream like OpenAI's servers
            self._finish = self._finish or "STOP"
        if is_keep_alive(frame.data) or frame.data.strip() == "[DONE]":
            return ()
        event = parse_event(frame.data, unmended="candidates")
        if event is None:
            raise http_error(self._model, _GOOD, frame.data.encode())
        return self.chunk(event)

    def chunk(self, event: JsonObject) -> Sequence[StreamEvent]:
        """Return the events of one response of the stream.

        Raises:
            LlmError: the response is an error.
        """
        event = object_at(event, "response") or event  # some proxies wrap each chunk
        if event.get("error"):
            raise body_error(self._model, repair_object(event))
        if not any(event.get(key) for key in _KNOWN) and find_failure(event):
            raise body_error(self._model, repair_object(event))
        if not any(key in event for key in _KNOWN):
            return (ProviderEvent(repair_object(event)),)
        self._start(event)
        self._usage.update({k: v for k, v in object_at(event, "usageMetadata").items() if v is not None})
        if reason := text_at(object_at(event, "promptFeedback"), "blockReason"):
            self._finish, self._is_blocked = reason, True
        for candidate in objects_at(event, "candidates"):
            parts = list(objects_at(object_at(candidate, "content"), "parts"))
            if text_at(candidate, "finishReason") and self._repeats(parts):
                parts = []
            self._texts += any("text" in part for part in parts)
            for part in parts:
                self._part(part)
            self._finish = text_at(candidate, "finishReason") or self._finish
            if self._finish:
                self._end_bare_call()
            self._message = text_at(candidate, "finishMessage") or self._message
            self._grounding = object_at(candidate, "groundingMetadata") or self._grounding
            break  # only one candidate is requested
        return self._parts.take()

    def close(self) -> Sequence[StreamEvent]:
        if self._is_finished:
            return ()
        if not self._finish:
            raise StreamError(
                "the connection to gemini ended in the middle of the answer",
                provider=NAME,
                model=self._model,
                hint="Send again; what arrived is kept.",
            )
        self._is_finished = True
        self._end_bare_call()
        self._end()
        self._begin_cut_call()
        warnings = self._warnings()
        if self._grounding:
            grounding = repair_object(self._grounding)
            self._parts.item(search_part(grounding, self._origin({"groundingMetadata": grounding})))
        reason = finish_reason(self._finish, has_calls=self._calls > 0, is_blocked=self._is_blocked)
        return [*self._parts.take(), StreamFinish(reason, usage(self._usage), {}, warnings)]

    def _repeats(self, parts: Sequence[JsonObject]) -> bool:
        """Return whether the last chunk has the whole text once more, as some proxies send it."""
        said = self._said + (self._parts.open_text if self._parts.open_kind == "text" else "")
        is_plain = all(set(part) == {"text"} for part in parts)
        return (
            is_plain
            and (len(said) >= MIN_REPEATED or (self._texts > 1 and " " in said.strip()))
            and "".join(text_at(part, "text") for part in parts) == said
        )

    def _warnings(self) -> tuple[str, ...]:
        notes = [self._message] if self._message and self._finish != "STOP" else []
        if self._partial is not None:
            name = text_at(object_at(self._partial[0], "functionCall"), "name")
            notes.append(f"the model did not finish its call of {name}, so the call was dropped")
        return tuple(notes)

    def _begin_cut_call(self) -> None:
        """Emit the start of a call whose arguments did not arrive completely."""
        if self._partial is not None:
            begun, call_id, _ = self._partial
            name = offered_name(text_at(object_at(begun, "functionCall"), "name"), self._offered)
            self._parts.out.append(ToolCallStart(self._parts.index(), call_id, name))

    def _start(self, event: JsonObject) -> None:
        if self._has_started:
            return
        self._has_started = True
        self._id = text_at(event, "responseId")
        self._parts.out.append(StreamStart(self._id, text_at(event, "modelVersion")))

    # --- parts

    def _part(self, part: JsonObject) -> None:
        part = {_CAMEL.get(key, key): value for key, value in part.items()}  # some proxies write snake case
        if self._bare and ("functionCall" not in part or text_at(object_at(part, "functionCall"), "name")):
            self._end_bare_call()
        if "functionCall" in part:
            self._call(part)
        elif isinstance(part.get("text"), str):
            self._text(part)
        elif set(part) - {"thoughtSignature", "thought"}:
            self._end()
            self._parts.item(OpaquePart(self._origin({"parts": [repair_object(part)]})))

    def _text(self, part: JsonObject) -> None:
        kind: Literal["reasoning", "text"] = "reasoning" if part.get("thought") is True else "text"
        text, signature = text_at(part, "text"), text_at(part, "thoughtSignature")
        if not text and not signature:
            return
        if self._parts.open_kind not in (kind, None) and (text or kind == "reasoning"):
            self._end()
        if not text and self._parts.open_kind is None:
            self._parts.item(OpaquePart(self._origin({"parts": [repair_object(part)]})))
            return
        self._parts.write(kind, text)
        self._remember(part, signature)

    def _remember(self, part: JsonObject, signature: str) -> None:
        """Store `part` as a piece of the open part.

        A piece with a signature is stored separately. Other consecutive pieces are joined.
        """
        if signature or not self._pieces or "thoughtSignature" in self._pieces[-1][0]:
            self._pieces.append((part, []))
        self._pieces[-1][1].append(text_at(part, "text"))
        self._has_signature = self._has_signature or bool(signature)

    def _end(self) -> None:
        """End the open part.

        If the part has signatures, store its pieces in the origin, so that they are sent back unchanged.
        """
        pieces, self._pieces = self._pieces, []
        cited: tuple[Citation, ...] = ()
        if self._parts.open_kind == "text":
            text = self._parts.open_text
            cited = find_citations(self._grounding, self._said, text) if self._grounding else ()
            self._said += text
        whole = [repair_object({**part, "text": "".join(texts)}) for part, texts in pieces]
        origin = self._origin({"parts": whole}) if self._has_signature else None
        self._has_signature = False
        self._parts.end(origin, cited)

    def _call(self, part: JsonObject) -> None:
        call = object_at(part, "functionCall")
        name = text_at(call, "name")
        if name:
            self._end()
            self._calls += 1
            call_id = text_at(call, "id") or f"call_{self._id}_{self._calls - 1}"
            if call.get("willContinue") is True:
                self._partial = (part, call_id, PartialArgs())
                self._partial[2].add(call)
                return
            if call.get("args"):
                self._whole_call(repair_object(part), call_id)
            else:
                self._bare = part, call_id  # its arguments may follow, in a part without a name
        elif self._bare is not None:
            begun, call_id = self._bare
            self._bare = None
            function = {**object_at(begun, "functionCall"), "args": call.get("args")}
            self._whole_call(repair_object({**begun, "functionCall": function}), call_id)
        elif self._partial is not None:
            begun, call_id, arguments = self._partial
            arguments.add(call)
            if call.get("willContinue") is not True:
                self._partial = None
                function = {
                    k: v
                    for k, v in object_at(begun, "functionCall").items()
                    if k not in ("willContinue", "partialArgs")
                }
                whole = {**begun, "functionCall": {**function, "args": arguments.value}}
                self._whole_call(repair_object(whole), call_id)

    def _end_bare_call(self) -> None:
        """End a call whose arguments did not follow: it has none."""
        if self._bare is not None:
            part, call_id = self._bare
            self._bare = None
            self._whole_call(repair_object(part), call_id)

    def _whole_call(self, part: JsonObject, call_id: str) -> None:
        call = object_at(part, "functionCall")
        name = offered_name(text_at(call, "name"), self._offered)
        arguments = json_text(arguments_at(call, "args"))
        at = self._parts.index()
        whole = ToolCallPart(call_id, name, arguments, self._origin({"parts": [part]}))
        self._parts.out += [
            ToolCallStart(at, call_id, name),
            ToolCallDelta(at, arguments),
            ToolCallEnd(at, whole),
        ]

    def _origin(self, raw: JsonObject) -> Origin:
        return Origin(NAME, self._model, raw)
