"""The beginning of the message, and the hint, that the user reads for each class of error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelLoadingError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTooLargeError,
    ServerError,
)
from agent_ls.patterns import regex

PROXY_LOGIN = (
    "the proxy between this machine and {provider} requires a login",
    "Put user and password into the address of the proxy (HTTPS_PROXY), or connect without the proxy.",
)
"""Message and hint for status 407, with which a proxy refuses a request or a tunnel to the provider."""

# Statuses that a wrong base URL or a proxy causes, each with message and hint. A retry never succeeds.
WRONG_WAYS: Mapping[int, tuple[str, str]] = {
    405: (
        "the server at the base URL of {provider} does not accept API requests (HTTP status 405)",
        "Check the base URL of the provider.",
    ),
    407: PROXY_LOGIN,
}

LEADS: Mapping[type[ProviderError], tuple[str, str]] = {
    AuthenticationError: (
        "{provider} refused the key",
        (
            "Enter a valid key, for example with `agent-ls keys set {provider}`. A key in {variable} comes first: "
            "correct it there and start the program again."
        ),
    ),
    PermissionDeniedError: (
        "{provider} denied access",
        "Check the permissions of this key and its project, or choose another model.",
    ),
    NotFoundError: (
        "{provider} does not know the model {model}",
        "Choose another model, or check its spelling and the base URL.",
    ),
    ContextLengthError: (
        "the conversation is too long for {model}",
        "Compact the conversation, start a new session, or choose a model with a larger context window.",
    ),
    RequestTooLargeError: (
        "the request is too large for {provider}",
        "Leave out large images or files, compact the conversation, or start a new session.",
    ),
    InvalidRequestError: (
        "{provider} rejected the request",
        (
            "Check the model's name and the key: some servers answer this if one is wrong. "
            "If both are right, please report it."
        ),
    ),
    QuotaExceededError: (
        "the credit at {provider} is used up",
        "Check the plan, billing and spending limits of your account at the provider.",
    ),
    RateLimitError: ("{provider} limits the rate of requests", "Wait a moment, then send again."),
    ContentFilterError: ("{provider} refused the content", "Rephrase the request, or choose another model."),
    ModelLoadingError: (
        "{provider} is still loading the model",
        "Wait until the server has loaded the model, then send again.",
    ),
    OverloadedError: ("{provider} is overloaded", "Try again in a few minutes, or choose another model."),
    ServerError: (
        "{provider} failed",
        "Try again. If the error remains, look at the provider's status page.",
    ),
    ProviderError: ("{provider} answered with an error", "Try again."),
}

# One request with more tokens than a minute allows: no wait helps. examples: Groq (413), OpenAI (429)
PER_MINUTE = regex(r"tokens per min|\bTPM\b", re.IGNORECASE)
ABOVE_RATE = (
    "the request has more tokens than your account at {provider} may send in one minute",
    "Compact the conversation, choose another model, or raise the limit of your account.",
)

NO_API = (
    "there is no such API at the address of {provider}",
    "Check the base URL of the provider: for many servers it ends with /v1.",
)

# Copilot: model "gpt-5.4" is not accessible via the /chat/completions endpoint
OTHER_API = regex(
    r"(support|accessible|available)\w*\b.{0,60}(/completions|/responses|/messages)"
    r"|chat_?completion operation does not work"  # Azure
    r"|\bnot support chat ?completions?\b"  # Vertex AI
    r"|in the responses api|\b(not|n't) available on (this|the \w*_?(messages|responses|completions)) endpoint"
    # Copilot: model a is not supported via Responses API
    r"|(\bnot|n't) (support|available|accessible)\w* (via|by|through|in|on|with) (the )?(\w+ )?"
    r"(messages|responses|chat completions) api|unsupported_api_for_model"
    # Workers AI: Anthropic Messages API is not supported for model "@cf/a/b"
    r"|\b(messages|responses|chat completions) api\b.{0,20}(\bnot|n't) (yet |currently )?(support|available|enabled)",
    re.IGNORECASE,
)
OTHER_API_HINT = (
    "The server offers this model by another API only. Set its base URL for another provider and choose the model "
    "there: openai (Responses), anthropic (Messages) or compatible (Chat Completions). Or choose another model."
)

PAGE = (
    "a web page answered in place of {provider}",
    "Check the base URL, and whether a proxy, a firewall or a login page stands between this machine and {provider}.",
)

# MiniMax: invalid params / Gemini: Request contains an invalid argument. / a server without a body
UNSTATED = regex(
    r"((invalid|malformed) ((params?|parameters?|arguments?|inputs?)( values?)?|requests?|chat settings?)|bad request"
    r"|\b(upstream|provider) (returned )?(an )?error(\W{1,3}4\d\d)?"
    r"|parameters? [\w ]{0,30}(is|are) (invalid|not valid)|unprocessable( entity| content)?|\(http 4\d\d\)|no body)"
    r"( error)?(\W*\b(request|trace)[ _]?id\b\W*[\w-]+|\W*\(\d{3,5}\)|\W*\b(for )?url[=:]\s*\S++)*\W*$",
    re.IGNORECASE,
)
"""The end of the message of a refusal that has no reason."""
UNSTATED_HINT = (
    "The server does not say what it refuses: its log may. Check the model's name and the key. If an earlier message "
    "is the reason, a new session helps."
)
