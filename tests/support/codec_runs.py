"""Decode the bytes of a response stream by a codec, without a transport, in chunks that a test selects."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import user
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.providers.base import Codec, ReplyHead, WireRequest
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import Request, Response
from agent_ls.llm.sse import SseDecoder
from agent_ls.llm.stream import StreamEvent

ANTHROPIC: Codec = AnthropicCodec(capabilities_lookup("anthropic"))
OPENAI: Codec = OpenAIResponsesCodec(capabilities_lookup("openai"))

CHAT: Codec = ChatCodec("openrouter", capabilities_lookup("openrouter"))
GEMINI: Codec = GeminiCodec(capabilities_lookup("gemini"))

HEAD = ReplyHead(200, {"content-type": "text/event-stream"}, 1_000.0)


def ask(model: str = "m") -> Request:
    return Request(model, (user("hi"),))


def body_of(sent: WireRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(sent.content)
    return body


def cut(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """Return `data` in chunks of the given sizes, and the rest as one chunk."""
    chunks, start = [], 0
    for size in sizes:
        chunks.append(data[start : start + size])
        start += size
    return [*chunks, data[start:]]


def cuttings(data: bytes, seed: str) -> Iterator[list[bytes]]:
    """Yield `data` with each of the three line endings: as one chunk, byte by byte, and in random chunks."""
    lines = data.replace(b"\r\n", b"\n")
    for ending in (b"\n", b"\r\n", b"\r"):
        wire = lines.replace(b"\n", ending)
        yield [wire]
        yield [wire[at : at + 1] for at in range(len(wire))]
        for run in range(20 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 1):
            chance = random.Random(f"{seed} {run} {ending!r}")
            yield [*_random_chunks(wire, chance)]


def _random_chunks(wire: bytes, chance: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(wire):
        size = chance.choice((1, 2, 7, 50, 300, 4096))
        yield wire[at : at + size]
        at += size


def events_of(codec: Codec, chunks: Sequence[bytes], request: Request | None = None) -> list[StreamEvent]:
    """Return the events of a stream.

    Raises:
        LlmError: the decoder refuses the stream; StreamError if it is incomplete.
    """
    frames, decoder = SseDecoder(), codec.stream_decoder(request or ask(), HEAD)
    events: list[StreamEvent] = []
    for chunk in chunks:
        for frame in frames.feed(chunk):
            events += decoder.feed(frame)
    for frame in frames.close():
        events += decoder.feed(frame)
    events += decoder.close()
    return events


def response_of(codec: Codec, data: bytes, request: Request | None = None) -> Response:
    folded = Accumulator(codec.name)
    for event in events_of(codec, [data], request):
        folded.feed(event)
    return folded.response()
