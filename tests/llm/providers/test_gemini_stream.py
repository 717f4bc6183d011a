from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ReasoningPart, SearchPart, TextPart, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request, Usage
from tests.support.codec_runs import GEMINI, HEAD, ask, body_of, cut, events_of, response_of


def chunk(*parts: Any, finish: str = "", **more: Any) -> Any:
    candidate = {"content": {"parts": [*parts]}, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate], "responseId": "r1", "modelVersion": "m1", **more}


def wire(*chunks: Any) -> bytes:
    return "".join(f"data: {json.dumps(item)}\r\n\r\n" for item in chunks).encode()


STOP = chunk(finish="STOP")


def replayed(*chunks: Any) -> Any:
    """Return the model's parts as the next request sends them."""
    message = response_of(GEMINI, wire(*chunks)).message
    return body_of(GEMINI.encode(Request("m", (user("a"), message, user("b"))), stream=True))["contents"][1][
        "parts"
    ]


@pytest.mark.req("U3")
def test_text_chunks_are_joined_to_a_text_part_and_thoughts_to_a_reasoning_part() -> None:
    response = response_of(
        GEMINI,
        wire(
            chunk({"text": "h", "thought": True}),
            chunk({"text": "m", "thought": True}, {"text": "Hi"}),
            chunk({"text": " 👋"}),
            STOP,
        ),
    )
    assert response.message.parts == (ReasoningPart("hm"), TextPart("Hi 👋"))
    assert (response.id, response.model, response.finish_reason.kind) == ("r1", "m1", "stop")


REPLAYED: dict[str, tuple[Sequence[Any], Any]] = {
    "thoughts are left out": ([{"text": "hm", "thought": True}, {"text": "a"}], [{"text": "a"}]),
    "signature on an empty text at the end": (
        [{"text": "a"}, {"text": "b"}, {"text": "", "thoughtSignature": "s"}],
        [{"text": "ab"}, {"text": "", "thoughtSignature": "s"}],
    ),
    "signature on the first text": (
        [{"text": "a", "thoughtSignature": "s"}, {"text": "b"}, {"text": "c"}],
        [{"text": "a", "thoughtSignature": "s"}, {"text": "bc"}],
    ),
    "only the first of parallel calls is signed": (
        [
            {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "g"}},
        ],
        [
            {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "s"},
            {"functionCall": {"name": "g"}},
        ],
    ),
    "signature on an empty text after a call": (
        [
            {"functionCall": {"name": "f"}, "thoughtSignature": "s"},
            {"text": ""},
            {"text": "", "thoughtSignature": "t"},
        ],
        [{"functionCall": {"name": "f"}, "thoughtSignature": "s"}, {"text": "", "thoughtSignature": "t"}],
    ),
    "code that ran": (
        [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}, {"text": "a"}],
        [{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}, {"text": "a"}],
    ),
}


@pytest.mark.req("U4")
@pytest.mark.parametrize(("parts", "expected"), REPLAYED.values(), ids=REPLAYED)
def test_parts_are_sent_back_unchanged(parts: Sequence[Any], expected: Any) -> None:
    sent = replayed(*map(chunk, parts), STOP)
    assert sent == expected


@pytest.mark.req("U4")
def test_signed_and_unsigned_text_chunks_are_joined_to_one_text_part() -> None:
    chunks = [chunk({"text": "a", "thoughtSignature": "s"}), chunk({"text": "b"}), STOP]
    (part,) = response_of(GEMINI, wire(*chunks)).message.parts
    assert isinstance(part, TextPart)
    assert part.text == "ab"


CALLS: dict[str, tuple[Sequence[Any], list[tuple[str, str, str]]]] = {
    "own id": ([{"functionCall": {"id": "c", "name": "f", "args": {"a": "ü"}}}], [("c", "f", '{"a": "ü"}')]),
    "no id, no args": ([{"functionCall": {"name": "f"}}], [("call_r1_0", "f", "{}")]),
    "in pieces": (
        [
            {"functionCall": {"name": "f", "willContinue": True}},
            {
                "functionCall": {
                    "partialArgs": [{"jsonPath": "$.a.b[1]", "stringValue": "x", "willContinue": True}],
                    "willContinue": True,
                }
            },
            {
                "functionCall": {
                    "partialArgs": [
                        {"jsonPath": "$.a.b[1]", "stringValue": "y"},
                        {"jsonPath": "$.n", "numberValue": 2},
                    ],
                    "willContinue": True,
                }
            },
            {"functionCall": {}},
            {"functionCall": {"name": "g"}},
        ],
        [("call_r1_0", "f", '{"a": {"b": [null, "xy"]}, "n": 2}'), ("call_r1_1", "g", "{}")],
    ),
}


@pytest.mark.req("U3")
@pytest.mark.parametrize(("parts", "expected"), CALLS.values(), ids=CALLS)
def test_function_calls_in_every_stream_format_are_decoded(
    parts: Sequence[Any], expected: list[tuple[str, str, str]]
) -> None:
    response = response_of(GEMINI, wire(*map(chunk, parts), STOP))
    assert [(c.id, c.name, c.arguments) for c in response.tool_calls] == expected
    assert (response.finish_reason.kind, response.finish_reason.raw) == ("tool_calls", "STOP")


