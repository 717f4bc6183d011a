"""Interface ProviderProfile: a model with its tools, its prompt, its options and its capabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

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

        `documents` is the text of the project's instruction files, `user_instructions` the user's own; "" for
        none.
        """
        ...


def build_layered_prompt(
    profile: ProviderProfile, facts: EnvironmentFacts, *, documents: str, user_instructions: str
) -> str:
    """Build the prompt of all built-in families: the base prompt, then the four other layers."""
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
    """How to work with one model.

    `id` is the provider's name in Request.provider. `base_prompt` is the first layer of the system prompt;
    `prompt_builder` builds the whole prompt from it. `project_documents` names the instruction files that
    this family reads in addition to AGENTS.md. `provider_options` are merged into requests, by provider.
    `shell_limits` None: the session's own limits apply. `registry` is this session's own copy, so tools may
    be added and removed. `cost_usd` returns the price of one call, None if it is unknown.

    Capabilities come from the model catalogue. Without `supports_reasoning` no reasoning effort is sent,
    without `supports_streaming` answers arrive complete, without `supports_parallel_tool_calls` calls run one
    after the other, without `supports_images` results have no images, without `supports_custom_tools` all
    calls use JSON.
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
        return defined if self.supports_custom_tools else tuple(replace(t, free_text=None) for t in defined)

    def build_system_prompt(
        self, facts: EnvironmentFacts, *, documents: str = "", user_instructions: str = ""
    ) -> str:
        """Return the system prompt of a session. `facts` are those of the session's start, even after a
        change of model.
        """
        return self.prompt_builder(self, facts, documents=documents, user_instructions=user_instructions)
