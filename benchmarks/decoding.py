"""Compare the decoding of streams with the official SDK of the provider: python -m benchmarks.decoding.

Both decoders read the same bytes from memory, alternately in the same run. Our decoder builds a Response; the SDK
yields its typed events. CPU time is measured, so that other programs do not count. The run fails if the ratio of the
times is LIMIT or more, or if our time grows much faster than the number of deltas (GROWTH_LIMIT).
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.client import _CODECS
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from agent_ls.llm.sse import SseDecoder

DELTAS, RUNS, CHUNK = 20_000, 7, 1024
LIMIT = 0.5  # our time must be below this share of the SDK's time
GROWTH_LIMIT = 6.5  # five times the deltas must take less than this many times as long


def frames(events: list[dict[str, object]], *, named: bool) -> bytes:
    lines = (
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events
    )
    return "".join(lines).encode()


def anthropic_stream(deltas: int) -> bytes:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    delta = {"type": "text_delta", "text": "word "}
    tail = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, object]] = [
        {
            "type": "message_start",
            "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for _ in range(deltas)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": tail, "usage": usage},
        {"type": "message_stop"},
    ]
    return frames(events, named=True)


def responses_stream(deltas: int) -> bytes:
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": []}
    response = {**head, "parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}
    message = {"id": "msg", "type": "message", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": "word " * deltas, "annotations": []}
    at = {"item_id": "msg", "output_index": 0, "content_index": 0}
    kinds: list[dict[str, object]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        *(
            {"type": "response.output_text.delta", **at, "delta": "word ", "logprobs": []}
            for _ in range(deltas)
        ),
        {"type": "response.output_item.done", "output_index": 0, "item": {**message, "content": [text]}},
        {"type": "response.completed", "response": response},
    ]
    return frames([{**kind, "sequence_number": n} for n, kind in enumerate(kinds)], named=True)


def gemini_stream(deltas: int) -> bytes:
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
    head: dict[str, object] = {"usageMetadata": usage, "modelVersion": "m", "responseId": "r"}
    content = {"parts": [{"text": "word "}], "role": "model"}
    said = {"content": content, "index": 0}
    events = [{"candidates": [said], **head}] * deltas
    return frames([*events, {"candidates": [{**said, "finishReason": "STOP"}], **head}], named=False)


def chat_stream(deltas: int) -> bytes:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events: list[dict[str, object]] = [
        *({**head, "choices": [said]} for _ in range(deltas)),
        {**head, "choices": [end]},
    ]
    return frames(events, named=False) + b"data: [DONE]\n\n"


def ours(provider: str, data: bytes) -> None:
    request = Request("m", (user("hi"),))
    decoder = _CODECS[provider](ConnectionSettings()).stream_decoder(request, ReplyHead(200))
    lines, folded = SseDecoder(), Accumulator(provider)
    for chunk in chunks(data):
        for frame in lines.feed(chunk):
            for event in decoder.feed(frame):
                folded.feed(event)
    for event in decoder.close():
        folded.feed(event)
    assert folded.response().text


def chunks(data: bytes) -> Iterator[bytes]:
    return (data[start : start + CHUNK] for start in range(0, len(data), CHUNK))


def client(library: str, data: bytes) -> Any:
    """Return a client of the HTTP library `library` that answers each request with `data`, without a network."""
    http: Any = importlib.import_module(library)

    def answer(_: object) -> object:
        return http.Response(200, headers={"content-type": "text/event-stream"}, content=chunks(data))

    return http.Client(transport=http.MockTransport(answer))


SAID = [{"role": "user", "content": "hi"}]


def read_anthropic(data: bytes) -> None:
    sdk: Any = importlib.import_module("anthropic")
    reader = sdk.Anthropic(api_key="k", http_client=client("httpx2", data))
    exhaust(reader.messages.create(model="m", max_tokens=9, messages=SAID, stream=True))


def read_responses(data: bytes) -> None:
    sdk: Any = importlib.import_module("openai")
    reader = sdk.OpenAI(api_key="k", http_client=client("httpx2", data))
    exhaust(reader.responses.create(model="m", input="hi", stream=True))


def read_chat(data: bytes) -> None:
    sdk: Any = importlib.import_module("openai")
    reader = sdk.OpenAI(api_key="k", http_client=client("httpx2", data))
    exhaust(reader.chat.completions.create(model="m", messages=SAID, stream=True))


def read_gemini(data: bytes) -> None:
    sdk: Any = importlib.import_module("google.genai")
    options = sdk.types.HttpOptions(httpx_client=client("httpx", data))
    reader = sdk.Client(api_key="k", http_options=options)
    exhaust(reader.models.generate_content_stream(model="m", contents="hi"))


def exhaust(stream: Any) -> None:
    assert sum(1 for _ in stream) >= DELTAS


WIRES: Sequence[tuple[str, Callable[[int], bytes], Callable[[bytes], None]]] = (
    ("anthropic", anthropic_stream, read_anthropic),
    ("openai", responses_stream, read_responses),
    ("gemini", gemini_stream, read_gemini),
    ("groq", chat_stream, read_chat),  # any server with the Chat Completions API
)


def medians(*runs: Callable[[], None]) -> list[float]:
    """Call the functions `runs` alternately, and return the median CPU time of each in seconds.

    They run alternately, so that a slow phase of the machine affects all functions.
    """
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(RUNS):
        for run, times in zip(runs, found, strict=True):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
    return [statistics.median(times) for times in found]


def main() -> int:
    print(f"{'provider':12} {'ours ms':>9} {'x5 deltas':>10} {'sdk ms':>9} {'ratio':>7}")
    has_failed = False
    for provider, make, read in WIRES:
        data, longer = make(DELTAS), make(5 * DELTAS)
        mine, five, theirs = medians(
            partial(ours, provider, data), partial(ours, provider, longer), partial(read, data)
        )
        ratio, growth = mine / theirs, five / mine
        print(
            f"{provider:12} {mine * 1000:9.0f} {growth:10.1f} {theirs * 1000:9.0f} {ratio:7.2f}", flush=True
        )
        has_failed = has_failed or ratio >= LIMIT or growth >= GROWTH_LIMIT
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
