"""The plan tool with the parameters of the todo tools of Claude Code, gemini-cli and codex."""

# The classes have no docstrings, because pydantic would add them to the schemas.

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import AliasChoices, Field, WithJsonSchema

from agent_ls.tools.base import PlanStatus, Tool
from agent_ls.tools.plan import (
    MAX_EXPLANATION_CHARS,
    PLAN,
    PlanArguments,
    PlanItemArguments,
    items_field,
    text_field,
)

_WORDS = ["pending", "in_progress", "completed"]
_ONE = "in_progress: you are working on this task; at most one task has this status."


class TodoItem(PlanItemArguments):
    text: str = text_field("content", "The task in the imperative: `Run the tests`.")
    status: Annotated[PlanStatus, WithJsonSchema({"type": "string", "enum": _WORDS})] = Field(
        description=_ONE
    )
    active_form: str = Field(
        default="",
        validation_alias=AliasChoices("activeForm", "active_form"),
        description="The same task in the present continuous: `Running the tests`.",
    )


# Claude Code's parameters.
class TodoArguments(PlanArguments):
    items: tuple[TodoItem, ...] = items_field(
        "todos", "The whole current list, in order; it replaces the previous list."
    )


class DescribedItem(PlanItemArguments):
    text: str = text_field("description", "The description of the task.")
    status: Annotated[
        PlanStatus, WithJsonSchema({"type": "string", "enum": [*_WORDS, "cancelled", "blocked"]})
    ] = Field(description=_ONE)


# gemini-cli's parameters: cancelled items are removed from the plan, and blocked items become pending.
class DescribedArguments(PlanArguments):
    items: tuple[DescribedItem, ...] = items_field(
        "todos", "The whole current list, in order; it replaces the previous list."
    )


class StepItem(PlanItemArguments):
    text: str = text_field("step", "The step, in a few words.")
    status: Annotated[PlanStatus, WithJsonSchema({"type": "string", "enum": _WORDS})] = Field(
        description=_ONE
    )


# codex's parameters.
class StepsArguments(PlanArguments):
    explanation: str = Field(
        default="", max_length=MAX_EXPLANATION_CHARS, description="Why the plan changed, if it did."
    )
    items: tuple[StepItem, ...] = items_field(
        "plan", "All current steps, in order; they replace the previous steps."
    )


def adapt_plan(arguments: type[PlanArguments]) -> Tool[Any]:
    """Return the plan tool with a family's parameters."""
    return replace(PLAN, arguments=arguments)
