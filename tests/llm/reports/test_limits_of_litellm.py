"""Reports on vLLM, LiteLLM's limits, and images that Copilot refuses."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.messages import assistant, user
from agent_ls.llm.requests import Request
from agent_ls.loop.model.recovery import refuses_images
from tests.llm.reports.chat import TOOLS, codec, say
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_resent_requests import lacks, sent
from tests.support.codec_runs import body_of
from tests.support.reports import reported

CHOICE = (
    "[{'type': 'value_error', 'loc': ('body',), 'msg': 'Value error, `tool_choice` must either be a named tool, "
    "\"auto\", or \"none\".', 'input': {'messages': [{'role': 'user', 'content': 'hi'}], 'tool_choice': 'required'}}]"
)
ENDS_ON = (
    "You have reached your specified API usage limits. You will regain access on 2026-09-01 at 00:00 UTC."
)
WAIT = "No deployments available for selected model, Try again in 60 seconds. Passed model=m."
KINDS: list[Any] = [
    reported("vllm-project/vllm#16774", "vllm", 500, "Internal Server Error", e.ServerError, None),
    reported("BerriAI/litellm#20867", "compatible", 429,
        say("No deployments available for selected model.", type="None", param="None", code="429"), e.RateLimitError,
        None),
    reported("BerriAI/litellm#5177", "compatible", 429, say(WAIT, code="429"), e.RateLimitError, 60),
    reported("BerriAI/litellm#37592", "anthropic", 400,
        {"type": "error", "error": {"type": "invalid_request_error", "message": ENDS_ON}}, e.QuotaExceededError, None),
]  # fmt: skip


@pytest.mark.parametrize(("wire", "status", "body", "kind", "delay"), KINDS)
def test_an_error_has_its_class_and_delay(
    wire: str, status: int, body: Any, kind: type[e.ProviderError], delay: float | None
) -> None:
    error = refused(wire, status, body)
    assert (type(error), error.retry_after_s) == (kind, delay)


IMAGES: list[Any] = [
    reported("egoist/chatwise-releases#1173", 'model "gpt-4.1" not supported for vision'),
    reported("microsoft/vscode-copilot-vision#83",
        "Invalid content type. image_url is only supported by certain models."),
    reported("github/copilot-cli#2030", "image media type not supported"),
    reported("privapps/github-copilot-svcs#2", "missing required Copilot-Vision-Request header for vision requests"),
]  # fmt: skip


@pytest.mark.parametrize("words", IMAGES)
def test_a_refused_image_is_left_out(words: str) -> None:
    assert refuses_images(refused("compatible", 400, say(words, code="")))


@pytest.mark.report("pydantic/pydantic-ai#728")
def test_a_choice_of_a_tool_that_vllm_does_not_know_is_left_out() -> None:
    request = Request("m", (user("hi"),), tools=TOOLS, tool_choice="required")
    first, *after = sent(
        "vllm", request, 400, {"object": "error", "message": CHOICE, "type": "BadRequestError"}
    )
    assert not lacks("tool_choice")(first)
    assert [lacks("tool_choice")(body) for body in after] == [True]


@pytest.mark.report("microsoft/autogen#5814")
def test_an_answer_without_calls_has_no_list_of_calls() -> None:
    request = Request("m", (user("hi"), assistant("ok"), user("more")), tools=TOOLS)
    assert lacks("tool_calls")(body_of(codec("compatible").encode(request, stream=True)))


@pytest.mark.parametrize("before", ["", "litellm.BadRequestError: OpenAIException - "])
def test_an_error_does_not_repeat_the_request(before: str) -> None:
    error = refused("compatible", 400, say(before + CHOICE.replace("'hi'", "'secret' " * 2_000)))
    assert ("tool_choice" in str(error), "secret" in str(error)) == (True, False)
