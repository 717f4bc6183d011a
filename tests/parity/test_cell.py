"""The checks of the parity tests can fail: an invalid body, a call without a result, an unused answer."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.parity.cell import SERVERS, cell
from tests.support.loopback import LoopbackProvider, ToolCall
from tests.support.sdk_bodies import faults_of

pytestmark = pytest.mark.req("P8")
TEXT = {"role": "user", "content": "hi"}
PROBE = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": None}
# Each body is valid, or has one extra field that the loopback servers ignore but the SDK does not know.
BODIES: dict[str, tuple[Any, Any]] = {
    "openai": (
        {"model": "m", "input": [TEXT], "tools": [PROBE]},
        {"model": "m", "input": [{**TEXT, "name": "me"}], "tools": [PROBE]},
    ),
    "anthropic": (
        {"model": "m", "max_tokens": 10, "messages": [TEXT]},
        {"model": "m", "max_tokens": 10, "messages": [{**TEXT, "name": "me"}]},
    ),
    "gemini": (
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "hi", "weight": 1}]}]},
    ),
}
PATHS = {"openai": "/responses", "anthropic": "/v1/messages", "gemini": "/v1beta/models/m:generateContent"}


def post(server: LoopbackProvider, path: str, body: Any) -> None:
    headers = {"x-api-key": "k", "authorization": "Bearer k", "x-goog-api-key": "k", "anthropic-version": "1"}
    request = urllib.request.Request(server.base_url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=240) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("provider", SERVERS)
@pytest.mark.parametrize("is_good", [True, False])
def test_a_body_with_a_field_unknown_to_the_sdk_is_an_error(provider: str, is_good: bool) -> None:
    good, bad = BODIES[provider]
    with SERVERS[provider](lambda _: "ok") as server:
        post(server, PATHS[provider], good if is_good else bad)
        assert (faults_of(server, provider) == []) is is_good


async def test_parity_test_with_an_unused_scripted_answer_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match="more or less often"):
        async with cell("anthropic", tmp_path, monkeypatch) as it:
            it.answers("One.", "Two.")
            await it.say("Hello?")


async def test_parity_test_fails_if_its_turn_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match="no more answers"):
        async with cell("openai", tmp_path, monkeypatch) as it:
            await it.say("Hello?")


async def test_parity_test_with_a_tool_call_without_result_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError, match="call"):
        async with cell("gemini", tmp_path, monkeypatch) as it:
            it.answers([ToolCall("read_file", {"file_path": "a"})], "Done.")
            await it.say("Hello?")
            it.events = [event for event in it.events if event.kind != "tool_call_end"]
