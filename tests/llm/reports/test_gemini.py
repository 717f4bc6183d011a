"""Reports of users about the Gemini API and of its proxies, each in its smallest form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request, Response, ToolDefinition
from agent_ls.loop.model.recovery import refuses_reasoning
from agent_ls.mcp.schemas import provider_schema
from tests.llm.providers.test_gemini_stream import chunk, wire
from tests.support.codec_runs import GEMINI, body_of, response_of
from tests.support.reports import reported

ASK = Request("gemini-4-argon", (user("hi"),), tools=(ToolDefinition("f", "", {"type": "object"}),))
CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}


def answer(*chunks: Any) -> Response:
    return response_of(GEMINI, wire(*chunks), ASK)


def declared(**properties: Any) -> dict[str, Any]:
    """Return how a tool with these properties is declared to the service."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
    }
    request = Request("gemini-4-argon", (user("hi"),), tools=(ToolDefinition("f", "", schema),))
    body = body_of(GEMINI.encode(request, stream=True))
    found: dict[str, Any] = body["tools"][0]["functionDeclarations"][0]
    return found


SCHEMAS: list[Any] = [
    reported(
        "anomalyco/opencode#11889",
        {"type": "string", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        id="properties of a string",
    ),
    reported("zereight/gitlab-mcp#166", {"anyOf": [{"type": ""}, {"type": "string"}]}, id="empty type"),
    reported(
        "sbroenne/mcp-server-excel#672",
        {"type": "array", "items": {"anyOf": [{"type": "array", "items": {}}, {"type": "string"}]}},
        id="table",
    ),
    pytest.param({"type": "string", "format": "uri"}, id="format uri"),
    pytest.param({"type": "array"}, id="array without items"),
    pytest.param({"type": "array", "items": {}}, id="items of any type"),
    pytest.param({"anyOf": []}, id="no branch"),
    pytest.param({"anyOf": [{"type": "null"}]}, id="only null"),
    pytest.param(
        {"anyOf": [{"type": "string"}, {"type": "array"}], "items": {"type": "string"}},
        id="items beside anyOf",
    ),
    pytest.param(
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
        id="unknown required name",
    ),
    pytest.param({"type": "string", "enum": [""]}, id="empty value"),
    pytest.param({"type": "string", "enum": []}, id="no value"),
    pytest.param({"type": "integer", "enum": [1, 2]}, id="numbers"),
    pytest.param({}, id="any type"),
    pytest.param({"type": "object", "properties": {"$filter": {"type": "string"}}}, id="odd name"),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_that_the_service_may_refuse_goes_by_json_schema(schema: Any) -> None:
    found = declared(x=schema, y={"type": "string"})
    assert "parameters" not in found
    assert found["parametersJsonSchema"]["properties"]["x"] == schema


@pytest.mark.report("promptfoo/promptfoo#6902", "QwenLM/qwen-code#1186")
def test_a_plain_schema_has_only_the_keywords_of_the_service() -> None:
    found = declared(x={"type": "string", "additionalProperties": False, "examples": ["a"], "$comment": "b"})
    assert found["parameters"] == {"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}


ENDS: list[Any] = [
    reported("NousResearch/hermes-agent#83882", [chunk(finish="MALFORMED_FUNCTION_CALL")], "error",
        id="malformed call"),
    reported(
        "inngest/agent-kit#178",
        [
            {
                "candidates": [
                    {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed"}
                ]
            }
        ],
        "error",
        id="content without parts",
    ),
    reported("google-gemini-php/client#137", [chunk(CALL, finish="UNEXPECTED_TOOL_CALL")], "error",
        id="unexpected call"),
    reported("BerriAI/litellm#24453", [{"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}],
        "stop", id="role only"),
    pytest.param([{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}], "content_filter", id="blocked prompt"),
    pytest.param([{"candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}], "content_filter",
        id="no candidate"),
    reported("run-llama/LlamaIndexTS#1993",
        [chunk({"text": ""}), chunk({"text": ""}), chunk(CALL), chunk(finish="STOP")], "tool_calls",
        id="empty parts before a call"),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "kind"), ENDS)
def test_odd_ends_are_told_apart(chunks: Sequence[Any], kind: str) -> None:
    response = answer(*chunks)
    assert response.finish_reason.kind == kind
    assert not response.text


ERRORS: list[Any] = [
    reported(
        "nearai/ironclaw#1510",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "Function call is missing a thought_signature in functionCall parts.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        e.InvalidRequestError,
        id="list",
    ),
    reported(
        "MadAppGang/claudish#26",
        400,
        {"error": '{"error": {"code": 400, "message": "Function call is missing a thought_signature"}}'},
        e.InvalidRequestError,
        id="error as text",
    ),
    pytest.param(
        404,
        {
            "error": {
                "code": 404,
                "message": "models/foo is not found for API version v1beta",
                "status": "NOT_FOUND",
            }
        },
        e.NotFoundError,
        id="model",
    ),
    pytest.param(
        504,
        {"error": {"code": 504, "message": "Deadline expired", "status": "DEADLINE_EXCEEDED"}},
        e.RequestTimeoutError,
        id="deadline",
    ),
    pytest.param(
        400,
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            }
        },
        e.ContextLengthError,
        id="too long",
    ),
    pytest.param(
        400,
        {"error": {"code": 400, "message": "blocked for safety reasons", "status": "INVALID_ARGUMENT"}},
        e.ContentFilterError,
        id="safety",
    ),
    pytest.param(
        400,
        {"error": {"code": 400, "message": "model foo does not exist", "status": "INVALID_ARGUMENT"}},
        e.NotFoundError,
        id="model as 400",
    ),
]


@pytest.mark.req("U8")
@pytest.mark.parametrize(("status", "body", "kind"), ERRORS)
def test_refusals_have_the_class_of_their_cause(status: int, body: Any, kind: type[e.LlmError]) -> None:
    error = GEMINI.decode_error(ASK, ReplyHead(status), json.dumps(body).encode())
    assert type(error) is kind
    assert "{" not in str(error)
    assert refuses_reasoning(error) == ("thought_signature" in str(error))


@pytest.mark.report("lbjlaq/Antigravity-Manager#3202", "mpfaffenberger/code_puppy#165")
def test_a_call_of_another_model_gets_a_signature() -> None:
    made = Message(Role.ASSISTANT, (ToolCallPart("c", "functions.f:0", '{"a": 1}'),))
    request = Request(
        "gemini-4-argon", (user("hi"), made, tool_results([ToolResultPart("c", "functions.f:0", "x")]))
    )
    sent = body_of(GEMINI.encode(request, stream=True))["contents"]
    assert sent[1]["parts"][0]["thoughtSignature"]


def test_a_name_that_another_model_made_up_fits_the_service() -> None:
    made = Message(Role.ASSISTANT, (ToolCallPart("c", "functions.f:0", "{}"),))
    request = Request(
        "gemini-4-argon", (user("hi"), made, tool_results([ToolResultPart("c", "functions.f:0", "x")]))
    )
    sent = body_of(GEMINI.encode(request, stream=True))["contents"]
    names = [sent[1]["parts"][0]["functionCall"]["name"], sent[2]["parts"][0]["functionResponse"]["name"]]
    assert names == ["functions_f_0", "functions_f_0"]


@pytest.mark.report("google/adk-js#344")
def test_stop_without_parts_is_an_empty_answer() -> None:
    response = answer(chunk(finish="STOP"))
    assert (response.message.parts, response.finish_reason.kind) == ((), "stop")


def test_a_last_chunk_with_the_whole_text_is_not_read_twice() -> None:
    text = "This is the whole answer of the model."
    assert (
        answer(
            chunk({"text": text[:9]}), chunk({"text": text[9:]}), chunk({"text": text}, finish="STOP")
        ).text
        == text
    )
    assert answer(chunk({"text": "no "}), chunk({"text": "no "}, finish="STOP")).text == "no no "


@pytest.mark.parametrize("wrapped", [False, True])
def test_arguments_as_text_and_wrapped_chunks_are_read(wrapped: bool) -> None:
    event = chunk({"functionCall": {"name": "f", "args": '{"a": 1}'}}, finish="STOP")
    (made,) = answer({"response": event} if wrapped else event).tool_calls
    assert json.loads(made.arguments) == {"a": 1}


def test_a_name_with_a_namespace_means_the_offered_tool() -> None:
    response = answer(chunk({"functionCall": {"name": "default_api:f", "args": {}}}, finish="STOP"))
    assert [part.name for part in response.tool_calls] == ["f"]


@pytest.mark.parametrize("ending", ["\n", ""], ids=["line end", "no line end"])
def test_an_array_of_chunks_instead_of_events_is_read(ending: str) -> None:
    chunks = [chunk({"text": "H"}), chunk({"text": "i"}), chunk(finish="STOP")]
    body = "[" + ",\r\n".join(json.dumps(item) for item in chunks) + "]" + ending
    assert GEMINI.decode(ASK, ReplyHead(200), body.encode()).text == "Hi"


SHARED: list[Any] = [
    reported(
        "DEEIX-AI/DEEIX-Chat#546",
        {"headers": {"type": "object", "properties": {"k": {"type": "string"}}},
            "x": {"type": "array", "items": {"$ref": "#/properties/headers"}}},
        {}),
    reported(
        "google-gemini/gemini-cli#13326",
        {"x": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}}},
        {"A": {"type": "object", "properties": {"n": {"type": "string"}}},
            "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("properties", "definitions"), SHARED)
def test_shared_definitions_of_a_server_are_written_out(properties: Any, definitions: Any) -> None:
    schema = provider_schema({"type": "object", "properties": properties, "$defs": definitions})
    request = Request("gemini-4-argon", (user("hi"),), tools=(ToolDefinition("f", "", schema),))
    sent = body_of(GEMINI.encode(request, stream=True))["tools"][0]["functionDeclarations"][0]
    assert "$ref" not in json.dumps(sent) and "$defs" not in json.dumps(sent)
    assert "properties" in json.dumps(sent["parameters"]["properties"]["x"]["items"])


@pytest.mark.parametrize(
    "parts",
    [
        reported(
            "musistudio/claude-code-router#1275", [{"text": "lo"}, {"text": "", "thoughtSignature": "s"}]
        ),
        reported(
            "justlovemaki/AIClient2API#157",
            [{"thoughtSignature": "s", "text": "lo"}],
        ),
    ],
)
def test_a_signature_after_the_text_makes_no_thought_and_is_sent_back(parts: list[Any]) -> None:
    response = answer(chunk({"text": "Hel"}), *map(chunk, parts), chunk(finish="STOP"))
    assert (response.text, response.message.reasoning) == ("Hello", "")
    request = Request("gemini-4-argon", (user("hi"), response.message, user("more")))
    assert '"thoughtSignature": "s"' in json.dumps(
        body_of(GEMINI.encode(request, stream=True))["contents"][1]
    )


@pytest.mark.report("router-for-me/CLIProxyAPI#5199")
@pytest.mark.report("AstrBotDevs/AstrBot#9937")
def test_results_in_another_order_belong_to_their_calls() -> None:
    response = answer(
        *(chunk({"functionCall": {"name": "f", "args": {}, "id": it}}) for it in "abc"), chunk(finish="STOP")
    )
    results = tool_results([ToolResultPart(it, "f", f"of {it}") for it in "cab"])
    request = Request("gemini-4-argon", (user("hi"), response.message, results))
    parts = body_of(GEMINI.encode(request, stream=True))["contents"][2]["parts"]
    assert {it["functionResponse"]["name"] for it in parts} == {"f"}
    found = [(it["functionResponse"]["id"], it["functionResponse"]["response"]["output"]) for it in parts]
    assert found == [("a", "of a"), ("b", "of b"), ("c", "of c")]


@pytest.mark.report("apache/flink-agents#947")
@pytest.mark.report("dust-tt/dust#14472")
@pytest.mark.parametrize("named", [{}, {"id": ""}, {"id": None}])
def test_calls_without_ids_have_their_own_results(named: Any) -> None:
    response = answer(
        chunk(*({"functionCall": {"name": "f", "args": {"a": it}, **named}} for it in (1, 2)), finish="STOP")
    )
    ids = [it.id for it in response.tool_calls]
    results = tool_results([ToolResultPart(it, "f", f"result {at}") for at, it in enumerate(ids)])
    request = Request("gemini-4-argon", (user("hi"), response.message, results))
    parts = body_of(GEMINI.encode(request, stream=True))["contents"][2]["parts"]
    assert len({*ids}) == 2 and "" not in ids
    assert [(it["functionResponse"]["name"], it["functionResponse"]["response"]) for it in parts] == [
        ("f", {"output": "result 0"}),
        ("f", {"output": "result 1"}),
    ]


@pytest.mark.report("agentscope-ai/agentscope-java#3033")
@pytest.mark.report("liuw1535/antigravity2api-nodejs#73")
def test_all_counts_are_read_and_a_foreign_end_is_no_error() -> None:
    names = ("promptTokenCount", "candidatesTokenCount", "toolUsePromptTokenCount", "thoughtsTokenCount")
    counts = dict(zip(names, (500, 120, 300, 10), strict=True))
    data = wire({**chunk({"text": "a"}, finish="STOP"), "usageMetadata": counts}) + b"data: [DONE]\n\n"
    response = response_of(GEMINI, data, ASK)
    assert (response.usage.input_tokens, response.usage.output_tokens, response.text) == (800, 130, "a")


@pytest.mark.report("JetBrains/koog#2146")
@pytest.mark.parametrize("arguments", [{}, {"args": None}])
def test_a_call_without_arguments_has_none(arguments: Any) -> None:
    (call,) = answer(chunk({"functionCall": {"name": "f", **arguments}}, finish="STOP")).tool_calls
    assert call.arguments == "{}"


@pytest.mark.report("BerriAI/litellm#23815")
def test_pieces_of_arguments_without_a_call_join_none() -> None:
    stray = {"partialArgs": [{"jsonPath": "$.path", "stringValue": "orphan"}], "willContinue": True}
    calls = [stray, {"name": "f", "args": {"b": 1}}]
    (call,) = answer(*(chunk({"functionCall": it}) for it in calls), chunk(finish="STOP")).tool_calls
    assert json.loads(call.arguments) == {"b": 1}
