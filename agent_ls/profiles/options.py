"""Options of a profile, the interface of profile builders, and the base prompts of families."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from agent_ls.package_files import read_package_file
from agent_ls.profiles.base import ProviderProfile


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The properties of a model in the catalogue. For a value that is 0 or "", the family's value is used."""

    display_name: str = ""
    context_window_tokens: int = 0
    knowledge_cutoff: str = ""
    supports_reasoning: bool = True
    supports_streaming: bool = True
    supports_parallel_tool_calls: bool = True
    supports_images: bool = True
    supports_custom_tools: bool = False


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """Options that a host may set.

    `base_prompt` replaces the family's base prompt. `beta_headers` are added to the headers that the model needs
    (Anthropic only). False for one of these options removes tools: `background_processes` the tools to start and
    follow background processes, `plan` the plan tool, `subagents` the tools that start agents, `ask_user` the tool
    that asks the user. `think` adds a tool to note a thought, `submit` a tool to report the result and end the task;
    most models need neither. `native_names`: tools have the names of the family's own agent. `without` are our names
    of tools to leave out.
    """

    base_prompt: str = ""
    beta_headers: tuple[str, ...] = ()
    background_processes: bool = True
    plan: bool = True
    subagents: bool = True
    ask_user: bool = True
    think: bool = False
    submit: bool = False
    native_names: bool = False
    without: tuple[str, ...] = ()


NO_FACTS = ModelFacts()
DEFAULT_OPTIONS = ProfileOptions()


class ProfileBuilder(Protocol):
    """The interface of a function that creates the profile of one provider. A host may add such functions."""

    def __call__(self, model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
        """Return a new profile with its own registry. `model` "" selects the provider's default model.

        `create_profile` then adds `facts` to the profile and removes the tools in `options.without`.

        Raises:
            ModelNeededError: there is no default model.
        """
        ...


def apply_facts(profile: ProviderProfile, facts: ModelFacts) -> ProviderProfile:
    """Return the profile with the values of `facts`. A capability stays True only if it is True in both."""
    return replace(
        profile,
        display_name=facts.display_name or profile.display_name,
        knowledge_cutoff=facts.knowledge_cutoff or profile.knowledge_cutoff,
        supports_reasoning=profile.supports_reasoning and facts.supports_reasoning,
        supports_streaming=profile.supports_streaming and facts.supports_streaming,
        supports_parallel_tool_calls=profile.supports_parallel_tool_calls
        and facts.supports_parallel_tool_calls,
        supports_images=profile.supports_images and facts.supports_images,
        supports_custom_tools=profile.supports_custom_tools and facts.supports_custom_tools,
    )


def load_base_prompt(family: str) -> str:
    """Return the text of `<family>/system.md`."""
    return read_package_file(f"agent_ls.profiles.{family}", "system.md")
