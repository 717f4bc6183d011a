"""Implement the interface OtherModels: the models that the setting `models` names for purposes such as titles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent_ls.loop.model.other_models import Purpose, UnusableModel
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.models.service import ModelService
from agent_ls.services.settings.model import ModelSettings


@dataclass(frozen=True, slots=True)
class ConfiguredModels:
    """Creates the profiles of the models that the setting `models` names.

    `settings` returns the current value of this setting. `profiles` returns the profile of a model, with the
    session's tools.
    """

    settings: Callable[[], ModelSettings]
    models: ModelService
    profiles: Callable[[str, str], ProviderProfile]

    def for_purpose(self, purpose: Purpose) -> ProviderProfile | UnusableModel | None:
        settings = self.settings()
        name = {
            "compaction": settings.compaction,
            "titles": settings.titles,
            "subagents": settings.subagents,
            "suggestions": settings.suggestions or settings.titles,
        }[purpose]
        return self._profile(name) if name else None

    def fallbacks(self) -> Iterator[ProviderProfile | UnusableModel]:
        return (self._profile(name) for name in self.settings().fallbacks if name)

    def _profile(self, name: str) -> ProviderProfile | UnusableModel:
        provider, _, model = name.partition("/")
        if problem := self.models.problem_of(provider):
            return UnusableModel(name, problem)
        try:
            return self.profiles(provider, model)
        except BadChoiceError as error:
            return UnusableModel(name, str(error))
