"""Servers and templates that take the arguments of earlier calls only as objects, not as the JSON text of the API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.requests import Request
from tests.llm.reports.chat import TOOLS, say
from tests.llm.reports.test_resent_requests import sent
from tests.support.reports import reported

PAIRS = "Can only get item pairs from a mapping."
NO_ITEMS = "'str object' has no attribute 'items'"
GO = "json: cannot unmarshal string into Go struct field ChatRequest.messages.{}of type api.ToolCallFunctionArguments"
REFUSALS: list[Any] = [
    reported("QwenLM/Qwen3#1894", 500, say(f"TypeError: {PAIRS}")),
    reported("QwenLM/Qwen3-Coder#444", 400, say(PAIRS, type="BadRequestError")),
    reported("mudler/LocalAI#10256", 500, say(f"Unexpected <class 'TypeError'>: {PAIRS}")),
    reported("cubist38/mlx-openai-server#234", 500, say(f"Failed to generate: {PAIRS}")),
    reported("sgl-project/sglang#9009", 400, say(NO_ITEMS)),
    reported("aliasrobotics/cai#76", 400, {"error": GO.format("tool_calls.function.arguments ")}),
    reported("neuron-core/neuron-ai#219", 400, {"error": GO.format("")}),
]  # fmt: skip


def called(*arguments: str) -> Request:
    calls = [ToolCallPart(f"c{at}", "read", text) for at, text in enumerate(arguments)]
    results = tool_results([ToolResultPart(call.id, "read", "x") for call in calls])
    return Request("m", (user("hi"), Message(Role.ASSISTANT, tuple(calls)), results), tools=TOOLS)


def arguments_of(body: Any) -> list[Any]:
    return [call["function"]["arguments"] for call in body["messages"][1]["tool_calls"]]


@pytest.mark.parametrize(("status", "body"), REFUSALS)
def test_arguments_are_sent_as_objects(status: int, body: Any) -> None:
    first, second = sent("compatible", called('{"path": "a"}', "", "not JSON"), status, body)
    assert [json.loads(text) for text in arguments_of(first)] == [{"path": "a"}, {}, {}]
    assert arguments_of(second) == [{"path": "a"}, {}, {}]


@pytest.mark.parametrize(
    "words",
    [
        "arguments must be a valid JSON string",
        "messages[1].tool_calls[0].function.arguments: Input should be a valid string",
        "The model has no attribute 'items'",
    ],
)
def test_other_refusals_of_arguments_change_nothing(words: str) -> None:
    assert len(sent("compatible", called('{"path": "a"}'), 400, say(words))) == 1
