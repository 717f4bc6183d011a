"""For any input from a server, a codec returns events or raises an LlmError (R5)."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm.errors import LlmError
from agent_ls.llm.providers.base import Codec, ReplyHead
from tests.support.codec_runs import ANTHROPIC, CHAT, HEAD, OPENAI, ask, events_of

CODECS = [
    pytest.param(ANTHROPIC, id="anthropic"),
    pytest.param(OPENAI, id="openai"),
    pytest.param(CHAT, id="chat"),
]

KEYS = [
    "type", "index", "delta", "content_block", "message", "usage", "text", "thinking", "partial_json", "signature",
    "error", "item", "output_index", "response", "output", "status", "content", "summary", "arguments", "input",
    "id", "call_id", "name", "stop_reason", "stop_details", "citation", "incomplete_details", "iterations", "code",
    "input_tokens", "output_tokens_details", "annotations", "summary_index", "choices", "finish_reason", "tool_calls",
    "function", "reasoning", "reasoning_details", "reasoning_content", "refusal", "prompt_tokens", "cost",
    "parts", "functionCall", "args", "partialArgs", "jsonPath", "stringValue", "willContinue",
    "thought", "thoughtSignature", "finishReason", "promptTokenCount", "groundingMetadata",
]  # fmt: skip
TYPES = [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "error", "ping", "response.created", "response.output_item.added", "response.output_item.done",
    "response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta",
    "response.reasoning_text.delta", "response.reasoning_summary_text.delta", "response.completed",
    "response.incomplete", "response.failed", "text", "thinking", "redacted_thinking", "tool_use", "server_tool_use",
    "message", "reasoning", "function_call", "custom_tool_call", "text_delta", "input_json_delta", "thinking_delta",
    "signature_delta", "citations_delta", "compaction", "completed", "incomplete",
]  # fmt: skip
LEAVES = [
    None,
    True,
    -1,
    0,
    1,
    2,
    1.5,
    10**400,
    float("inf"),
    "",
    "x",
    '{"a"',
    "\ud83d",
    "\ude00",
    "tool_use",
    "completed",
]


def anything(source: random.Random, depth: int) -> Any:
    shape = source.random()
    if depth == 0 or shape < 0.4:
        return source.choice(LEAVES)
    if shape < 0.5:
        return [anything(source, depth - 1) for _ in range(source.randrange(3))]
    return {"type": source.choice(TYPES)} | {
        source.choice(KEYS): anything(source, depth - 1) for _ in range(source.randrange(8))
    }


def event(source: random.Random) -> dict[str, Any]:
    # Mostly events that are nearly valid, because such input gets furthest.
    inner = {
        key: anything(source, 2) for key in ("delta", "content_block", "item", "message", "response", "usage")
    }
    index = source.choice([0, 0, 1, 2, None])
    choice = {"index": index, "delta": inner["delta"], "finish_reason": source.choice(["", None, "stop"])}
    choices = [choice, *([anything(source, 3)] if source.random() < 0.2 else [])]
    return {
        "type": source.choice(TYPES[:19]),
        "index": index,
        "output_index": index,
        "choices": choices,
        **inner,
    }


def assert_writable(values: Sequence[Any]) -> None:
    """Assert that values have no lone surrogates, which cannot be written to a log or an LSP message."""
    json.dumps([asdict(value) for value in values], ensure_ascii=False).encode()


@pytest.mark.req("R5")
@pytest.mark.parametrize("codec", CODECS)
def test_any_stream_gives_events_or_an_llm_error(codec: Codec) -> None:
    ended = 0
    for seed in range(600):
        source = random.Random(seed)
        wire = b"".join(b"data: " + json.dumps(event(source)).encode() + b"\n\n" for _ in range(12))
        try:
            assert_writable(events_of(codec, [wire]))
            ended += 1
        except LlmError:
            pass
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    assert ended, "no stream ever reached its end: the junk is too wild to prove anything"


@pytest.mark.req("R5")
@pytest.mark.parametrize("codec", CODECS)
def test_any_body_gives_a_response_or_an_llm_error(codec: Codec) -> None:
    for seed in range(600):
        data = json.dumps(anything(random.Random(seed), 4)).encode()
        try:
            assert isinstance(codec.decode_error(ask(), ReplyHead(400 + seed % 200), data), LlmError)
            assert_writable([codec.decode(ask(), HEAD, data)])
        except LlmError:
            pass
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=60))
def test_any_bytes_give_an_llm_error(codec: Codec, data: bytes) -> None:
    with pytest.raises(LlmError):
        events_of(codec, [data])
    with pytest.raises(LlmError):
        codec.decode(ask(), HEAD, b"\xff" + data)
