"""web_search on each native wire: the provider's own search, in a request of its own, counted as the session's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events.types import ToolCallEnd, UsageReport
from tests.parity import wires
from tests.parity.cell import SERVERS, cell
from tests.support.loopback import Answer, ErrorReply, Event, Reply, Text, ToolCall

pytestmark = [pytest.mark.req("P4", "P8"), pytest.mark.parametrize("provider", SERVERS)]
BUILT_IN = {
    "gemini": {"googleSearch": {}},
    "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    "openai": {"type": "web_search"},
}
SEARCH = ToolCall("web_search", {"query": "newest version of it"})
GROUNDED = {
    "candidates": [
        {
            "content": {"role": "model", "parts": []},
            "groundingMetadata": {
                "webSearchQueries": ["it version"],
                "groundingChunks": [{"web": {"uri": "https://it.example/news", "title": "News of it"}}],
            },
        }
    ]
}


async def test_web_search_runs_at_the_provider_and_its_text_is_the_tool_result(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(body: Any) -> Answer:
        if BUILT_IN[provider] in body.get("tools", []):
            sources = [Event(GROUNDED)] if provider == "gemini" else []
            return Reply([Text("It is at 4.2."), *sources])
        return "So it is 4.2." if wires.results(provider, body) else [SEARCH]

    async with cell(provider, tmp_path, monkeypatch, model=model, settings={"webSearch": True}) as it:
        await it.say("What is the newest version of it?")
        assert "web_search" in wires.offered(provider, it.bodies[0])
        searched = it.bodies[1]
        assert searched["tools"] == [BUILT_IN[provider]]
        assert wires.user_texts(provider, searched) == ["newest version of it"]
        assert it.results[0].text.startswith("It is at 4.2.")
        if provider == "gemini":
            assert "- News of it: https://it.example/news" in it.results[0].text
        assert len(it.of(UsageReport)) == 3
        calls = [report.call.input_tokens for report in it.of(UsageReport)]
        assert it.of(UsageReport)[-1].total.input_tokens == sum(calls)


async def test_search_that_fails_is_an_error_that_the_model_can_act_on(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch, settings={"webSearch": True}) as it:
        it.answers([SEARCH], ErrorReply(400, message="search is not enabled"), "Then not.")
        await it.say("What is the newest version of it?")
        assert it.results[0].is_error and "not enabled" in it.results[0].text
        assert [end.error_kind for end in it.of(ToolCallEnd)] == ["search"]
