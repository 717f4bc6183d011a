"""Options of a profile, the interface of profile builders, and the base prompts of families."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Protocol

from agent_ls.profiles.base import ProviderProfile


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The catalogue's facts about a model. 0 and "" mean unknown; the family's own value is used then."""

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

    `base_prompt` replaces the family's own. `beta_headers` are added to those that the model needs (Anthropic
    only). `background_processes` False removes the tools to start and follow background processes, `plan`
    False the plan tool, `subagents` False the tools that start agents, `ask_user` False the tool that asks
    the user. `think` and `submit` add tools that most models do not need: to note a thought, to hand in the
    result and end the task. `native_names`: tools have the names of the family's own agent. `without` are
    tools to leave out, by our names.
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
    """Interface of profile builders: creates the profile of one provider, built in or a host's own."""

    def __call__(self, model: str, facts: ModelFacts, options: ProfileOptions) -> ProviderProfile:
        """Return a new profile with its own registry. `model` "" is the provider's default.

        `create_profile` then adds `facts` to it and removes the tools of `options.without`.

        Raises:
            ModelNeededError: there is no default model.
        """
        ...


def apply_facts(profile: ProviderProfile, facts: ModelFacts) -> ProviderProfile:
    """Return the profile with the catalogue's facts. A capability requires that both profile and catalogue
    have it.
    """
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
    return (files(f"agent_ls.profiles.{family}") / "system.md").read_text(encoding="utf-8")
