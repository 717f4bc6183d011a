"""Reports about model servers: output limits that are too high, keys, contexts, empty chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import user
from agent_ls.llm.providers.anthropic import AnthropicCodec
from agent_ls.llm.requests import Request
from tests.llm.reports.chat import answer, say
from tests.llm.reports.test_broken_streams import ENDS, piece
from tests.llm.reports.test_ends_and_demanded_thinking import asked_again
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import sent
from tests.support.reports import reported

BEDROCK = (
    "The maximum tokens you requested exceeds the model limit of {0}. "
    "Try again with a maximum tokens value that is lower than {0}."
)
VERTEX = (
    "Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from "
    "1 (inclusive) to 65536 (exclusive). Update the value and try again."
)
OUTPUT_LIMITS: list[Any] = [
    reported("aws-samples/bedrock-access-gateway#41", BEDROCK.format(2048), 4096, 2048),
    reported("RooCodeInc/Roo-Code#248", BEDROCK.format(4096).replace("exceeds", "exceed"), 8192, 4096),
    reported("BerriAI/litellm#5850", f'BedrockException - {{"message":"{BEDROCK.format(4096)}"}}', 8192, 4096),
    reported("BerriAI/litellm#10548", VERTEX, 65536, 65535),
    reported("diffbot/code-gpt-docs#284", "max_tokens is too large: 6000. This model supports at most 4096 completion "
        "tokens, whereas you provided 6000.", 6000, 4096),
    reported("open-webui/open-webui#10507", "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be "
        "[1, 8192]", 9000, 8192),
    ("too many tokens: max tokens must be less than or equal to 4096, the maximum output length - received 64000",
        64000, 4096),
    ("`max_tokens` must be less than or equal to `32768`, the maximum is less than the `context_window`", 40000, 32768),
]  # fmt: skip


@pytest.mark.parametrize(("words", "wanted", "limit"), OUTPUT_LIMITS)
def test_the_output_limit_is_the_one_that_a_refusal_names(words: str, wanted: int, limit: int) -> None:
    request = Request("m", (user("hi"),), max_output_tokens=wanted)
    assert sent("compatible", request, 400, say(words))[-1]["max_tokens"] == limit


def test_a_refusal_of_the_prompt_does_not_change_the_output_limit() -> None:
    words = (
        "max_tokens is too large: 64000. The maximum context length is 4096 tokens and your prompt has 5000"
    )
    request = Request("m", (user("hi"),), max_output_tokens=64000)
    assert len(sent("compatible", request, 400, say(words))) == 1


ROOM: list[Any] = [
    ("max_tokens: 128000 > 8192, which is the maximum allowed number of output tokens for m", 8192, 8192),
    reported("nickscamara/open-deep-research#19", "Invalid max_tokens value, the valid range of max_tokens is "
        "[1, 8192]", 8192, 8192),
    reported("continuedev/continue#8454", "input length and `max_tokens` exceed context limit: 143653 + 64000 > "
        "200000, decrease input length or `max_tokens` and try again", 40_000, 56_347),
]  # fmt: skip


@pytest.mark.parametrize(("words", "least", "most"), ROOM)
def test_the_default_output_limit_of_anthropic_is_lowered(words: str, least: int, most: int) -> None:
    spoken = AnthropicCodec(capabilities_lookup("anthropic"))
    request = Request("deepseek-chat", (user("hi"),))
    assert least <= asked_again(spoken, request, words)["max_tokens"] <= most


def of_google(message: str, **more: Any) -> Any:
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", **more}}


INVALID = {"details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}
EXPIRED = of_google("API key expired. Please renew the API key.", **INVALID)
NOT_VALID = of_google("API key not valid. Please pass a valid API key.", **INVALID)
DENIED = {"code": 403, "message": "Your project has been denied access.", "status": "PERMISSION_DENIED"}
BUSY = {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}
LIMIT_EVENT = {
    "type": "usage_limit_reached",
    "message": "The usage limit has been reached",
    "resets_in_seconds": 13872,
}
PER_DAY = "Rate limit reached on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s."
OVERLOAD = say("Our servers are currently overloaded. Please try again later.", code="server_is_overloaded")
PAGE = "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body></body>\r\n</html>\r\n"


def wrapped(body: Any) -> Any:
    return {"error": {"message": json.dumps(body, indent=2), "code": 400, "status": "Bad Request"}}


KINDS: list[Any] = [
    reported("continuedev/continue#11336", "gemini", 400, wrapped(EXPIRED), e.AuthenticationError, None),
    reported("Wei-Shaw/sub2api#1709", "gemini", 400, of_google("API Key not found. Please pass a valid API key."),
        e.AuthenticationError, None),
    reported("can1357/oh-my-pi#449", "gemini", 400, wrapped(NOT_VALID), e.AuthenticationError, None),
    reported("plainbook-ai/plainbook#25", "gemini", 400, EXPIRED, e.AuthenticationError, None),
    ("compatible", 400, EXPIRED, e.AuthenticationError, None),
    reported("poenl/gemini-api#8", "gemini", 403, {"error": DENIED}, e.PermissionDeniedError, None),
    reported("google-gemini/gemini-cli#8548", "gemini", 503, {"error": BUSY}, e.OverloadedError, None),
    reported("earendil-works/pi#4172", "responses", 200, {"type": "error", "error": LIMIT_EVENT, "status_code": 429},
        e.QuotaExceededError, 13872.0),
    reported("openai/codex#797", "compatible", 429, say(PER_DAY, type="requests", code="rate_limit_exceeded"),
        e.RateLimitError, 432.0),
    reported("ollama/ollama#15934", "ollama", 503, {"error": "Server overloaded, please retry shortly (ref: aa)"},
        e.OverloadedError, None),
    reported("QuantumNous/new-api#7399", "compatible", 200, OVERLOAD, e.OverloadedError, None),
    reported("WolframResearch/Chatbook#183", "compatible", 200, PAGE, e.OverloadedError, None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "delay_s"), KINDS)
def test_refusals_have_their_kind_and_delay(
    wire: str, status: int, body: Any, kind: type[e.LlmError], delay_s: float | None
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retry_after_s) == (kind, delay_s)


TOO_LONG = {"type": "invalid_request_error", "message": "prompt is too long: 208732 tokens > 200000 maximum"}
LONG: list[Any] = [
    reported("lbjlaq/Antigravity-Manager#763", "anthropic", 400, say("Prompt is too long (server-side context limit "
        "reached).")),
    reported("continuedev/continue#11371", "anthropic", 500, json.dumps(json.dumps({"error": TOO_LONG}))),
    reported("continuedev/continue#5896", "compatible", 500, json.dumps(TOO_LONG["message"])),
    reported("anthropics/claude-code#8637", "anthropic", 400, {"message": "Input is too long for requested model."}),
    reported("RooCodeInc/Roo-Code#1767", "compatible", 500, "error msg:400 this model's maximum context length is "
        "65536 tokens. however, you requested 69648 tokens (69648 in the messages, 0 in the completion)."),
    reported("QwenLM/Qwen-Agent#759", "compatible", 400, say("This model's maximum context length is 16384 tokens. "
        "However, your request has 18225 input tokens.", type="BadRequestError")),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body"), LONG)
def test_a_full_context_is_recognised(wire: str, status: int, body: Any) -> None:
    assert type(refused(wire, status, body)) is e.ContextLengthError


HI = piece(content="hi")
USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
LAST = {"choices": [], "usage": USAGE}
CHUNKS: list[Any] = [
    reported("cline/cline#8527", [HI, ENDS, {"choices": None, "usage": USAGE}]),
    reported("microsoft/autogen#7711", [None, HI, None, {"choices": [{"index": 0, "delta": None}]}, ENDS, LAST]),
    reported("microsoft/agent-framework#5734", [HI, {"choices": [{"delta": None, "finish_reason": "stop"}]}, LAST]),
    reported("smallmain/vscode-unify-chat-provider#29", [HI, {"choices": [{"finish_reason": "stop"}]}, LAST]),
    reported("ROCm/ATOM#1711", [HI, ENDS, {"usage": USAGE}]),
    reported("bagofwords1/bagofwords#742", [{"choices": [{"delta": None, "content_filter": {}}]}, HI, ENDS, LAST]),
    reported("QwenLM/qwen-code#1448", [{"choices": [{"index": 0}]}, HI, ENDS, LAST]),
    reported("agentuniverse-ai/agentUniverse#772", [{"model": "m"}, HI, ENDS, LAST]),
    reported("earendil-works/pi#2466", [HI, None, [], ENDS, LAST]),
]  # fmt: skip


@pytest.mark.parametrize("chunks", CHUNKS)
def test_chunks_without_content_are_skipped(chunks: list[Any]) -> None:
    response = answer(*chunks)
    assert (response.text, response.usage.input_tokens) == ("hi", 3)


@pytest.mark.report("RooCodeInc/Roo-Code#9105")
def test_an_error_beside_empty_choices_is_told() -> None:
    with pytest.raises(e.RateLimitError, match="slow"):
        answer({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "slow"}})
