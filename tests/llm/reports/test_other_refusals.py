"""Reports about refused requests and errors, on all wires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.providers.test_refusals import asking, check_left_out, spoken
from tests.llm.reports.chat import say
from tests.llm.reports.test_error_kinds import exhausted, refused
from tests.support.reports import reported

DEFAULT = "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) is supported."
RESENT: list[Any] = [
    reported("microsoft/vscode#252757", "compatible", say(DEFAULT, param="temperature"), {}, "temperature"),
    reported("can1357/oh-my-pi#945", "deepseek", say("deepseek-reasoner does not support this `tool_choice`"),
        {"tool_choice": "required"}, "tool_choice"),
    reported("aliargun/mcp-server-gemini#8", "anthropic",
        say("tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"), {},
        "tools.0.input_schema.oneOf"),
    reported("snailyp/gemini-balance#206", "gemini",
        say("Budget 0 is invalid. This model only works in thinking mode.", code=400, status="INVALID_ARGUMENT"),
        {"model": "gemini-2.5-flash", "reasoning_effort": "none"}, "generationConfig.thinkingConfig.thinkingBudget"),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "body", "more", "path"), RESENT)
def test_the_second_request_lacks_what_was_refused(
    wire: str, body: Any, more: dict[str, Any], path: str
) -> None:
    check_left_out(wire, 400, body, more, path)


PER_DAY = {"violations": [{"quotaId": "GenerateContentInputTokensPerModelPerDay-FreeTier"}]}
KINDS: list[Any] = [
    reported("openai/codex#3725", "responses", 400, say("API version not supported", code="BadRequest"),
        e.InvalidRequestError),
    reported("google-gemini/gemini-cli#14603", "gemini", 400,
        [say("You don't have access to this model or the model name is invalid", code=400, status="INVALID_ARGUMENT")],
        e.NotFoundError),
    reported("Kilo-Org/kilocode#2838", "gemini", 403,
        [say("Permission denied on resource project default.", code=403, status="PERMISSION_DENIED",
            details=[{"reason": "CONSUMER_INVALID"}, {"locale": "en-US", "message": "Permission denied on it."}])],
        e.PermissionDeniedError),
    reported("google-gemini/gemini-cli#5831", "gemini", 400,
        [say("Invalid resource field value in the request.", code=400, status="INVALID_ARGUMENT",
            details=[{"reason": "RESOURCE_PROJECT_INVALID"}])],
        e.InvalidRequestError),
    reported("google-gemini/gemini-cli#4764", "gemini", 404,
        [say("Requested entity was not found.", code=404, status="NOT_FOUND")],
        e.NotFoundError),
    reported("google-gemini/gemini-cli#5983", "gemini", 429,
        say(json.dumps(exhausted("You exceeded your current quota.", details=[PER_DAY])), code=429),
        e.QuotaExceededError),
    reported("anthropics/claude-code#1440", "anthropic", 429,
        exhausted("Quota exceeded for x/online_prediction_input_tokens_per_minute_per_base_model."), e.RateLimitError),
    reported("tech-shrimp/gemini-balance-lite#7", "anthropic", 429,
        say(f"Error from provider(429): {json.dumps(exhausted('Resource has been exhausted'), indent=2)}\nError: x"),
        e.RateLimitError),
    reported("anthropics/claude-code#6253", "anthropic", 403, say("user quota is not enough", type="new_api_error"),
        e.QuotaExceededError),
    ("compatible", 403, say("用户额度不足, 剩余额度: 0"), e.QuotaExceededError),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind"), KINDS)
def test_errors_have_their_kind(wire: str, status: int, body: Any, kind: type[e.LlmError]) -> None:
    assert type(refused(wire, status, body)) is kind


@pytest.mark.report("langgenius/dify-plugin-sdks#264")  # fmt: skip
def test_a_hint_names_the_other_api() -> None:
    words = "The chatCompletion operation does not work with the specified model, m. Please choose a different model."
    assert "Responses" in refused("compatible", 400, say(words, code="OperationNotSupported")).hint


@pytest.mark.report("openai/codex#37432")  # fmt: skip
@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "compatible"])
def test_no_tool_has_an_empty_description(wire: str) -> None:
    assert b'"description":""' not in spoken(wire).encode(asking(wire), stream=True).content
