"""The interface of features: what a session can have besides its loop.

A feature is created when its session opens. `sessions/build/features.py` lists all of them in order: the order of
their tools and of their layers in the system prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.loop.calls.hooks import NO_HOOKS, Hooks
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProfileFor, ProviderProfile
from agent_ls.tools.base import Tool

F = TypeVar("F", bound="SessionFeature")


class SessionFeature:
    """A feature of one session. A subclass overrides what it needs; the methods of this class do nothing."""

    def add_tools(self, profile: ProviderProfile) -> None:
        """Add the tools that the session has from its start to a new profile."""

    def on_input(self, text: str) -> None:
        """Note the text of a user message, before its turn starts."""

    async def prepare(self, profile: ProviderProfile) -> None:
        """Read what the prompt needs, and add tools that the session has from now on. Must not raise.

        Called at the start of each input, after the user's decision to trust the folder.
        """

    def layer(self) -> str:
        """Return the layer of the system prompt, as the last `prepare` found it; "" for none."""
        return ""

    def hooks(self, hooks: Hooks) -> Hooks:
        """Return hooks that also run `hooks`."""
        return hooks

    def list_pinned(self) -> Sequence[str]:
        """Return texts that a compaction must keep."""
        return ()

    async def close(self) -> None:
        """End the processes of the feature, because the session ends."""


class AddedTools(SessionFeature):
    """Adds the tools that `make` yields for a new profile."""

    def __init__(self, make: Callable[[ProviderProfile], Iterable[Tool[Any]]]) -> None:
        self._make = make

    def add_tools(self, profile: ProviderProfile) -> None:
        for tool in self._make(profile):
            profile.registry.register(tool)


class SessionFeatures:
    """All features of one session, in the order of their tools and prompt layers."""

    def __init__(self, features: Iterable[SessionFeature]) -> None:
        self._all = tuple(features)

    def find(self, kind: type[F]) -> F | None:
        """Return the feature of this class, None if the session does not have it."""
        return next((it for it in self._all if isinstance(it, kind)), None)

    def get(self, kind: type[F]) -> F:
        """Return the feature of this class, which every session has."""
        if found := self.find(kind):
            return found
        raise LookupError(kind.__name__)

    def profiles(self, profiles: ProfileFor) -> ProfileFor:
        """Return profiles that also have the tools of the features."""

        def profile(provider: str, model: str) -> ProviderProfile:
            made = profiles(provider, model)
            for feature in self._all:
                feature.add_tools(made)
            return made

        return profile

    def hooks(self) -> Hooks:
        hooks: Hooks = NO_HOOKS
        for feature in self._all:
            hooks = feature.hooks(hooks)
        return hooks

    def on_input(self, text: str) -> None:
        for feature in self._all:
            feature.on_input(text)

    async def prepare(self, profile: ProviderProfile) -> None:
        for feature in self._all:
            await feature.prepare(profile)

    def layers(self) -> Iterator[str]:
        for feature in self._all:
            yield feature.layer()

    def list_pinned(self) -> Iterator[str]:
        for feature in self._all:
            yield from feature.list_pinned()

    async def close(self) -> None:
        for feature in self._all:
            await feature.close()


class FeaturePrompts:
    """Implements PromptSource: adds the layers of the features to the documents of `inner`."""

    def __init__(self, inner: PromptSource, features: SessionFeatures) -> None:
        self._inner = inner
        self._features = features

    async def prepare(self, profile: ProviderProfile, environment: ExecutionEnvironment) -> None:
        await self._inner.prepare(profile, environment)
        await self._features.prepare(profile)

    def documents(self) -> str:
        return "\n\n".join(filter(None, (self._inner.documents(), *self._features.layers())))

    async def build(
        self,
        profile: ProviderProfile,
        environment: ExecutionEnvironment,
        user_instructions: str,
        documents: str,
    ) -> str:
        return await self._inner.build(profile, environment, user_instructions, documents)
