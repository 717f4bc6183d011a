"""reflect and summarize: let the model write down its conclusions from an attempt, or the state of a task.

These tools have no effect.
"""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line


class ReflectArguments(Arguments):
    attempt: str = Field(min_length=1, description="What was tried.")
    outcome: str = Field(min_length=1, description="What happened, and what was expected.")
    next_step: str = Field(min_length=1, description="What to do differently now.")


class SummarizeArguments(Arguments):
    done: str = Field(min_length=1, description="The finished work, with the files concerned.")
    open: str = Field(default="", description="The unfinished and uncertain parts.")


async def prepare_reflect(arguments: ReflectArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return ToolOutput(f"Recorded. Next: {arguments.next_step}", summary=one_line(arguments.next_step))

    return Prepared(NoEffect(), run)


async def prepare_summarize(arguments: SummarizeArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        rest = f" Open: {arguments.open}" if arguments.open else " Nothing is open."
        return ToolOutput(f"Recorded.{rest}", summary=one_line(arguments.done))

    return Prepared(NoEffect(), run)


REFLECT = Tool(
    name="reflect",
    description="Record what was tried, what happened and the next step, after an attempt that failed.",
    category="read",
    arguments=ReflectArguments,
    prepare=prepare_reflect,
    look=Look("think", "Thinking", "Thought"),
    summarize=lambda arguments: one_line(arguments.next_step),
    touches=touches_nothing,
)

SUMMARIZE = Tool(
    name="summarize",
    description="Record the finished and open parts of a long task, so that you have them later.",
    category="read",
    arguments=SummarizeArguments,
    prepare=prepare_summarize,
    look=Look("think", "Summing up", "Summed up"),
    summarize=lambda arguments: one_line(arguments.done),
    touches=touches_nothing,
)
