"""A profile for a provider's model, with what the catalogue knows of it."""

from __future__ import annotations

from agent_ls.app.errors import BadChoiceError
from agent_ls.llm.catalog import default_model, model_info
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import UnknownProviderError, create_profile
from agent_ls.profiles.family import ModelFacts

WALKTHROUGH = "walkthrough"


def make_profile(provider: str, model: str) -> ProviderProfile:
    """`model` "" is the provider's default.

    Raises:
        BadChoiceError: no such provider.
    """
    try:
        if provider == WALKTHROUGH:
            return create_profile(provider)
        name = model or default_model(provider)
        info = model_info(provider, name)
        facts = ModelFacts(info.display_name, info.context_window_tokens, info.knowledge_cutoff)
        return create_profile(provider, name, facts=facts)
    except UnknownProviderError as error:
        raise BadChoiceError(str(error), "choose one of those named") from None
