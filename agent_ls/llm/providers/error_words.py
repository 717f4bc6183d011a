"""The words with which servers state the reason of an error, where status and code are vague."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTooLargeError,
    ServerError,
)
from agent_ls.llm.providers.error_topics import topic_of
from agent_ls.patterns import regex

# Patterns in the lower-case message that are more specific than the status, with examples. The first match decides.
_OVERFLOW = (
    r"context[ _-]?(length|window|size|limit)",  # This model's maximum context length is 8192 tokens
    r"(prompt|input|conversation|sequence|inputs|messages|request) (is |are )?too long",
    r"max(imum)? length exceeded",  # Moonshot
    r"range of input length should be",  # DashScope
    r"`?inputs`? (tokens .*)?must (be <=|have less than)",  # TGI
    r"max_(completion_|new_)?tokens must be (at least 1|positive|greater than 0), got -",  # vLLM without room
    # Z.ai: tokens in request more than max tokens allowed
    r"(?<!completion )(?<!output )\btokens\b.{0,40}(more|greater|larger) than (the )?(max|limit|allowed|context)",
    r"n_keep \(\d+\) >= n_ctx",  # LM Studio: Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)
    r"request (body )?too large for .{0,200}(token|max size)",  # Groq, GitHub Models
    r"\bmax(imum)? input (characters|tokens|length) (is|are|of)\b",  # Qianfan: the max input characters is 11200
    r"\bmax tokens of \d+ exceeded",  # Snowflake
    r"\btotal tokens\b.{0,60}\bexceed",  # Volcano Engine: Total tokens of image and text exceed max message tokens
    r"no user (query|message) (was )?found",  # a template, after Ollama has cut the beginning of the conversation
)
SPENT = (
    r"(credits?|free tier\b.{0,40}) (are |is |have |has )?(been )?(depleted|expired|exhausted|used up)"
    r"|(no|any|all available) credits|key limit exceeded|overdue|good standing|extra usage is required"
    r"|\bfree\b.{0,20}\bquota\b[^.]{0,40}\b(exceeded|exhausted|used)"  # DashScope
    r"|quota is not enough|not enough (quota|credits?|balance)|额度不足|余额不足"
    r"|spend(ing)? (limit|cap)|suspended.{0,60}(billing|spending)|trial key\b.{0,40}limited"
)
"""Words of used-up credit, also with a status that says something else."""
_FILTERED = r"requires moderation|input was flagged|violates? (the |our )?usage guidelines"
_CLOSED = r"(access|account) (was|is|has been) (terminated|deactivated|banned|closed)"
"""Words of OpenAI about an account that it has closed, though these name its policies too."""
_REFINED: Mapping[type[ProviderError], tuple[tuple[str, type[ProviderError]], ...]] = {
    PermissionDeniedError: (
        (SPENT, QuotaExceededError),
        # a rate limit is a 429: watsonx, Azure's gateway and Tyk say 403 of a quota
        (
            r"\bquotas?\b.{0,60}(exceeded|reached|exhausted|replenished)|\bout of \w+ \w+ quota",
            QuotaExceededError,
        ),
        (r"\[server_error\]", ServerError),  # OpenCode, of an upstream
        (_CLOSED, PermissionDeniedError),
        (_FILTERED, ContentFilterError),
        ("key was reported as leaked|unregistered callers", AuthenticationError),  # Gemini
    ),
    AuthenticationError: (
        (r"missing scopes|insufficient permissions|ip address .{0,40}not authorized", PermissionDeniedError),
        ("must be a member of an organi[sz]ation", PermissionDeniedError),
    ),
    NotFoundError: (
        (r"(not|n't) (been )?activated\b", PermissionDeniedError),  # Volcano Engine
        (
            r"(not|n't) (available|included) (on|in|under|with) your (current )?(plan|tier)",
            PermissionDeniedError,
        ),
        # OpenRouter, of a model that the settings of the account exclude
        (r"match\w* your .{0,40}(polic|privacy|restriction|settings|preferences)", PermissionDeniedError),
    ),
    RateLimitError: (
        (SPENT, QuotaExceededError),
        (_CLOSED, PermissionDeniedError),
    ),
    # OpenRouter and MiniMax: invalid_prompt, the code of OpenAI's filter, for fields that are missing or wrong
    ContentFilterError: (
        (
            r"invalid[_ ](union|type|value|literal|param|arg)|zod|validation error|tool result",
            InvalidRequestError,
        ),
    ),
    ProviderError: ((SPENT, QuotaExceededError),),
    InvalidRequestError: ((SPENT, QuotaExceededError),),
    # CLIProxyAPI: unknown provider for model a / a relay: No available accounts support the requested model
    ServerError: (
        (
            r"\b(unknown|no) provider (found )?for (the )?model|accounts? supports? the (requested )?model",
            NotFoundError,
        ),
    ),
}
_REFINED_TOPICS: Mapping[type[ProviderError], tuple[type[ProviderError], ...]] = {
    PermissionDeniedError: (QuotaExceededError, ContentFilterError, AuthenticationError),
    AuthenticationError: (QuotaExceededError, PermissionDeniedError),
    RateLimitError: (QuotaExceededError,),
}

# LiteLLM: Request size is 10.0 MB. Max size is 5 MB / KoboldCpp: Payload is too big. Max payload size is 32MB.
_IN_BYTES = (
    r"^(?!.*\b(images?|media|files?|documents?|audio|video|pdf|memory)\b)(?=.*\b(request|payload|body)\b)"
    r"(?=.*(too (big|large)|exceed|max|limit)).*\b\d+(\.\d+)? ?[kmg]i?b(ytes)?\b"
)
WORDS: tuple[tuple[str, type[ProviderError]], ...] = (
    (_IN_BYTES, RequestTooLargeError),
    *((words, ContextLengthError) for words in _OVERFLOW),
    (r"\busage limits?\b", QuotaExceededError),  # Anthropic, also through a proxy
    ("current quota", QuotaExceededError),  # You exceeded your current quota
    (r"content exists risk|sensitive information", ContentFilterError),  # DeepSeek, Volcano Engine
    (
        r"content[ _-]?(filter|management policy|policy)|usage polic(y|ies)|\b(prompt|response) blocked due to\b",
        ContentFilterError,
    ),
    ("unauthorized|authentication error|invalid authentication", AuthenticationError),
    (r"\bmodels?\b.{0,100}(does not exist|doesn't exist|not exist|\bnot found)", NotFoundError),
    (r"\bmodels?\b.{0,100}is not supported(?! (with|for|in|by))", NotFoundError),
    (
        (
            r"is not a valid model|\bmodel (name |id |identifier )?is invalid|not supported by any provider"
            r"|on-demand throughput"
            r"|\bmodels?\b.{0,100}(decommissioned|end of (its|their) life|discontinued|retired)|non-serverless model"
            r"|llm provider not provided|please specify a model"
        ),
        NotFoundError,
    ),
    (
        (
            r"payload size exceeds|request (body|entity|payload) (is )?too large"
            r"|'body' failed to satisfy constraint.{0,40}length less than"
        ),  # Bedrock
        RequestTooLargeError,
    ),
    (
        (
            r"is not allowed to use \w* ?model"
            r"|organi[sz]ation has been (disabled|restricted)|requires terms acceptance"
        ),
        PermissionDeniedError,
    ),
    ("image input is not supported", InvalidRequestError),  # llama.cpp, with status 500
    (r"unexpected endpoint|no such (endpoint|route)", NotFoundError),  # LM Studio, with status 200
    (
        "overloaded|at capacity|no healthy upstream|temporarily unavailable|service unavailable",
        OverloadedError,
    ),
    (
        "too many requests|rate limit|token bucket|too many tokens, please wait|qps|流控|限流",
        RateLimitError,
    ),
    ("internal server error|bad gateway|upstream (connect|request)|gateway time-?out", ServerError),
)
# LiteLLM, also as auth_error: Budget has been exceeded! / crossed budget / ExceededBudget: End User=a over budget
BUDGET = regex(
    r"\b(exceeded|over|crossed) budget|budget (limit )?(has been |is |was )?(exceeded|exhausted|reached|spent)"
    r"|exceededbudget"
)
# DashScope: You exceeded your current quota, please check your plan. For details, see: …/error-code#token-limit
THROTTLED = regex(r"error-code#token-limit|throttling\.")
"""A limit per minute that a server calls a quota."""
LOADING = regex(
    r"loading (the )?model|^model loading\b"
    r"|model\b.{0,200}\b(is|still|currently) (still |currently )?(loading|being loaded|warming up)"
)
CUT = regex(
    r"stream (was |is )?(disconnected|closed|ended) before|connection (was |is )?(reset|closed|refused|aborted)\b"
    r"|econnreset|socket hang up|error sending request|broken pipe|\bdial tcp\b|i/o timeout|premature(ly)? close"
    r"|closed (the )?connection\b|\bstream ended unexpectedly|incomplete chunked read"
    r"|(peer|server|remote end|upstream) (unexpectedly )?(closed|disconnected)"
    r"|^(?![\s\S]*(template|json|pars|syntax))[\s\S]*\bunexpected eof\b"  # Ollama, with status 400
    r"|degraded function"  # NVIDIA, with status 400
    r"|failed to get (a )?response from (the )?(provider|upstream)"  # Cloudflare, with status 400
)
"""A proxy lost its connection to the model's server, whatever it calls that."""
MALFORMED_CALL = regex(
    r"failed to (call a function|parse (input at pos|tool call|the tool call|function call))|tool_use_failed"
    r"|model response did not respect the required format"  # Databricks
    r"|tool call validation failed|(invalid|malformed) tool call(?! id)"
    r"|(error parsing|could not parse) .{0,20}tool call"
    r"|tool[ _]call.{0,40}(not valid json|parse error)"
    r"|\btool error: .{0,80}\bat line \d"  # TGI
    r"|validation errors? for list\[function",  # vLLM, of a call that it forced
    re.IGNORECASE,
)
"""A server could not read the call that its model wrote: another try may be right."""
NO_RATE = regex(
    r"\b(per|this|for the)[\s-]+(day|week|month)\b|\btoday's\b|\btomorrow\b|\b(daily|weekly|monthly)\b|\blimit: 0\b"
    r"|(n't|not) have a free|\bno free (quota|tier)|not (available|included) (in|on|for) (the |your )?free"
    r"|\bresets? (on|at) ([a-z]{3,9} \d{1,2}\b|\d{4}-\d\d)|\bout of (\w+ )?(messages|requests)\b"
    r"|每[日天周月]|[今本][日天周月]",
    re.IGNORECASE,
)
"""A limit that waiting some minutes does not lift, if the server names no delay."""

