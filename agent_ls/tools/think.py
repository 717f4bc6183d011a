"""think: let the model write down a thought between calls. It has no effect."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line


class ThinkArguments(Arguments):
    thought: str = Field(min_length=1, description="Your conclusions, doubts or considerations.")


async def prepare(arguments: ThinkArguments, context: ToolContext) -> Prepared:
    async def run() -> ToolOutput:
        return ToolOutput("Noted.")

    return Prepared(NoEffect(), run)


THINK = Tool(
    name="think",
    description=(
        "Write down a thought: what results mean, which approach is right, whether all rules were followed. "
        "This tool changes nothing and returns no information."
    ),
    category="read",
    arguments=ThinkArguments,
    prepare=prepare,
    look=Look("think", "Thinking", "Thought"),
    summarize=lambda arguments: one_line(arguments.thought),
    touches=touches_nothing,
)
