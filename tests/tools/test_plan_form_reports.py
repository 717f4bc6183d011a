"""Reports of plans that models wrote in another form than the tool asked for: each is read as it is meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.calls.arguments import ArgumentsError, parse_arguments
from agent_ls.profiles.create import create_profile
from agent_ls.tools.base import PlanStep
from tests.support.reports import reported
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("T7", "P7")

ITEM = {"content": "Write it", "status": "pending"}
MEANT = [PlanStep("Write it", "pending")]
FORMS: list[Any] = [
    reported("Kilo-Org/kilocode#10168", {"todos": json.dumps([ITEM])}, MEANT, id="a text of JSON"),
    reported("anomalyco/opencode#10813", {"todos": json.dumps([ITEM, {**ITEM, "content": "b"}], indent=2)},
        [*MEANT, PlanStep("b", "pending")], id="an indented text"),
    reported("NousResearch/hermes-agent#23073", {"todos": [json.dumps(ITEM)]}, MEANT, id="items as texts"),
    reported("shareAI-lab/learn-claude-code#342", {"todos": str([ITEM])}, MEANT, id="a text of Python"),
    reported("Miso2233/SonettoHere#319", {"todos": ITEM}, MEANT, id="one object"),
    reported("NousResearch/hermes-agent#14350", {"todos": f"\n{json.dumps([ITEM])}\n"}, MEANT, id="with line ends"),
    reported("TabbyML/pochi#712", {"todos": {"todos": [ITEM]}}, MEANT, id="twice"),
    reported("langchain-ai/deepagents#119", {"todos": json.dumps([ITEM, ITEM])}, [*MEANT, *MEANT], id="two in a text"),
    reported("aaif-goose/goose#107", {"items": [{"text": "Write it", "status": "in-progress"}]},
        [PlanStep("Write it", "active")], id="a dash in the status"),
    reported("digitallyinduced/haskell-agent#709", {"todos": [ITEM, {"content": "b", "status": "cancelled"}]}, MEANT,
        id="cancelled"),
    reported("sagents-ai/sagents#176",
        {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "cancelled"}]},
        [PlanStep("a", "done")], id="done or cancelled"),
    pytest.param({"todos": json.dumps([{**ITEM, "status": "COMPLETED", "priority": "low"}])},
        [PlanStep("Write it", "done")], id="a text with the words of others"),
    pytest.param({"todos": [{**ITEM, "status": "Not started"}]}, MEANT, id="capitals and a blank"),
    pytest.param({"plan": [{"step": "Write it", "status": "in progress"}]}, [PlanStep("Write it", "active")],
        id="another name of the list"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "meant"), FORMS)
async def test_a_plan_is_read_as_it_is_meant(given: dict[str, Any], meant: list[PlanStep]) -> None:
    plan = create_profile("anthropic", "m").registry.lookup("plan")
    assert plan
    arguments = parse_arguments(json.dumps(given), plan.arguments)
    calls = ToolCalls(MemoryEnvironment())
    output = await (await plan.prepare(arguments, calls.context)).run()
    assert output.plan and list(output.plan.items) == meant


@pytest.mark.report("obra/superpowers#1491")
@pytest.mark.report("code-yeongyu/oh-my-openagent#726")
@pytest.mark.parametrize("given", [{"todos": [{**ITEM, "status": "blocked by x"}]}, {"todos": "write it"}])
def test_the_refusal_of_a_plan_names_the_argument_and_what_is_allowed(given: dict[str, Any]) -> None:
    plan = create_profile("anthropic", "m").registry.lookup("plan")
    assert plan
    with pytest.raises(ArgumentsError) as refused:
        parse_arguments(json.dumps(given), plan.arguments)
    words = str(refused.value)
    assert len(words) < 400 and "todos" in words
    assert "status" not in str(given) or ("'in_progress'" in words and "active" not in words)