# Groq: Limit 7000, Used 0, Requested ~12903. Please try again in 50.6s.
_RATE = regex(r"limit:?\s+(\d[\d,]*)\b.{0,60}?\brequested:?\s+~?(\d[\d,]*)", re.DOTALL)
_OUTPUT_ONLY = regex(r"completion tokens|output tokens|max_(completion_|output_|new_)?tokens|maxoutputtokens")
_OF_OTHER_THINGS = regex(r"image|description|\btools?\b|function|schema|\bname\b")
_ABOUT_INPUT = regex(r"context|prompt|input|conversation|requested")
_LIMIT_FIRST = regex(
    r"(max|limit|at most|up to|allow|support)\D{0,60}\d{3}.{0,80}"
    r"(got|given|request|received|has|contain|provided|sent|actual|found)"
)
_ABOUT_SIZE = regex(r"\btokens?\b|context|prompt|\binput\b|sequence|length")
_ABOUT_EXCESS = regex(
    r"exceed|too (long|large|many|big)|max|limit|at most|longer|larger|greater|more than|\bbut\b|over\b"
)
_NUMBER = regex(r"(?<![\w.])\d[\d,_]*(?![\w.]*\d)")
_LEAST_WINDOW = 500  # smaller numbers are counts of messages or tools, or statuses


