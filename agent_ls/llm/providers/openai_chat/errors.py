"""Convert the error bodies of Chat Completions servers, in all their formats, to LlmError objects."""

from __future__ import annotations

import re
from functools import cache

from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    ServerError,
)
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_bodies import read_failure, unreadable_answer
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.openai_chat.rejected_output import explain_malformed_call
from agent_ls.llm.providers.refused_tools import NO_TOOLS_HINT, refuses_tools
from agent_ls.patterns import regex

_MORE_CONTEXT = {
    "llamacpp": "Start llama-server with a larger context, for example --ctx-size 32768.",
    "ollama": "Start Ollama with a larger context, for example OLLAMA_CONTEXT_LENGTH=32768 ollama serve.",
    "lmstudio": "Load the model again in LM Studio, with a larger context length.",
    "vllm": "Start vLLM with a larger --max-model-len, if the model allows it.",
    "compatible": "If the server is yours, start it with a larger context.",
}
"""A hint for the user on starting the server with a larger context, by provider."""


@cache
def _table(provider: str) -> FailureTable:
    return FailureTable(
        provider,
        more_context=_MORE_CONTEXT.get(provider, ""),
        names={
            "invalid_api_key": AuthenticationError,
            "authentication_error": AuthenticationError,
            "auth_error": AuthenticationError,  # LiteLLM
            "no_db_connection": AuthenticationError,  # LiteLLM
            "permission_error": PermissionDeniedError,
            "model_not_found": NotFoundError,
            "context_length_exceeded": ContextLengthError,
            "tokens_limit_reached": ContextLengthError,  # GitHub Models
            "exceed_context_size_error": ContextLengthError,
            "insufficient_quota": QuotaExceededError,
            "insufficient_credits": QuotaExceededError,
            "rate_limit_exceeded": RateLimitError,
            "RateLimitReached": RateLimitError,
            "content_filter": ContentFilterError,
            "server_error": ServerError,
            "overloaded_error": OverloadedError,
            "service_unavailable": OverloadedError,
            "invalid_request_error": InvalidRequestError,
            "tool_use_failed": InvalidRequestError,
            # MiniMax, often with status 200
            **dict.fromkeys(("1004", "2049"), AuthenticationError),
            **dict.fromkeys(("1008", "2056"), QuotaExceededError),
            **dict.fromkeys(("1002", "1039", "1041", "2045"), RateLimitError),
            **dict.fromkeys(("1026", "1027"), ContentFilterError),
            **dict.fromkeys(("1024", "1033"), ServerError),
            "2013": InvalidRequestError,
            "2061": PermissionDeniedError,
            "unavailable_error": OverloadedError,  # llama.cpp
        },
        words=(
            (r"failed to decode, try again, increasing context", ContextLengthError),  # llama-box
            # LiteLLM without a database accepts only its master key
            ("no connected db", AuthenticationError),
            ("server is pinned to", NotFoundError),  # `transformers serve` that was started with one model
            ("does not exist", NotFoundError),
            ("try pulling it first", NotFoundError),  # Ollama
        ),
        # OpenRouter without a reason: another try may be sent to another provider / LM Studio
        passing=r"^provider returned error$|model has crashed",
    )


def http_error(provider: str, model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx, or of a body that is not an answer."""
    if head.status < 300:
        return _add_hint(unreadable_answer(_table(provider), model, body))
    failure = read_failure(body, head.headers.get("x-request-id", ""))
    return _add_hint(_table(provider).error(failure, model, head))


def body_error(provider: str, model: str, failure: ProviderFailure) -> LlmError:
    """Return the error of a stream event, or of a body with status 200."""
    return _add_hint(_table(provider).error(failure, model))


_TEMPLATE = regex(
    r"chat template|parser for this template|jinja|raise_exception|\{%|at row \d+, column", re.IGNORECASE
)


def _add_hint(error: LlmError) -> LlmError:
    if refuses_tools(error):
        error.hint = f"{NO_TOOLS_HINT[:-1]}, or set the provider's toolCalls to text."
    elif isinstance(error, InvalidRequestError | ServerError) and _TEMPLATE.search(str(error)):
        error.hint = (
            "The chat template of this model on the server refuses the conversation: start the server with another "
            "template, or choose another model."
        )
    return explain_malformed_call(error)
