"""What a host says when it asks for a profile, and the prose that ships with a family."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model besides its name. 0 and "" are "not known": the family's own value holds then."""

    display_name: str = ""
    context_window_tokens: int = 0
    knowledge_cutoff: str = ""
    supports_reasoning: bool = True


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """What a host may choose.

    `base_prompt` replaces the family's own (000 section 1.3). `beta_headers` are added to those that the model
    needs; only Anthropic has them. `background_processes` False leaves out the means to start and follow them,
    `plan` False the tool that shows a plan: without both the tools are exactly the list of 000 sections 3.4 and 3.5.
    `subagents` False leaves out the tools that start agents, `ask_user` False the one that asks the user. `think` and
    `submit` add tools that most models need not have: to note a thought, to hand in the result and end the task.
    `native_names`: tools go by the names that the family's models know from their maker's own agent (P7). `without` are
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


def base_prompt(family: str) -> str:
    """The text of `<family>/system.md`."""
    return (files(f"agent_ls.profiles.{family}") / "system.md").read_text(encoding="utf-8")