def refined(kind: type[ProviderError], message: str) -> type[ProviderError]:
    """Return the class of an error whose words say more than its status or code."""
    text = message.lower()
    worded = next((better for words, better in _REFINED.get(kind, ()) if re.search(words, text)), None)
    topics = _REFINED_TOPICS.get(kind, ())
    topic = topic_of(message, topics) if topics else None
    if kind is AuthenticationError and topic is PermissionDeniedError and topic_of(message, (kind,)):
        topic = kind  # it is the key, too
    return worded or topic or kind


def exceeds_rate(text: str) -> bool:
    """Return whether one request alone is above a limit of tokens per minute. `text` is in lower case."""
    found = _RATE.search(text)
    return found is not None and int(found[2].replace(",", "")) > int(found[1].replace(",", ""))


def states_overflow(text: str) -> bool:
    """Return whether a message about an invalid request states by two sizes that the conversation is too long.

    This recognises servers whose words are not known: 41000 tokens, but 32768 are allowed.
    """
    text = text.lower().replace("input validation error", "")
    if _OF_OTHER_THINGS.search(text):
        return False
    if _OUTPUT_ONLY.search(text) and not _ABOUT_INPUT.search(_OUTPUT_ONLY.sub("", text)):
        return False
    sizes = [int(re.sub("[,_]", "", number)) for number in _NUMBER.findall(text)]
    sizes = [size for size in sizes if size >= _LEAST_WINDOW]
    if not (_ABOUT_SIZE.search(text.replace("_", " ")) and _ABOUT_EXCESS.search(text)):
        return False
    is_over = any(first > second for first, second in pairwise(sizes))
    is_limit_first = any(first < second for first, second in pairwise(sizes))
    return is_over or (is_limit_first and _LIMIT_FIRST.search(text) is not None)
