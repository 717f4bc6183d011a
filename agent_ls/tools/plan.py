"""plan: the steps of a longer task, kept where the user sees them (REQUIREMENTS T7). It has no effect on anything."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import (
    Arguments,
    Plan,
    PlanItem,
    PlanStatus,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)
from agent_ls.tools.paths import nothing
from agent_ls.tools.summary import one_line

MAX_ITEMS = 50  # more is no plan that anybody reads
MAX_ITEM_CHARS = 300
MAX_EXPLANATION_CHARS = 1_000


class PlanItemArguments(Arguments):
    text: str = Field(min_length=1, max_length=MAX_ITEM_CHARS, description="The step, in a few words.")
    status: PlanStatus = Field(description="active: being worked on, one item at most.")


class PlanArguments(Arguments):
    items: tuple[PlanItemArguments, ...] = Field(
        max_length=MAX_ITEMS, description="The whole plan as it is now, in order; it replaces the one before."
    )
    explanation: str = Field(
        default="", max_length=MAX_EXPLANATION_CHARS, description="Why the plan changed, if it did."
    )


async def prepare(arguments: PlanArguments, context: ToolContext) -> Prepared:
    items = tuple(PlanItem(" ".join(item.text.split()), item.status) for item in arguments.items)
    active = [item.text for item in items if item.status == "active"]
    if len(active) > 1:
        raise ToolError(
            f"{len(active)} items are active: {'; '.join(active)}. At most one may be. "
            "Send the plan again with the others as pending or done.",
            kind="validation",
        )

    async def run() -> ToolOutput:
        plan = Plan(arguments.explanation.strip(), items)
        return ToolOutput(_told(plan), plan=plan)

    return Prepared(NoEffect(), run)


def _told(plan: Plan) -> str:
    if not plan.items:
        return "The plan is empty now."
    done = sum(item.status == "done" for item in plan.items)
    now = next((f" Now: {item.text}" for item in plan.items if item.status == "active"), "")
    return f"The user sees the plan: {done} of {len(plan.items)} done.{now}"


def summarize(arguments: PlanArguments) -> str:
    done = sum(item.status == "done" for item in arguments.items)
    now = next((f": {item.text}" for item in arguments.items if item.status == "active"), "")
    return one_line(f"{done} of {len(arguments.items)} done{now}")


PLAN = Tool(
    name="plan",
    description=(
        "Shows the user the steps of a task and how far it has come. For tasks of three steps or more; not for "
        "simple ones. Send the whole plan again whenever a step is done, added or dropped."
    ),
    category="read",
    arguments=PlanArguments,
    prepare=prepare,
    summarize=summarize,
    touches=nothing,
)
