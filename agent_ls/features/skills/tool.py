"""use_skill: return the instructions of one skill to the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pydantic import Field

from agent_ls.environments.effects import NoEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import touches_nothing
from agent_ls.tools.summary import one_line

if TYPE_CHECKING:
    from agent_ls.features.tools.yaml_tools import ProfileFor
    from agent_ls.profiles.base import ProviderProfile

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


def with_use_skill(profiles: ProfileFor, use: UseSkill) -> ProfileFor:
    """Add use_skill to profiles. It never replaces a tool with the same name."""
    tool = use_skill_tool(use)

    def profile(provider: str, model: str) -> ProviderProfile:
        found = profiles(provider, model)
        if found.registry.lookup(tool.name) is None:
            found.registry.register(tool)
        return found

    return profile
