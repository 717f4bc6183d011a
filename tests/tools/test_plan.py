from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls.environments.effects import NoEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.profiles.create import create_profile
from agent_ls.tools.base import PlanStep, ToolError
from agent_ls.tools.plan import MAX_ITEM_CHARS, MAX_ITEMS, PLAN, PlanArguments
from agent_ls.tools.registry import ToolRegistry
from tests.support.tool_calls import ToolCalls


def step(text: str, status: str = "pending") -> dict[str, str]:
    return {"text": text, "status": status}


@pytest.mark.req("T7")
async def test_the_plan_tool_reports_all_items_and_has_no_effect() -> None:
    calls = ToolCalls(MemoryEnvironment())
    items = [step("Read  it", "done"), step("Mend it", "active"), step("Test it")]
    output = await calls.call(PLAN, items=items, explanation=" less to do ")
    assert output.text == "The user sees the plan: 1 of 3 done. Now: Mend it"
    assert output.plan and output.plan.explanation == "less to do"
    assert output.plan.items[0] == PlanStep("Read it", "done")
    prepared = await PLAN.prepare(PlanArguments.model_validate({"items": items}), calls.context)
    assert prepared.effect == NoEffect()
    assert PLAN.summarize(PlanArguments.model_validate({"items": items})) == "1 of 3 done: Mend it"


@pytest.mark.req("T7")
async def test_a_plan_with_two_active_items_is_refused_with_an_error_that_names_both_items() -> None:
    calls = ToolCalls(MemoryEnvironment())
    with pytest.raises(ToolError, match="2 items are active: one; two") as refused:
        await calls.call(PLAN, items=[step("one", "active"), step("two", "active")])
    assert refused.value.kind == "validation" and "pending or done" in str(refused.value)


async def test_plan_when_empty_then_the_plan_is_removed() -> None:
    output = await ToolCalls(MemoryEnvironment()).call(PLAN, items=[])
    assert output.text == "The plan is empty now." and output.plan and output.plan.items == ()


WORDS: list[dict[str, Any]] = [
    {"todos": [{"content": "one", "status": "completed", "activeForm": "Doing one"}]},
    {"plan": [{"step": "one", "status": "completed"}], "explanation": ""},
    {"todos": [{"description": "one", "status": "completed"}]},
    {"items": [{"content": "one", "status": "complete", "id": "1"}]},
    {"steps": [{"title": "one", "status": "done"}]},
]


@pytest.mark.req("T7", "P7")
@pytest.mark.parametrize("arguments", WORDS)
@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "ollama"])
async def test_plan_arguments_in_the_formats_of_other_agents_are_accepted(
    provider: str, arguments: dict[str, Any]
) -> None:
    plan = create_profile(provider, "m").registry.lookup("plan")
    assert plan
    output = await ToolCalls(MemoryEnvironment()).call(plan, **arguments)
    assert output.plan and output.plan.items == (PlanStep("one", "done"),)


@pytest.mark.req("T7", "T9")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"items": [{"text": "no status"}]},
        {"items": [step("", "done")]},
        {"items": [step("x", "blocked by y")]},
        {"items": [step("x" * (MAX_ITEM_CHARS + 1))]},
        {"items": [step("x")] * (MAX_ITEMS + 1)},
        {"items": [{**step("x"), "colour": 1}]},
        {"items": [], "steps": []},
    ],
)
def test_plan_when_its_arguments_do_not_fit_then_they_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PlanArguments.model_validate(arguments)


@pytest.mark.req("T9")
def test_the_schema_of_a_tool_with_nested_objects_has_no_references() -> None:
    (definition,) = ToolRegistry((PLAN,)).definitions()
    schema: Any = definition.parameters
    assert "$" not in str(schema)
    item = schema["properties"]["items"]["items"]
    assert list(item["properties"]) == ["text", "status"] and item["additionalProperties"] is False
