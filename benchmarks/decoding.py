"""Decoding of streams against the official SDK of the same provider, as a ratio: python -m benchmarks.decoding.

Both read the same bytes in the same run, from memory: ours to an accumulated Response, the SDK's to its typed events.
A provider whose SDK is not installed is measured by itself.
"""

from __future__ import annotations

import importlib
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from agent_ls.llm.accumulate import Accumulator
from agent_ls.llm.client import _CODECS
from agent_ls.llm.endpoint import ProviderSettings
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from agent_ls.llm.sse import SseDecoder

DELTAS, RUNS, CHUNK = 20_000, 5, 1024


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
    decoder = _CODECS[provider](ProviderSettings()).stream_decoder(request, ReplyHead(200))
    lines, folded = SseDecoder(), Accumulator(provider)
    for start in range(0, len(data), CHUNK):
        for frame in lines.feed(data[start : start + CHUNK]):
            for event in decoder.feed(frame):
                folded.feed(event)
    for event in decoder.close():
        folded.feed(event)
    assert folded.response().text


def sdk(provider: str) -> Callable[[bytes], object] | None:
    """The SDK's own reading of a stream, fed by a transport in memory; None where it is not installed."""
    try:
        package: Any = importlib.import_module("anthropic" if provider == "anthropic" else "openai")
    except ImportError:
        return None
    http: Any = _http_library()

    def read(data: bytes) -> None:
        chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]

        def answer(_: object) -> object:
            return http.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))

        client = http.Client(transport=http.MockTransport(answer))
        asked: dict[str, Any] = {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
        }
        if provider == "anthropic":
            stream = package.Anthropic(api_key="k", http_client=client).messages.create(max_tokens=9, **asked)
        else:
            stream = package.OpenAI(api_key="k", http_client=client).chat.completions.create(**asked)
        for _ in stream:
            pass

    return read


def _http_library() -> Any:
    """The newer SDKs use a fork."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        return importlib.import_module("httpx")


def seconds(run: Callable[[bytes], object], data: bytes) -> float:
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run(data)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    print(f"{'provider':12} {'ours ms':>9} {'x5 deltas':>10} {'sdk ms':>9} {'ratio':>7}")
    for provider, make in (("anthropic", anthropic_stream), ("groq", chat_stream)):
        data, longer = make(DELTAS), make(5 * DELTAS)
        mine, five = (seconds(partial(ours, provider), d) for d in (data, longer))
        reader = sdk(provider)
        theirs = seconds(reader, data) if reader else 0.0
        told = f"{theirs * 1000:9.0f} {mine / theirs:7.2f}" if theirs else f"{'-':>9} {'-':>7}"
        print(f"{provider:12} {mine * 1000:9.0f} {five / mine:10.1f} {told}")


if __name__ == "__main__":
    main()
