"""Models that may answer in place of the session's model: a model for a certain purpose, or a fallback after
a failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from agent_ls.llm.errors import (
    ContextLengthError,
    LlmError,
    NetworkError,
    NotFoundError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from agent_ls.llm.requests import Usage
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import Warning
from agent_ls.loop.model.failures import visible
from agent_ls.profiles.base import ProviderProfile

Purpose: TypeAlias = Literal["compaction", "titles", "subagents", "suggestions"]

CODE = "model_fallback"
"""The code of warnings that name the model that answers."""

UNAVAILABLE = (
    RateLimitError,
    QuotaExceededError,
    ServerError,
    NotFoundError,
    NetworkError,
    RequestTimeoutError,
)
"""Errors after which a fallback model is tried. Other errors, such as a wrong key, are reported to the user.
"""


@dataclass(frozen=True, slots=True)
class UnusableModel:
    """A configured model that cannot be called, for example because its key is missing. `reason` is a clause
    used in messages.
    """

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The tokens of a call, and the profile of the model that answered it."""

    usage: Usage
    profile: ProviderProfile


class OtherModels(Protocol):
    """Interface to the configured models. Each method reads the current settings. Must not raise."""

    def for_purpose(self, purpose: Purpose) -> ProviderProfile | UnusableModel | None:
        """Return the model for a purpose; None to use the session's model."""
        ...

    def fallbacks(self) -> Iterable[ProviderProfile | UnusableModel]:
        """Return the models to try if the session's model is unavailable, in order."""
        ...


class _NoOtherModels:
    def for_purpose(self, purpose: Purpose) -> None:
        return None

    def fallbacks(self) -> Iterable[ProviderProfile | UnusableModel]:
        return ()


NO_OTHER_MODELS: OtherModels = _NoOtherModels()


class Fallbacks:
    """The fallback models for one turn or one summary. Each model is tried once. A warning names the chosen
    fallback.
    """

    def __init__(self, models: OtherModels, emitter: Emitter) -> None:
        self._models = models
        self._emitter = emitter
        self._failed: set[tuple[str, str]] = set()
        self._skipped: set[str] = set()

    def choose_next(self, failed: ProviderProfile, error: LlmError) -> ProviderProfile:
        """Return the model to call after `failed` and all its retries have failed; `error` is the last error.

        Raises:
            LlmError: `error` itself, if this kind of error allows no fallback, part of the answer had arrived,
            or no model is left.
        """
        if error.is_cut or not (isinstance(error, UNAVAILABLE) or _is_too_large(error)):
            raise error
        self._failed.add((failed.id, failed.model))
        for other in self._models.fallbacks():
            if isinstance(other, UnusableModel):
                self._skip(other)
            elif (other.id, other.model) not in self._failed and _may_fit(other, failed, error):
                now = f"{title(other)} answers for the rest of this turn."
                self._warn(f"{title(failed)} failed: {reason(error)}. {now}")
                return other
        raise error

    def _skip(self, model: UnusableModel) -> None:
        if model.name not in self._skipped:
            self._skipped.add(model.name)
            self._warn(f"The fallback model {model.name} is skipped: {model.reason}.")

    def _warn(self, message: str) -> None:
        self._emitter.emit(Warning(message, CODE))


def _is_too_large(error: LlmError) -> bool:
    """Return whether another model may take a request that was refused for its size, after all compaction."""
    return isinstance(error, ContextLengthError)


def _may_fit(other: ProviderProfile, failed: ProviderProfile, error: LlmError) -> bool:
    """Return whether `other` may accept what was too long for `failed`: another provider, or a larger window."""
    if not isinstance(error, ContextLengthError):
        return True
    return other.id != failed.id or other.context_window_tokens > failed.context_window_tokens


def model_for(
    models: OtherModels, purpose: Purpose, profile: ProviderProfile, emitter: Emitter
) -> ProviderProfile:
    """Return the model for a purpose, or `profile` if no model is configured for it. If the configured model
    is unusable, emit a warning and return `profile`.
    """
    chosen = models.for_purpose(purpose)
    if isinstance(chosen, UnusableModel):
        message = (
            f"The model {chosen.name}, which the settings name for {purpose}, is not used: {chosen.reason}."
        )
        emitter.emit(Warning(message, CODE))
        return profile
    return chosen or profile


def reason(error: LlmError) -> str:
    """Return the provider's message without its full stop, as a part of a longer message."""
    return visible(str(error)).rstrip(".") or error.kind


def title(profile: ProviderProfile) -> str:
    """Return a model's name for messages, as it is written in settings."""
    return f"{profile.id}/{profile.model}"
