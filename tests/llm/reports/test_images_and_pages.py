"""Reports on all wires: images, limits, pages of gateways, and streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import ImagePart, Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.refused_streams import demands_stream
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_gemini_stream import STOP, chunk, wire as gemini_wire
from tests.llm.providers.test_openai_stream import CREATED, added, done, final, sse as openai_sse
from tests.llm.providers.test_refusals import asking, check_left_out, second, spoken
from tests.llm.reports.chat import codec, say
from tests.llm.reports.test_broken_streams import said
from tests.llm.reports.test_error_kinds import check_error, refused
from tests.llm.reports.test_responses import ASK as ASK_RESPONSES
from tests.support.codec_runs import GEMINI, OPENAI, body_of, response_of
from tests.support.reports import reported

IMAGES: list[Any] = [
    reported("NousResearch/hermes-agent#109707", "deepseek",
        "messages[565].image[0]: You have uploaded an unsupported image. Please make sure your image is valid."),
    reported("anthropics/claude-code#28485", "anthropic",
        "messages.34.content.2.image.source.base64.data: Image format image/png not supported"),
    reported("jxxghp/MoviePilot#5863", "deepseek",
        "Failed to deserialize the JSON body into the target type: messages[137]: unknown "
        "variant `image_url`, expected `text`"),
    reported("deepseek-ai/DeepSeek-V3#1026", "anthropic",
        "Failed to deserialize the JSON body into the target type: messages[66].content: unknown variant `image`, "
        "expected one of `text`, `tool_use`"),
    reported("CommandCodeAI/command-code#850", "anthropic", "Invalid input"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "words"), IMAGES)
def test_a_session_goes_on_without_the_images(wire: str, words: str) -> None:
    assert refuses_images(refused(wire, 400, say(words, type="invalid_request_error")))


EXTRA = "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be 'error'."
TOP_P = (
    "litellm.UnsupportedParamsError: azure does not support parameters: ['top_p'], for model=o3. To drop, "
)
AUTO = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LEFT_OUT: list[Any] = [
    reported("langchain-ai/langchain#29679", "compatible", 400, say(EXTRA), {}, "stream_options"),
    reported("SWE-agent/SWE-agent#1250", "compatible", 400, say(TOP_P), {}, "top_p"),
    reported("FoundationAgents/OpenManus#331", "vllm", 400, {"object": "error", "message": AUTO, "code": 400}, {},
        "tools"),
    reported("dnakov/anon-kode#2", "openrouter", 404,
        say("No endpoints found that support tool use. To learn more about provider routing, visit: https://x",
            code=404), {},
        "tools"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "more", "path"), LEFT_OUT)
def test_what_is_refused_is_left_out(
    wire: str, status: int, body: Any, more: dict[str, Any], path: str
) -> None:
    check_left_out(wire, status, body, more, path)


@pytest.mark.report("vllm-project/vllm#47761")  # fmt: skip
def test_the_output_has_the_room_that_vllm_states() -> None:
    words = (
        "This model's maximum context length is 32768 tokens. However, you requested 16384 output tokens and your "
        "prompt contains at least 16385 input tokens, for a total of at least 32769 tokens."
    )
    body = second("vllm", say(words), Request("m", (user("hi " * 9000),), max_output_tokens=16384))
    assert 8_000 < body["max_tokens"] < 16384


@pytest.mark.report("microsoft/autogen#5814")  # fmt: skip
def test_no_answer_has_an_empty_list_of_calls() -> None:
    messages = body_of(codec().encode(asking("compatible"), stream=True))["messages"]
    assert all(message.get("tool_calls", [1]) for message in messages)


@pytest.mark.report("google-gemini/gemini-cli#16135")  # fmt: skip
def test_results_of_gemini_2_are_alone_in_their_content() -> None:
    calls = tuple(ToolCallPart(name, "read", "{}") for name in "ab")
    images = (ImagePart(b"x", "image/png"),)
    results = tool_results(
        [ToolResultPart("a", "read", "x", images=images), ToolResultPart("b", "read", "y")]
    )
    request = Request("gemini-2.5-pro", (user("hi"), Message(Role.ASSISTANT, calls), results))
    contents = body_of(spoken("gemini").encode(request, stream=True))["contents"]
    assert [next(iter(part)) for part in contents[2]["parts"]] == ["functionResponse", "functionResponse"]


KINDS: list[Any] = [
    reported("vyancharuk/nodejs-api-boilerplate#16", "openrouter", 404, say("No endpoints found for m:free.", code=404),
        e.NotFoundError, "No endpoints"),
    reported("truefoundry/models#826", "compatible", 404,
        {"status": "failure",
            **say("openrouter error: No endpoints available matching your guardrail restrictions and data "
            "policy.", type="APIError")}, e.PermissionDeniedError, "guardrail"),
    reported("vllm-project/vllm#4667", "vllm", 400,
        {"object": "error", "message": "max_tokens must be at least 1, got -186.", "type": "BadRequestError",
            "code": 400},
        e.ContextLengthError, "-186"),
    reported("QwenLM/qwen-code#290", "zai", 400,
        say("Invalid API parameter, please check the documentation.", code="1210"), e.InvalidRequestError,
            "API parameter"),
    reported("ferrislucas/promptr#32", "compatible", 524,
        say("Gateway timeout.", code=524, param=None, type="cf_gateway_timeout"), e.ServerError, "Gateway timeout"),
    reported("elizaOS/eliza#2989", "compatible", 504,
        "<html>\n<head><title>504 Gateway Time-out</title></head>\n<body>\n<h1>504 Gateway Time-out</h1>",
        e.ServerError, "504 Gateway Time-out"),
    reported("acheong08/ChatGPT#447", "responses", 524,
        '<!DOCTYPE html>\n\n <html class="no-js" lang="en-US">\n<head>\n\n<title>x | 524: A timeout occurred</title>',
        e.ServerError, "524: A timeout occurred"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "words"), KINDS)
def test_an_error_has_its_class_and_words(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], words: str
) -> None:
    check_error(wire, status, body, kind, words)


@pytest.mark.report("kubernetes-sigs/inference-perf#695")  # fmt: skip
def test_a_forced_call_that_vllm_cannot_read_is_tried_again() -> None:
    words = (
        "1 validation error for list[function-wrap[__log_extra_fields__()]]\n  Invalid JSON: EOF while parsing an "
        "object at line 1508 column 3 [type=json_invalid, input_value='[  ', input_type=str]"
    )
    assert refused("vllm", 400, say(words, type="BadRequestError", code=400)).retryable


@pytest.mark.report("cline/cline#5419")  # fmt: skip
def test_the_hint_names_responses() -> None:
    words = "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'."
    assert "Responses" in refused("compatible", 400, say(words, param="messages")).hint


@pytest.mark.report("FoundationAgents/OpenManus#393")  # fmt: skip
def test_a_model_that_only_streams_is_known() -> None:
    words = "This model only support stream mode, please enable the stream parameter to access the model. "
    body = say(words, code="invalid_parameter_error", param=None, type="invalid_request_error")
    assert demands_stream(refused("compatible", 400, body))


@pytest.mark.report("vertesia/llumiverse#663")  # fmt: skip
def test_parallel_calls_of_one_tool_stay_apart() -> None:
    calls = [{"functionCall": {"name": "read", "args": {"x": n}}} for n in (1, 2)]
    response = response_of(GEMINI, gemini_wire(chunk(*calls), STOP), Request("m", (user("hi"),)))
    assert said(response)[1] == [("read", {"x": 1}), ("read", {"x": 2})]
    assert len({part.id for part in response.tool_calls}) == 2


MESSAGE: Any = {"type": "message", "id": "m_1", "role": "assistant", "content": []}
CALL: Any = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": ""}
WHOLE: Any = {**CALL, "arguments": '{"x": 1}'}
TAGGED = ["\n\n<tool_call>\n<function=f>\n", "<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>"]
STREAMS: list[Any] = [
    reported("vllm-project/vllm#29725",
        [added(0, MESSAGE), *({"type": "response.output_text.delta", "output_index": 0,
            "delta": text} for text in TAGGED),
            {"type": "response.output_text.done", "output_index": 0, "text": "".join(TAGGED)},
            done(0, {**MESSAGE, "content": [{"type": "output_text", "text": "".join(TAGGED)}]}), final()],
        [("f", 1)]),
    reported("vllm-project/vllm#47916",
        [added(0, CALL), done(0, WHOLE), final(output=[{**WHOLE, "id": "fc_9", "call_id": "z"}])], [("f", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "calls"), STREAMS)
def test_calls_of_responses_are_read_once(stream: list[Any], calls: list[Any]) -> None:
    response = response_of(OPENAI, openai_sse(CREATED, *stream), ASK_RESPONSES)
    found = [(part.name, int(json.loads(part.arguments)["x"])) for part in response.tool_calls]
    assert found == calls
