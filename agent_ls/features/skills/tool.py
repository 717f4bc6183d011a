"""use_skill: return the instructions of one skill to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line

UseSkill = Callable[[str, str], Awaitable[str]]


class UseSkillArguments(Arguments):
    name: str = Field(
        min_length=1, max_length=200, description="The name of the skill, as in the list of skills."
    )
    input: str = Field("", max_length=20_000, description="The arguments of the skill, if it takes any.")


def use_skill_tool(use: UseSkill) -> Tool[UseSkillArguments]:
    """Create the tool. `use` returns the instructions of a skill by its name and input, or raises ToolError."""

    async def prepare(arguments: UseSkillArguments, context: ToolContext) -> Prepared:
        async def run() -> ToolOutput:
            return ToolOutput(await use(arguments.name, arguments.input), summary=f"Skill {arguments.name}")

        return Prepared(NoEffect(), run)

    return Tool(
        name="use_skill",
        description=(
            "Get the instructions of a skill. The skills are listed in your instructions, and new ones are announced. "
            "Paths in a skill are relative to the folder of the skill, which the result states."
        ),
        category="read",
        arguments=UseSkillArguments,
        prepare=prepare,
        look=Look("read", "Using the skill", "Used the skill"),
        summarize=lambda arguments: one_line(f"{arguments.name} {arguments.input}"),
        touches=touches_nothing,
    )
