"""ENGINE: the layers of the system prompt, in order, as one string (000 section 6.1); and who gathers them.

Later layers win: base, environment, tools, project documents, user instructions (O3). The same values give the
same bytes (O6).
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.environment_block import EnvironmentFacts, environment_block, environment_facts
from agent_ls.profiles.project_docs import documents_layer, project_documents
from agent_ls.tools.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class PromptLayers:
    """Each layer's text; "" is a layer that is not there."""

    base: str
    environment: str
    tools: str
    project_documents: str = ""
    user_instructions: str = ""

    def text(self) -> str:
        layers = (self.base, self.environment, self.tools, self.project_documents, self.user_instructions)
        return "\n\n".join(layer.strip() for layer in layers if layer.strip()) + "\n"


async def build_system_prompt(
    profile: ProviderProfile,
    environment: ExecutionEnvironment,
    *,
    today: str,
    trusted: bool,
    user_instructions: str = "",
) -> str:
    """Everything a session's model is told before the conversation; called once per session, then stored.

    `today` as YYYY-MM-DD. In a workspace that is not `trusted` no program is run (O4). `environment` is asked for
    files and, when trusted, for two git commands: give the one that runs commands quietly, not in a terminal that
    the user sees.
    """
    facts = await environment_facts(environment, today=today, trusted=trusted)
    documents = documents_layer(await project_documents(environment, profile.project_documents))
    return system_prompt(profile, facts, documents=documents, user_instructions=user_instructions)


def system_prompt(
    profile: ProviderProfile, facts: EnvironmentFacts, *, documents: str = "", user_instructions: str = ""
) -> str:
    """The prompt, also after a change of model, tools, documents or instructions: the facts stay those of the start
    (O6). `documents` is the layer of the project's documents.
    """
    return PromptLayers(
        base=profile.base_prompt,
        environment=environment_block(facts, profile),
        tools=tools_layer(profile.registry),
        project_documents=documents,
        user_instructions=user_layer(user_instructions),
    ).text()


def tools_layer(registry: ToolRegistry) -> str:
    """Each tool with the first paragraph of its description; the schemas are sent beside the prompt."""
    definitions = registry.definitions()
    if not definitions:
        return ""
    return "\n".join(
        ["# Your tools", "", *(f"- {tool.name}: {_gist(tool.description)}" for tool in definitions)]
    )


def _gist(description: str) -> str:
    """The first paragraph, on one line."""
    return " ".join(description.split("\n\n")[0].split())


def user_layer(instructions: str) -> str:
    if not instructions.strip():
        return ""
    return (
        "# The user's instructions\n\n"
        "From the user's settings. They hold over everything above.\n\n" + instructions.strip()
    )
