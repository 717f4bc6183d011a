"""Error bodies of Chat Completions servers, in all the shapes they have (FORMATS section 4, "Errors")."""

from __future__ import annotations

from functools import cache

from agent_ls.llm.errors import (
    AccessDeniedError,
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LlmError,
    NotFoundError,
    OverloadedError,
    QuotaExceededError,
    RateLimitError,
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ReplyHead
from agent_ls.llm.providers.failures import Failure, FailureTable
from agent_ls.llm.providers.wire_json import object_at, objects_at, parse_object, text_at

NO_TOOLS_WORDS = (
    "does not support tools",  # registry.ollama.ai/library/gemma:2b does not support tools (Ollama)
    "tool use is not supported",
    "no endpoints found that support tool use",  # OpenRouter
    "tools param requires --jinja flag",  # llama.cpp
    '"auto" tool choice requires',  # "auto" tool choice requires --enable-auto-tool-choice (vLLM)
)


@cache
def _table(provider: str) -> FailureTable:
    return FailureTable(
        provider,
        names={
            "invalid_api_key": AuthenticationError,
            "authentication_error": AuthenticationError,
            "permission_error": AccessDeniedError,
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
            # numbers in place of names, as OpenRouter and llama.cpp have them
            "400": InvalidRequestError,
            "401": AuthenticationError,
            "402": QuotaExceededError,
            "403": AccessDeniedError,
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
            ("insufficient balance", QuotaExceededError),  # DeepSeek
            ("model not found", NotFoundError),
            ("does not exist", NotFoundError),
            ("try pulling it first", NotFoundError),  # Ollama
        ),
    )


def http_error(provider: str, model: str, head: ReplyHead, body: bytes) -> LlmError:
    """The error of an answer that is not 2xx; a body of another shape (a proxy's page) says nothing."""
    failure = _failure(parse_object(body) or {}, head.headers.get("x-request-id", ""))
    return _hinted(_table(provider).error(failure, model, head))


def body_error(provider: str, model: str, body: JsonObject) -> LlmError:
    """The error that stands in a stream, or in the body of an answer with status 200."""
    return _hinted(_table(provider).error(_failure(body), model))


def refuses_tools(error: LlmError) -> bool:
    """Whether the server says that this model cannot call tools."""
    said = str(error).lower()
    return isinstance(error, InvalidRequestError | NotFoundError) and any(w in said for w in NO_TOOLS_WORDS)


def _failure(body: JsonObject, request_id: str = "") -> Failure:
    error = object_at(body, "error") or body
    codes = (error.get("code"), body.get("code"))
    words = [code for code in (codes[0], text_at(error, "type"), codes[1]) if isinstance(code, str)]
    names = (*words, *(str(code) for code in codes if isinstance(code, int)))  # a number tells less
    return Failure(_message(body, error), names, request_id)


def _message(body: JsonObject, error: JsonObject) -> str:
    """The most telling text: a broker's `metadata.raw` holds what the provider behind it said."""
    detail = body.get("detail")
    details = [text_at(item, "msg") for item in objects_at(body, "detail")]
    found = (
        text_at(object_at(error, "metadata"), "raw"),
        text_at(error, "message"),
        text_at(body, "error"),  # xAI
        detail if isinstance(detail, str) else "; ".join(details),  # Mistral
    )
    return next((text for text in found if text), "")


def _hinted(error: LlmError) -> LlmError:
    if refuses_tools(error):
        error.hint = "Choose a model that can call tools, or set the provider's toolCalls to text."
    return error
