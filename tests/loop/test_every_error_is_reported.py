"""A turn that ends with an error has an error event with a message, for any answer of a provider with status 200."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
from agent_ls.loop.events.types import AssistantTextEnd, Error, ProcessingEnd
from tests.llm.test_end_to_end import Server, ask, every_wire
from tests.support.loopback import ErrorReply

pytestmark = pytest.mark.req("R1", "R5", "U8")

BODIES = ["", "null", "[]", "{}", '"x"', "<html>no</html>", '{"message": "boom"}']
ERRORS = [None, "boom", {}, {"message": None}, {"message": {"a": 1}}, {"message": "\ud800 boom\x07"}, [7]]
EVENTS: list[Any] = [
    {},
    None,
    [1],
    {"type": 7},
    {"type": "error"},
    {"type": "error", "error": {"message": "\ud800 boom\x07"}},
    # Chat Completions
    {"choices": None},
    {"choices": [{}]},
    {"choices": [None]},
    {"choices": [{"delta": {"content": 7}}]},
    {"choices": [{"delta": {"content": "x"}, "finish_reason": 7}]},
    {"choices": [{"delta": {}, "finish_reason": "brand_new"}]},
    # Gemini
    {"candidates": []},
    {"candidates": [{"finishReason": "OTHER"}]},
    {"promptFeedback": {"blockReason": "SAFETY"}},
    # Responses
    {"type": "response.failed", "response": None},
    {"type": "response.failed", "response": {"error": None}},
    {"type": "response.incomplete", "response": {}},
    {"type": "response.completed"},
    {"type": "response.completed", "response": {"output": 7}},
    {"type": "response.output_item.added"},
    # Messages
    {"type": "message_start"},
    {"type": "message_stop"},
    {"type": "message_start", "message": {"usage": None}},
    {"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": "x"}},
]


def bodies() -> list[str]:
    whole = [json.dumps({"error": error}) for error in ERRORS]
    events = [f"data: {json.dumps(event)}\n\n" for event in EVENTS]
    return [*BODIES, *whole, *events, "data: [DONE]\n\n", "data: " + "[" * 20_000 + "\n\n"]


@every_wire
async def test_a_turn_that_ends_with_an_error_emits_one_error_event_with_a_message(
    tmp_path: Path, server: Server, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    answers = bodies()
    script = [ErrorReply(200, body, headers={"content-type": "text/event-stream"}) for body in answers]
    silent: dict[str, Any] = {}
    with server(script, allow_violations=True) as running, anyio.fail_after(240):
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-test")
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", running.base_url)
        session = agent_ls.open_session(
            folder=folder,
            state_dir=tmp_path / "state",
            provider=provider,
            model=ask(provider).model,
            settings={"retry": {"maxRetries": 0}},
        )
        async with session as opened:
            for body in answers:
                data = [event.data async for event in opened.run("Hello.")]
                reasons = [it.reason for it in data if isinstance(it, ProcessingEnd)]
                words = [it.message for it in data if isinstance(it, Error)]
                texts = [it.text for it in data if isinstance(it, AssistantTextEnd)]
                is_reported = len(words) == 1 and words[0].strip() and words[0].isprintable()
                if not (reasons == ["error"] and is_reported) and not (reasons == ["completed"] and texts):
                    silent[body[:200]] = (reasons, words, texts)
    assert not silent
