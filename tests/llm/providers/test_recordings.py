"""Recordings of real services decode to the facts of their manifest.

Skipped unless a folder with recordings is next to the repository.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import Codec, ReplyHead
from tests.llm.recordings import FOLDER, NEEDS_RECORDINGS, recordings, wire_bytes
from tests.llm.wire_facts import check_facts, decoded_body, decoded_stream
from tests.support.codec_runs import ANTHROPIC, CHAT, GEMINI, OPENAI, ask, cuttings

CODECS: dict[str, Codec] = {
    "anthropic": ANTHROPIC,
    "openai-responses": OPENAI,
    "gemini": GEMINI,
    "chat": CHAT,
}
KINDS = ("anthropic", "responses", "gemini", "chat", "anthropic-json", "responses-json", "chat-json", "raw")
TERMINAL = ("message_stop", "response.completed", "response.incomplete", "response.failed")

pytestmark = NEEDS_RECORDINGS

ANSWERS = recordings(CODECS, *KINDS)
STREAMS = [p for p in ANSWERS if p.values[0]["framing"] not in ("json", "json-array")]
BODIES = [p for p in ANSWERS if p.values[0]["framing"] in ("json", "json-array")]

# The errors of the streams that end with an error.
FAILED: dict[str, type[e.LlmError]] = {
    "anthropic/errors/midstream-overloaded": e.OverloadedError,
    "openai-responses/errors/midstream-failed": e.QuotaExceededError,
    "gemini/errors/midstream": e.ProviderError,
    "chat/groq/midstream-error": e.InvalidRequestError,
    "chat/llama-box/midstream-error": e.ContextLengthError,
    "chat/openrouter/midstream-error": e.InvalidRequestError,
}


def answers(entry: dict[str, Any]) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield each answer of a recording with its facts; a file may have several answers in sequence."""
    data, facts = wire_bytes(entry), entry["facts"]
    if "responses" not in facts:
        yield data, facts
        return
    part, each = [], iter(facts["responses"])
    for frame in data.split(b"\n\n"):
        part.append(frame + b"\n\n")
        payload = frame.partition(b"data: ")[2]
        if payload.startswith(b"{") and json.loads(payload)["type"] in TERMINAL:
            yield b"".join(part), next(each)
            part = []
    assert next(each, None) is None


@pytest.mark.sweep
@pytest.mark.req("U2", "U3", "U4")
@pytest.mark.parametrize("entry", STREAMS)
def test_a_recorded_stream_in_any_chunks_decodes_to_the_facts_of_the_manifest(entry: dict[str, Any]) -> None:
    codec = CODECS[entry["provider"]]
    for data, facts in answers(entry):
        expected = decoded_stream(codec, ask(), [data])
        for chunks in cuttings(data, entry["id"]):
            found = decoded_stream(codec, ask(), chunks)
            check_facts(found, facts)
            assert found.events == expected.events
            assert type(found.error) is FAILED.get(entry["id"], type(None))


@pytest.mark.req("U2")
@pytest.mark.parametrize("entry", BODIES)
def test_a_recorded_unstreamed_answer_decodes_to_the_facts_of_the_manifest(entry: dict[str, Any]) -> None:
    body = (FOLDER / entry["file"]).read_bytes()
    check_facts(decoded_body(CODECS[entry["provider"]], ask(), body), entry["facts"])


# The class of each error, and its retry delay in seconds.
ERRORS: dict[str, tuple[type[e.LlmError], float | None]] = {
    "anthropic/errors/400-context": (e.ContextLengthError, None),
    "anthropic/errors/404-model": (e.NotFoundError, None),
    "anthropic/errors/429-rate-limit": (e.RateLimitError, None),
    "anthropic/errors/500-api-error": (e.ServerError, None),
    "anthropic/errors/529-overloaded": (e.OverloadedError, None),
    "openai-responses/errors/400-context": (e.ContextLengthError, None),
    "openai-responses/errors/400-min-output-tokens": (e.InvalidRequestError, None),
    "openai-responses/errors/400-orphan-reasoning": (e.InvalidRequestError, None),
    "openai-responses/errors/400-previous-response": (e.InvalidRequestError, None),
    "openai-responses/errors/404-model": (e.NotFoundError, None),
    "openai-responses/errors/429-quota": (e.QuotaExceededError, None),
    "gemini/errors/400-context": (e.ContextLengthError, None),
    "gemini/errors/404-model": (e.NotFoundError, None),
    "gemini/errors/429-quota": (e.QuotaExceededError, None),
    "gemini/errors/429-retry-info": (e.RateLimitError, 48.0),
    "gemini/errors/503-overloaded": (e.OverloadedError, None),
    "chat/azure/429-retry-after": (e.RateLimitError, 0.0),
    "chat/deepseek/400-context": (e.ContextLengthError, None),
    "chat/groq/400-tool-use-failed": (e.InvalidRequestError, None),
    "chat/llama-cpp/400-context": (e.ContextLengthError, None),
    "chat/openai/429-rate-limit": (e.RateLimitError, 1.146),
    "chat/openrouter/429": (e.RateLimitError, None),
}


@pytest.mark.req("U8")
@pytest.mark.parametrize("entry", recordings(CODECS, "error"))
def test_a_recorded_error_is_mapped_to_the_expected_error_class(entry: dict[str, Any]) -> None:
    http, body = entry.get("http", {}), entry["facts"]["body"]
    head = ReplyHead(http.get("status") or body["error"]["code"], http.get("headers", {}))
    sent = (FOLDER / entry["file"]).read_bytes()
    assert json.loads(sent) == body
    error = CODECS[entry["provider"]].decode_error(ask(), head, sent)
    assert (type(error), error.retry_after_s) == ERRORS[entry["id"]]
    told = (
        body["error"].get("metadata", {}).get("raw") or body["error"]["message"]
    )  # a broker's own, or its server's
    assert " ".join(told.split())[:200] in str(error)
