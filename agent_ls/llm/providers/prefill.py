"""End a conversation with the user: many servers refuse one that ends with an answer, as if it were a beginning."""

from __future__ import annotations

import re
from dataclasses import replace

from agent_ls.llm.errors import LlmError, is_refusal
from agent_ls.llm.messages import Role, user
from agent_ls.llm.requests import Request
from agent_ls.patterns import regex

# llama.cpp: Assistant response prefill is incompatible with enable_thinking.
# Anthropic: This model does not support assistant message prefill. The conversation must end with a user message.
# Vertex AI: Requests ending with a model turn are not supported.
# Mistral: Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant
_REFUSED = regex(
    r"prefill|must end with a user|ending with an? (model|assistant)"
    r"|expected last role|last message .{0,30}(must|should|cannot) .{0,20}(user|assistant)",
    re.IGNORECASE,
)
CONTINUE = "Continue."


class Prefills:
    """The models that refuse a conversation that ends with an answer."""

    def __init__(self) -> None:
        self._refusing: set[str] = set()

    def learn(self, request: Request, error: LlmError) -> bool:
        """Remember a refusal. Return whether the request can be sent once more."""
        is_known = request.model in self._refusing
        if (
            is_known
            or not (is_refusal(error) and _REFUSED.search(str(error)))
            or not _ends_with_answer(request)
        ):
            return False
        self._refusing.add(request.model)
        return True

    def fit(self, request: Request) -> Request:
        """Return a request that the model accepts: a message of the user follows the last answer."""
        if request.model not in self._refusing or not _ends_with_answer(request):
            return request
        return replace(request, messages=(*request.messages, user(CONTINUE)))


def _ends_with_answer(request: Request) -> bool:
    return bool(request.messages) and request.messages[-1].role is Role.ASSISTANT
