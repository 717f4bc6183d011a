"""plan: display the steps of a longer task to the user. The tool has no other effect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from pydantic import AliasChoices, Field, field_validator, model_validator

from agent_ls.environments.effects import NoEffect
from agent_ls.patterns import regex
from agent_ls.tools.base import (
    Arguments,
    Plan,
    PlanStatus,
    PlanStep,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
)
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line

MAX_ITEMS = 50  # nobody reads a longer plan
MAX_ITEM_CHARS = 300
MAX_EXPLANATION_CHARS = 1_000
_EXTRA_KEYS = (
    "id",
    "activeForm",
    "active_form",
    "priority",
)  # keys of a step in the plan tools of other agents


# Accept the words of other agents' plan tools, because a model may use the words that it knows from its training.
_STATUS: Mapping[str, PlanStatus] = MappingProxyType(
    {
        "in_progress": "active", "completed": "done", "complete": "done",
        **dict.fromkeys(("todo", "not_started", "planned", "blocked"), "pending"),
    }
)  # fmt: skip
_KNOWN = frozenset((*_STATUS, *get_args(PlanStatus)))
_REMOVED = ("cancelled", "canceled", "deleted")
_SEPARATOR = regex(r"[\s-]+")


_ITEMS_NAMES = ("items", "todos", "plan", "steps")
_TEXT_NAMES = ("text", "content", "step", "description", "title")


def items_field(name: str, description: str) -> Any:
    """Return the field of the items. The schema contains only `name`; the names of other agents are accepted too."""
    names = AliasChoices(*dict.fromkeys((name, *_ITEMS_NAMES)))
    return Field(max_length=MAX_ITEMS, validation_alias=names, description=description)


def text_field(name: str, description: str) -> Any:
    """Return the field of an item's text, like items_field."""
    names = AliasChoices(*dict.fromkeys((name, *_TEXT_NAMES)))
    return Field(min_length=1, max_length=MAX_ITEM_CHARS, validation_alias=names, description=description)


class PlanItemArguments(Arguments):
    text: str = text_field("text", "The step, in a few words.")
    status: PlanStatus = Field(
        description="active: you are working on this item; at most one item is active."
    )

    @model_validator(mode="before")
    @classmethod
    def _normalise_status(cls, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        known = {key: value for key, value in item.items() if key not in _EXTRA_KEYS}
        word = _status_of(item)
        return {**known, "status": _STATUS.get(word, word)} if word in _KNOWN else known


def _status_of(item: Any) -> str:
    """Return the status of an item in lower case and with underscores; "" if there is none."""
    status = item.get("status") if isinstance(item, dict) else None
    return _SEPARATOR.sub("_", status.strip().lower()) if isinstance(status, str) else ""


class PlanArguments(Arguments):
    items: tuple[PlanItemArguments, ...] = items_field(
        "items", "The whole plan, in order; it replaces the previous one."
    )
    explanation: str = Field(
        default="", max_length=MAX_EXPLANATION_CHARS, description="Why the plan changed, if it did."
    )

    @field_validator("items", mode="before")
    @classmethod
    def _without_removed(cls, items: Any) -> Any:
        """Leave out cancelled items, which the plan tools of other agents keep in the list."""
        return (
            [it for it in items if _status_of(it) not in _REMOVED]
            if isinstance(items, (list, tuple))
            else items
        )


async def prepare(arguments: PlanArguments, context: ToolContext) -> Prepared:
    items = tuple(PlanStep(" ".join(item.text.split()), item.status) for item in arguments.items)
    active = [item.text for item in items if item.status == "active"]
    if len(active) > 1:
        raise ToolError(
            f"{len(active)} items are active: {'; '.join(active)}. At most one item may be active. Send the "
            "plan again with the other items as pending or done.",
            kind="validation",
        )

    async def run() -> ToolOutput:
        plan = Plan(arguments.explanation.strip(), items)
        return ToolOutput(_render_result(plan), plan=plan)

    return Prepared(NoEffect(), run)


def _render_result(plan: Plan) -> str:
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
        "Show the user the steps of a task and their progress. Use it for tasks with three or more steps, not "
        "for simple tasks. Send the whole plan again whenever a step is done, added or dropped."
    ),
    category="read",
    arguments=PlanArguments,
    prepare=prepare,
    look=Look("think", "Planning", "Planned"),
    summarize=summarize,
    touches=touches_nothing,
)
