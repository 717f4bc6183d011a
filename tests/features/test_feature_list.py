"""The features of a session: the order of their layers, and no effect of asking for the text of the prompt."""

from __future__ import annotations

import pytest

from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.features.base import FeaturePrompts, SessionFeature, SessionFeatures
from agent_ls.loop.seams import BasePrompt
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import create_profile
from agent_ls.tools.report_finding import report_finding_tool


class Named(SessionFeature):
    """Offers a tool from the first input on, and then has a layer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.prepared = 0
        self.is_closed = False

    async def prepare(self, profile: ProviderProfile) -> None:
        self.prepared += 1

    def layer(self) -> str:
        return self.name if self.prepared else ""

    async def close(self) -> None:
        self.is_closed = True


class Other(Named):
    def add_tools(self, profile: ProviderProfile) -> None:
        profile.registry.register(report_finding_tool(lambda *_: None))  # type: ignore[arg-type]


async def test_layers_come_in_the_order_of_the_list_and_only_after_preparing() -> None:
    first, second = Named("first"), Other("second")
    features = SessionFeatures((first, second))
    prompts = FeaturePrompts(BasePrompt(), features)
    profile = features.profiles(lambda provider, model: create_profile(provider, model))("anthropic", "m")
    names = profile.registry.names()

    assert prompts.documents() == "" and "report_finding" in names
    await prompts.prepare(profile, MemoryEnvironment({}))

    assert prompts.documents() == prompts.documents() == "first\n\nsecond"
    assert (first.prepared, second.prepared, profile.registry.names()) == (1, 1, names)
    assert features.find(Other) is second and features.get(Named) is first
    with pytest.raises(LookupError):
        SessionFeatures(()).get(Other)

    await features.close()
    assert first.is_closed and second.is_closed
