"""Token counts and delays as servers and proxies of the reports write them."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm.requests import Usage
from tests.llm.providers.test_anthropic_stream import end, sse, text_block
from tests.llm.reports.chat import answer as chat_answer, refusal, say
from tests.llm.reports.test_anthropic import ASK
from tests.llm.reports.test_broken_streams import piece
from tests.support.codec_runs import ANTHROPIC, response_of
from tests.support.reports import reported

STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CHAT: list[Any] = [
    pytest.param(
        {"prompt_tokens": "10", "completion_tokens": 1.0, "total_tokens": None}, (10, 1, None), id="texts"
    ),
    pytest.param({"input_tokens": 7, "output_tokens": 3}, (7, 3, None), id="names of another wire"),
    pytest.param(
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 40}},
        (40, 1, 40),
        id="more cached than sent",
    ),
    reported(
        "adolfousier/opencrabs#1636",
        {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 90}},
        (100, 1, 90),
    ),
    reported("laravel/ai#924",
        {"prompt_tokens": 10339, "completion_tokens": 60, "prompt_tokens_details": {"cached_tokens": 10318}},
        (10339, 60, 10318)),
    reported("BerriAI/litellm#11789",
        {"prompt_tokens": 2459, "completion_tokens": 23, "prompt_tokens_details": {"cached_tokens": 0},
            "cache_read_input_tokens": 2455}, (2459, 23, 2455)),
    reported("iii-hq/workers#740",
        {"prompt_tokens": 1000, "completion_tokens": 5, "prompt_cache_hit_tokens": 900,
            "prompt_cache_miss_tokens": 100},
        (1000, 5, 900)),
    reported("earendil-works/pi#2048",
        {"prompt_tokens": 3000, "completion_tokens": 1200, "total_tokens": 13_652,
            "prompt_tokens_details": {"cached_tokens": 9452}}, (12_452, 1200, 9452)),
    pytest.param(
        {"prompt_tokens": 30, "completion_tokens": 2, "total_tokens": 52,
            "prompt_tokens_details": {"cached_tokens": 20}},
        (50, 2, 20), id="the cached part beside the prompt"),
    ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8, "prompt_tokens_details": {"cached_tokens": 0}}, (9, 0, 8)),
    ({"prompt_tokens": 9, "cached_tokens": 7, "prompt_tokens_details": {"cached_tokens": 0}}, (9, 0, 7)),
    ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}, (9, 0, 0)),
    pytest.param({"prompt_tokens": -5, "completion_tokens": True}, (0, 0, None), id="no counts"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "expected"), CHAT)
def test_counts_of_chat_servers_are_read(wire: Any, expected: Any) -> None:
    usage = chat_answer(piece(content="a"), STOP, {"choices": [], "usage": wire}).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == expected


@pytest.mark.report("lbjlaq/Antigravity-Manager#1915")
def test_counts_in_each_chunk_are_not_added_up() -> None:
    chunks = [piece(content="a"), piece(content="b"), STOP]
    counts = [{"prompt_tokens": 128, "completion_tokens": at} for at in (3, 5, 9)]
    usage = chat_answer(*({**it, "usage": wire} for it, wire in zip(chunks, counts, strict=True))).usage
    assert (usage.input_tokens, usage.output_tokens) == (128, 9)


def counted(started: Any, ended: Any) -> Usage:
    begin = {"type": "message_start", "message": {"id": "m", "model": "m", "usage": started}}
    *deltas, last = end()
    deltas = [{**event, "usage": ended} if event["type"] == "message_delta" else event for event in deltas]
    return response_of(ANTHROPIC, sse(begin, *text_block(0, "hi"), *deltas, last), ASK).usage


@pytest.mark.report("envoyproxy/ai-gateway#2241")
@pytest.mark.report("maximhq/bifrost#6598")
@pytest.mark.report("envoyproxy/ai-gateway#2239")
def test_counts_of_the_last_event_replace_those_of_the_first() -> None:
    whole = counted({"input_tokens": 5000}, {"input_tokens": 100, "cache_read_input_tokens": 4900})
    assert (whole.input_tokens, whole.cache_read_tokens) == (5000, 4900)
    twice = {"input_tokens": 317, "cache_creation_input_tokens": 4425}
    assert counted(twice, twice).input_tokens == 4742


def test_zeros_of_the_last_event_do_not_replace_counts() -> None:
    usage = counted(
        {"input_tokens": 5000, "cache_read_input_tokens": 100},
        {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5},
    )
    assert (usage.input_tokens, usage.output_tokens) == (5100, 5)


DELAYS: list[Any] = [
    reported(
        "earendil-works/pi#4991",
        "Monthly usage limit reached. Resets in 16 days. To continue, enable usage from your balance",
        16 * 86_400.0,
    ),
    reported(
        "diegosouzapw/OmniRoute#858",
        "You have exhausted your capacity on this model. Your quota will reset after 27h41m36s.",
        99_696.0,
    ),
    ("Too many requests, please wait 20 seconds", 20.0),
    ("Resets in 1 day 2 hours", 93_600.0),
    ("Resets in a month", None),
]


@pytest.mark.parametrize(("words", "delay_s"), DELAYS)
def test_a_delay_in_words_is_read(words: str, delay_s: float | None) -> None:
    assert refusal(429, say(words)).retry_after_s == delay_s
