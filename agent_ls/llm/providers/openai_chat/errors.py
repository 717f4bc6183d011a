"""Convert the error bodies of Chat Completions servers, in all their formats, to LlmError objects."""

from __future__ import annotations

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
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.error_mapping import FailureTable, ProviderFailure
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, parse_object, text_at

NO_TOOLS_WORDS = (
    "does not support tools",  # Ollama: registry.ollama.ai/library/gemma:2b does not support tools
    "tool use is not supported",
    "no endpoints found that support tool use",  # OpenRouter
    "tools param requires --jinja flag",  # llama.cpp
    '"auto" tool choice requires',  # "auto" tool choice requires --enable-auto-tool-choice (vLLM)
)


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
            # OpenRouter and llama.cpp send numbers instead of names
            "400": InvalidRequestError,
            "401": AuthenticationError,
            "402": QuotaExceededError,
            "403": PermissionDeniedError,
            "404": NotFoundError,
            "413": RequestTooLargeError,
            "429": RateLimitError,
            "500": ServerError,
            "502": ServerError,
            "503": OverloadedError,
            "504": ServerError,
        },
        words=(
            ("exceeds the available context size", ContextLengthError),  # llama.cpp
            ("exceeded max context length", ContextLengthError),  # Ollama
            ("failed to decode, try again, increasing context", ContextLengthError),  # llama-box
            ("increase the context length", ContextLengthError),  # LM Studio
            ("incorrect api key", AuthenticationError),  # xAI, with status 400
            # LiteLLM without a database accepts only its master key
            ("no connected db", AuthenticationError),
            ("insufficient balance", QuotaExceededError),  # DeepSeek
            ("invalid model name", NotFoundError),  # LiteLLM
            ("server is pinned to", NotFoundError),  # `transformers serve` that was started with one model
            ("model not found", NotFoundError),
            ("does not exist", NotFoundError),
            ("try pulling it first", NotFoundError),  # Ollama
        ),
    )


def http_error(provider: str, model: str, head: ReplyHead, body: bytes) -> LlmError:
    """Return the error of a response that is not 2xx. A body in another format (a proxy's page) is ignored."""
    failure = _failure(parse_object(body) or {}, head.headers.get("x-request-id", ""))
    return _add_hint(_table(provider).error(failure, model, head))


def body_error(provider: str, model: str, body: JsonObject) -> LlmError:
    """Return the error of a stream event, or of a body with status 200."""
    return _add_hint(_table(provider).error(_failure(body), model))


def refuses_tools(error: LlmError) -> bool:
    """Return whether the server says that this model cannot call tools."""
    said = str(error).lower()
    return isinstance(error, InvalidRequestError | NotFoundError) and any(w in said for w in NO_TOOLS_WORDS)


def _failure(body: JsonObject, request_id: str = "") -> ProviderFailure:
    error = object_at(body, "error") or body
    codes = (error.get("code"), body.get("code"))
    words = [code for code in (codes[0], text_at(error, "type"), codes[1]) if isinstance(code, str)]
    # numeric codes are less specific than names, so they are last
    names = (*words, *(str(code) for code in codes if isinstance(code, int)))
    sizes = (int_at(error, "n_prompt_tokens") or 0, int_at(error, "n_ctx") or 0)  # llama.cpp
    return ProviderFailure(
        _message(body, error), names, request_id, prompt_tokens=sizes[0], context_tokens=sizes[1]
    )


def _message(body: JsonObject, error: JsonObject) -> str:
    """Return the most specific message. A broker's `metadata.raw` is the message of the provider that it called."""
    detail = body.get("detail")
    details = [text_at(item, "msg") for item in objects_at(body, "detail")]
    found = (
        text_at(object_at(error, "metadata"), "raw"),
        text_at(error, "message"),
        text_at(body, "error"),  # xAI
        detail if isinstance(detail, str) else "; ".join(details),  # Mistral sends the field `detail`
    )
    return next((text for text in found if text), "")


def _add_hint(error: LlmError) -> LlmError:
    if refuses_tools(error):
        error.hint = "Choose a model that can call tools, or set the provider's toolCalls to text."
    return error
