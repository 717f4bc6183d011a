"""One model call without tools and without a session, for a text that the user requested."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import anyio

from agent_ls.llm.catalog import find_entry
from agent_ls.llm.messages import Message
from agent_ls.llm.requests import Request
from agent_ls.loop.context.summary_call import complete_text
from agent_ls.loop.model.other_models import UnusableModel, title
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.models.other_models import ConfiguredModels
from agent_ls.services.models.service import WALKTHROUGH, ModelService
from agent_ls.services.settings.model import Settings

log = logging.getLogger(__name__)

MAX_OUTPUT_TOKENS = 2_048
"""Maximum number of tokens of an answer, including the reasoning of the model. The text itself is short."""


class NoModelError(AppError):
    """No model can be called for the requested text."""

    kind = "configuration"


class ModelCall:
    """Calls the model that the setting `models.suggestions` names, or else the model for titles or for new
    sessions.
    """

    def __init__(self, models: ModelService, settings: Callable[[], Settings]) -> None:
        self._models = models
        self._for_purpose = ConfiguredModels(lambda: settings().models, models, models.profile)

    def profile(self, wanted: str) -> ProviderProfile:
        """Return the profile of the model to call.

        `wanted` names the kind of text in messages, in the plural.

        Raises:
            NoModelError: no model can be called.
        """
        chosen = self._for_purpose.for_purpose("suggestions")
        if chosen is None:
            provider, model = self._models.choose(None, None)
            try:
                problem = self._models.problem_of(provider)
                chosen = (
                    UnusableModel(provider, problem) if problem else self._models.profile(provider, model)
                )
            except BadChoiceError as error:
                chosen = UnusableModel("/".join(filter(None, (provider, model))), str(error))
        if isinstance(chosen, UnusableModel):
            raise NoModelError(f"the model {chosen.name} for {wanted} cannot be used: {chosen.reason}")
        if chosen.id == WALKTHROUGH:
            raise NoModelError(
                f"the scripted model of the walkthrough has no {wanted}",
                "Set up a model, or name one in `models.suggestions`",
            )
        return chosen

    async def answer(
        self, profile: ProviderProfile, messages: Sequence[Message], wanted: str, limit_s: float
    ) -> str:
        """Return the text of the model's answer. `wanted` names the kind of text in the log.

        Raises:
            LlmError. TimeoutError: the model has not answered within `limit_s` seconds.
        """
        request = Request(
            model=profile.model,
            messages=tuple(messages),
            provider=profile.id,
            reasoning_effort=_least_effort(profile),
            max_output_tokens=MAX_OUTPUT_TOKENS,
            provider_options=profile.provider_options,
        )
        with anyio.fail_after(limit_s):
            answer, usage = await complete_text(
                self._models.client, request, streaming=profile.supports_streaming
            )
        sent, received = usage.input_tokens, usage.output_tokens
        log.info("%s by %s: %d tokens sent, %d received", wanted, title(profile), sent, received)
        return answer


def _least_effort(profile: ProviderProfile) -> str | None:
    """Return the lowest reasoning effort of the model, or None to leave the effort out of the request.

    A model with a thinking budget reasons only if the request specifies an effort.
    """
    entry = find_entry(profile.id, profile.model)
    known = ("none", "minimal") if entry.thinking == "budget" else ("none", "minimal", "low")
    return next((effort for effort in known if effort in entry.efforts), None)
