"""Reports on requests that servers refuse, and on the form in which they are sent again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.messages import (
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    tool_results,
    user,
)
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_reasoning
from tests.llm.providers.test_refusals import asking, at, second, spoken
from tests.llm.reports.chat import TOOLS, codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import called, has_answers, has_signature, sent
from tests.support.codec_runs import body_of
from tests.support.reports import reported

MISTRAL = [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"],
    "msg": "Extra inputs are not permitted", "input": "hm"}]  # fmt: skip
TURN = "messages.2.content: Conversation blocks and tool result blocks cannot be provided in the same turn."
USE_TURN = "messages.7.content: Conversation blocks and tool use blocks cannot be provided in the same turn."
PLAN = (
    "text content is not allowed when tool_calls are provided. If you wish to pass a tool plan, either pass thinking "
    "content (with thinking enabled) or use 'tool_plan': 'messages[2].content[0]'"
)
SIGNATURE = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work."
)
WORDY = Request("m", (user("hi"), Message(Role.ASSISTANT, (TextPart("I look."), ToolCallPart("a", "read", "{}"))),
    tool_results([ToolResultPart("a", "read", "x")])), tools=TOOLS)  # fmt: skip


BARE = Request("m", (user("hi"), Message(Role.ASSISTANT, (ToolCallPart("a", "read", "{}"),)),
    tool_results([ToolResultPart("a", "read", "x")])), tools=TOOLS)  # fmt: skip


def lacks_empty_text(body: Any) -> bool:
    return all(message.get("content") != "" for message in body["messages"])


def has_no_text_beside_calls(body: Any) -> bool:
    return not any(it.get("content") and it.get("tool_calls") for it in body["messages"])


APART = [
    "Assistant message must have either content or tool_calls, but not both",
    "messages.1.content must not be provided with tool_calls",
    "A message cannot contain both text and tool calls",
    "Text is not supported alongside function calls",
    "content is not permitted if the message has tool_calls",
]
RESENT: list[Any] = [
    *(("compatible", WORDY, 400, say(words), has_no_text_beside_calls) for words in APART),
    reported("NousResearch/hermes-agent#11929", "compatible", BARE, 400,
        say("messages: text content blocks must be non-empty"), lacks_empty_text),
    reported("BerriAI/litellm#6053", "compatible", called("a"), 400,
        say(f'litellm.BadRequestError: BedrockException - {{"message":"{TURN}"}}\nReceived Model Group=m'),
        has_answers),
    reported("quarkiverse/quarkus-langchain4j#1983", "compatible", WORDY, 400, say(USE_TURN),
        has_no_text_beside_calls),
    reported("vercel/ai#5794", "compatible", WORDY, 400, {"message": PLAN}, has_no_text_beside_calls),
    reported("TokenRhythm/opensquilla#225", "compatible", called("a"), 400,
        [say(SIGNATURE, code=400, status="INVALID_ARGUMENT")], has_signature),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "request_", "status", "body", "is_right"), RESENT)
def test_a_refused_request_is_sent_in_another_form(
    provider: str, request_: Request, status: int, body: Any, is_right: Any
) -> None:
    first, *after = sent(provider, request_, status, body)
    assert not is_right(first)
    assert [is_right(body) for body in after] == [True]


@pytest.mark.report("BerriAI/litellm#30835")
def test_reasoning_that_a_proxy_refuses_is_left_out() -> None:
    body = say("litellm.BadRequestError: MistralException - " + json.dumps({"detail": MISTRAL}), code="422")
    assert refuses_reasoning(refused("deepseek", 422, body))


@pytest.mark.report("lobehub/lobehub#5909")
def test_azure_gets_the_other_name_of_the_limit() -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    stack = '  File "/usr/local/bin/gunicorn", line 8, in <module>\n    sys.exit(run())'
    body = {"error": {"code": "unsupported_parameter", "type": "invalid_request_error", "param": "max_tokens",
        "message": words, "callstack": stack}}  # fmt: skip
    again = second("compatible", body, asking("compatible"))
    assert (at(again, "max_tokens"), at(again, "max_completion_tokens")) == (None, 65536)


@pytest.mark.report("earendil-works/pi#4390")
def test_the_most_output_of_a_model_is_asked_for() -> None:
    words = "max_tokens: 250000 > 128000, which is the maximum allowed number of output tokens for m"
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    assert (
        at(second("anthropic", body, asking("anthropic", max_output_tokens=250000)), "max_tokens") == 128000
    )


@pytest.mark.report("earendil-works/pi#8061")
def test_an_output_that_leaves_no_room_is_lowered() -> None:
    words = (
        "This model's maximum context length is 1048576 tokens. However, you requested 1068889 tokens (815916 in the "
        "messages, 252973 in the completion). Please reduce the length of the messages or completion."
    )
    again = second("compatible", say(words), asking("compatible", max_output_tokens=252973))
    assert 100_000 < at(again, "max_tokens") < 1048576 - 815916


SILENT = Request("m", (user("hi"), Message(Role.ASSISTANT, (ReasoningPart("hm"),)), user("more")))
EMPTY: list[Any] = [
    reported("solbrowse/extension#16", "mistral"),
    reported("simonw/llm-anthropic#37", "anthropic"),
]  # fmt: skip


@pytest.mark.parametrize("wire", EMPTY)
def test_an_answer_without_content_is_not_sent(wire: str) -> None:
    messages = body_of(spoken(wire).encode(SILENT, stream=True))["messages"]
    assert all(message["role"] != "assistant" for message in messages)


@pytest.mark.report("anthropics/claude-code#62396")
def test_a_call_alone_has_no_empty_text_by_anthropics_api() -> None:
    (block_,) = body_of(spoken("anthropic").encode(BARE, stream=True))["messages"][1]["content"]
    assert block_["type"] == "tool_use"


KEYS = {"role", "content", "tool_calls", "tool_call_id"}


@pytest.mark.report("NousResearch/hermes-agent#253")
def test_messages_have_only_known_fields() -> None:
    messages = body_of(codec("mistral").encode(BARE, stream=True))["messages"]
    assert [set(message) - KEYS for message in messages] == [set()] * len(messages)


FEATURES: list[Any] = [
    ("Streaming is not enabled for this project.", "stream"),
    ("reasoning_effort is not available on your current plan", "reasoning_effort"),
]


@pytest.mark.parametrize(("words", "path"), FEATURES)
def test_a_feature_that_an_account_lacks_is_left_out(words: str, path: str) -> None:
    assert not at(second("compatible", say(words), asking("compatible")), path)


def test_an_answer_of_nothing_is_not_an_answer_of_two_things() -> None:
    body = say("Assistant message must have either content or tool_calls, but not none.")
    _, *after = sent("compatible", WORDY, 400, body)
    assert not any(map(has_no_text_beside_calls, after))


@pytest.mark.report("Gitlawb/openclaude#739")
def test_mistral_gets_no_field_that_it_forbids() -> None:
    body = body_of(codec("mistral").encode(asking("mistral"), stream=True))
    assert not {"store", "max_completion_tokens"} & set(body)