@pytest.mark.parametrize("finish", ["FUNCTION_CALL", "STOP"])
def test_a_function_call_is_returned_with_finish_reason_function_call_or_stop(finish: str) -> None:
    response = response_of(GEMINI, wire(chunk({"functionCall": {"name": "f"}}, finish=finish)))
    assert [call.name for call in response.tool_calls] == ["f"]
    assert (response.finish_reason.kind, response.finish_reason.raw) == ("tool_calls", finish)


def test_unfinished_function_call_is_dropped_with_a_warning() -> None:
    response = response_of(
        GEMINI, wire(chunk({"functionCall": {"name": "f", "willContinue": True}}), chunk(finish="MAX_TOKENS"))
    )
    assert (response.tool_calls, response.finish_reason.kind) == ((), "length")
    assert response.warnings == ("the model did not finish its call of f, so the call was dropped",)
    assert [(call.name, call.arguments) for call in response.cut_calls] == [("f", "")]


FINISHES = {
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "UNEXPECTED_TOOL_CALL": "error",
    "MALFORMED_FUNCTION_CALL": "error",
    "BRAND_NEW": "other",
}


@pytest.mark.req("L17")
@pytest.mark.parametrize(("raw", "kind"), FINISHES.items())
def test_function_call_with_an_abnormal_finish_reason_keeps_that_reason_and_its_message(
    raw: str, kind: str
) -> None:
    told = chunk({"functionCall": {"name": "f"}}, finish=raw)
    told["candidates"][0]["finishMessage"] = "because"
    response = response_of(GEMINI, wire(told))
    assert (response.finish_reason.kind, response.warnings) == (kind, ("because",))


def test_blocked_prompt_is_an_empty_response_with_finish_reason_content_filter() -> None:
    response = response_of(GEMINI, wire({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert (response.finish_reason.kind, response.message.parts) == ("content_filter", ())


@pytest.mark.req("E6")
def test_usage_counts_thoughts_as_output_and_takes_the_last_total() -> None:
    counted = {
        "promptTokenCount": 10,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
    }
    response = response_of(
        GEMINI,
        wire(
            chunk(usageMetadata={"promptTokenCount": 10}),
            chunk(finish="STOP", usageMetadata={**counted, "toolUsePromptTokenCount": 5}),
        ),
    )
    assert response.usage == Usage(15, 5, 2, 4)


def test_grounding_metadata_is_decoded_as_a_search_part_and_not_sent_back() -> None:
    told = chunk({"text": "x"}, finish="STOP")
    told["candidates"][0]["groundingMetadata"] = {"webSearchQueries": ["q"]}
    response = response_of(GEMINI, wire(told))
    last = response.message.parts[-1]
    assert isinstance(last, SearchPart)
    assert last.queries == ("q",)
    assert last.origin.raw == {"groundingMetadata": {"webSearchQueries": ["q"]}}
    assert replayed(told) == [{"text": "x"}]


@given(st.lists(st.integers(1, 9)))
def test_complete_answer_chunk_list_and_stream_in_any_chunks_give_the_same_response(sizes: list[int]) -> None:
    parts = [
        {"text": "hm", "thought": True},
        {"text": "👋"},
        {"functionCall": {"name": "f"}, "thoughtSignature": "s"},
    ]
    whole = GEMINI.decode(ask(), HEAD, json.dumps(chunk(*parts, finish="STOP")).encode())
    listed = GEMINI.decode(ask(), HEAD, json.dumps([*map(chunk, parts), STOP]).encode())
    streamed = events_of(GEMINI, cut(wire(*map(chunk, parts), STOP), sizes))
    assert whole.message == listed.message
    assert [event.part for event in streamed if hasattr(event, "part")] == list(whole.message.parts)


PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
ERRORS: dict[str, tuple[int, str, list[Any], type[e.LlmError], float | None]] = {
    "key": (400, "INVALID_ARGUMENT", [{"reason": "API_KEY_INVALID"}], e.AuthenticationError, None),
    "bad request": (400, "INVALID_ARGUMENT", [], e.InvalidRequestError, None),
    "rate": (429, "RESOURCE_EXHAUSTED", [{"retryDelay": "34s"}], e.RateLimitError, 34.0),
    "day": (429, "RESOURCE_EXHAUSTED", [PER_DAY, {"retryDelay": "34s"}], e.QuotaExceededError, 34.0),
    "overloaded": (503, "UNAVAILABLE", [], e.OverloadedError, None),
    "denied": (403, "PERMISSION_DENIED", [], e.PermissionDeniedError, None),
}


@pytest.mark.req("U8")
@pytest.mark.parametrize(("code", "status", "details", "kind", "wait_s"), ERRORS.values(), ids=ERRORS)
def test_error_bodies_are_mapped_to_error_classes(
    code: int, status: str, details: list[Any], kind: type[e.LlmError], wait_s: float | None
) -> None:
    body = {
        "error": {
            "code": code,
            "message": "You exceeded your current quota" if code == 429 else "Bad",
            "status": status,
            "details": details,
        }
    }
    for data in (body, [body]):
        error = GEMINI.decode_error(ask(), ReplyHead(code), json.dumps(data).encode())
        assert (type(error), error.retry_after_s) == (kind, wait_s)
    with pytest.raises(kind):
        events_of(GEMINI, [wire(chunk({"text": "x"})) + json.dumps(body, indent=2).encode() + b"\n"])
