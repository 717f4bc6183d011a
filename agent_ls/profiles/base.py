"""The interface of profiles. A profile is a model with its tools, prompt, options and capabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.requests import ToolDefinition, Usage
from agent_ls.profiles.environment_block import EnvironmentFacts, build_environment_block
from agent_ls.profiles.system_prompt import PromptLayers, build_tools_layer, build_user_layer
from agent_ls.tools.base import ShellLimits
from agent_ls.tools.registry import ToolRegistry


def unknown_cost(usage: Usage) -> float | None:
    return None


class PromptBuilder(Protocol):
    def __call__(
        self, profile: ProviderProfile, facts: EnvironmentFacts, *, documents: str, user_instructions: str
    ) -> str:
        """Return the complete system prompt. The same arguments must give the same text. Must not raise.

        `documents` is the text of the project's instruction files, `user_instructions` the instructions of the user.
        Both may be "".
        """
        ...


def build_layered_prompt(
    profile: ProviderProfile, facts: EnvironmentFacts, *, documents: str, user_instructions: str
) -> str:
    """Build the prompt for any built-in family: the base prompt, then the other four layers (see system_prompt.py)."""
    return PromptLayers(
        base=profile.base_prompt,
        environment=build_environment_block(
            facts, model=profile.display_name or profile.model, knowledge_cutoff=profile.knowledge_cutoff
        ),
        tools=build_tools_layer(profile.registry),
        project_documents=documents,
        user_instructions=build_user_layer(user_instructions),
    ).text()


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """The tools, prompt, options and capabilities for one model.

    `id` is the provider's name in Request.provider. `base_prompt` is the first layer of the system prompt, and
    `prompt_builder` builds the whole prompt. `project_documents` are the names of instruction files that are read for
    this family in addition to AGENTS.md. `provider_options` are merged into requests, by provider. `shell_limits`
    None: the session's limits apply. `registry` belongs to this session only, so tools may be added and removed.
    `cost_usd` returns the price of one model call, None if it is unknown.

    The capabilities are read from the model catalogue. Without `supports_reasoning`, no reasoning effort is sent.
    Without `supports_streaming`, each response arrives as a whole. Without `supports_parallel_tool_calls`,
    calls run one after the other. Without `supports_images`, results have no images. Without
    `supports_custom_tools`, all calls use JSON.
    """

    id: str
    model: str
    base_prompt: str
    registry: ToolRegistry
    context_window_tokens: int
    project_documents: tuple[str, ...] = ()
    provider_options: Mapping[str, JsonObject] = field(default_factory=dict)
    shell_limits: ShellLimits | None = None
    supports_reasoning: bool = True
    supports_streaming: bool = True
    supports_parallel_tool_calls: bool = True
    supports_images: bool = True
    supports_custom_tools: bool = False
    display_name: str = ""
    knowledge_cutoff: str = ""
    cost_usd: Callable[[Usage], float | None] = unknown_cost
    prompt_builder: PromptBuilder = build_layered_prompt

    def tools(self) -> tuple[ToolDefinition, ...]:
        """Return the tools as sent to the model, in order."""
        defined = self.registry.definitions()
        if self.supports_custom_tools:
            return defined
        return tuple(replace(tool, free_text=None) if tool.free_text else tool for tool in defined)

    def build_system_prompt(
        self, facts: EnvironmentFacts, *, documents: str = "", user_instructions: str = ""
    ) -> str:
        """Return the system prompt of a session.

        `facts` describe the environment at the start of the session, even if the model has changed since then.
        """
        return self.prompt_builder(self, facts, documents=documents, user_instructions=user_instructions)


ProfileFor: TypeAlias = Callable[[str, str], ProviderProfile]
"""Returns a new profile for a provider and a model. Must not fail for a provider that is in use."""
