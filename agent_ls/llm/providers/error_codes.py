"""The classes of errors by HTTP status, and by the codes and types that several servers send."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
from agent_ls.llm.providers.error_topics import topic_of_name
from agent_ls.patterns import regex

_STATUSES: Mapping[int, type[ProviderError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: QuotaExceededError,
    403: PermissionDeniedError,
    404: NotFoundError,
    410: NotFoundError,  # NVIDIA, of a model that ended
    413: RequestTooLargeError,
    422: InvalidRequestError,
    424: ServerError,  # TGI, Vercel: what the request depends on has failed
    429: RateLimitError,
    498: OverloadedError,  # Groq
    501: InvalidRequestError,  # llama.cpp: the server was not started for this
    529: OverloadedError,
}

# The same as codes in bodies: OpenRouter and llama.cpp send numbers instead of names.
_BY_NUMBER: Mapping[str, type[ProviderError]] = {
    **{str(status): kind for status, kind in _STATUSES.items()},
    # FastChat: an HTTP status with two more digits
    **{f"{status}{more:02}": ServerError for status in (500, 503) for more in range(1, 10)},
    **{f"429{more:02}": RateLimitError for more in range(1, 10)},
    **dict.fromkeys(("500", "502", "504"), ServerError),
    "503": OverloadedError,
    # Z.ai, on each of its APIs
    **dict.fromkeys(("1110", "1111", "1112", "1121", "1220"), PermissionDeniedError),
    "1113": QuotaExceededError,
    **dict.fromkeys(("1210", "1212", "1213", "1214", "1215"), InvalidRequestError),
    **dict.fromkeys(("1211", "1221", "1222"), NotFoundError),
    "1234": ServerError,
    "1261": ContextLengthError,
    "1301": ContentFilterError,
    **dict.fromkeys(("1302", "1303", "1305"), RateLimitError),
    "1312": OverloadedError,
    # the plan: used up or expired, and what it does not include
    **dict.fromkeys(("1304", "1308", "1309", "1310"), QuotaExceededError),
    **dict.fromkeys(map(str, range(1316, 1322)), QuotaExceededError),
    **dict.fromkeys(("1311", "1313", "1314", "1315"), PermissionDeniedError),
}

_PASSING = (409, 423, 425, 499)  # conflict, locked, too early, and a request that was cancelled
_OF_MANY = (400, 413, 422, 424, 429, 500, 501, 503)

OWN_CODE = regex(r"\d{4}")  # a code of a provider; shorter ones are HTTP statuses

# Z.ai through a gateway: [1214] Incorrect role information / [1305][The service may be temporarily overloaded]
_QUOTED_CODE = regex(r"(?:^|[\s:])\[(1[1-3]\d\d)\](?=\s*\[?[A-Za-z\u4e00-\u9fff])")

# Amazon Bedrock through a gateway: An error occurred (ThrottlingException) when calling the ConverseStream operation
_QUOTED_EXCEPTION = regex(r"\b([A-Z]\w{3,40})Exception\b")
_EXCEPTIONS: Mapping[str, type[ProviderError]] = {
    **dict.fromkeys(("Throttling", "TooManyRequests"), RateLimitError),
    **dict.fromkeys(("ServiceUnavailable", "ModelNotReady"), OverloadedError),
    **dict.fromkeys(("InternalServer", "ModelStreamError", "ModelTimeout"), ServerError),
    **dict.fromkeys(("UnrecognizedClient", "ExpiredToken", "InvalidSignature"), AuthenticationError),
    "AccessDenied": PermissionDeniedError,
    "ResourceNotFound": NotFoundError,
}

_WORDS_OF_NAMES: Sequence[tuple[re.Pattern[str], type[ProviderError]]] = (
    # credit_balance_exhausted, project_spend_limit_exceeded, organization_usage_limit_exceeded, AccountOverdueError
    (
        regex(
            r"(credits?|balance|spend|billing|budget|current_quota)\w*_(exhausted|exceeded|reached|error)"
            r"|usage_limit_exceeded|overdue|arrearage|freetieronly|insufficient_(funds|balance|credits)",
            re.IGNORECASE,
        ),
        QuotaExceededError,
    ),
    # cyber_policy, InputTextSensitiveContentDetected, data_inspection_failed / Portkey: hooks_failed
    (
        regex(r"policy(_violation)?$|sensitivecontent|data_inspection|censor|^hooks_failed$", re.IGNORECASE),
        ContentFilterError,
    ),
    (regex(r"overloaded|^service_?unavailable", re.IGNORECASE), OverloadedError),
    # Bedrock: throttlingException, with a small letter within streams
    (
        regex(
            r"throttl|too_?many_?requests|^rate_?limit|(requests?|server|qps|concurren\w+)_?limit_?(exceeded|reached)",
            re.IGNORECASE,
        ),
        RateLimitError,
    ),
    (regex(r"^(internal_?server|modelstreamerror)", re.IGNORECASE), ServerError),
    # new-api: entitlement_daily_limit_exceeded / KoboldCpp: bad_input / Volcano Engine: ModelNotOpen
    (regex(r"(daily|weekly|monthly|total)_limit_(exceeded|reached)"), QuotaExceededError),
    (regex(r"^entitlement_|modelnotopen", re.IGNORECASE), PermissionDeniedError),
    (regex(r"^bad_input$"), InvalidRequestError),
    # LiteLLM: key_model_access_denied / Groq: model_terms_required
    (
        regex(r"access_(denied$|terminated)|account_(deactivated|disabled)|terms_required|_restricted$"),
        PermissionDeniedError,
    ),
    (regex(r"^model_(decommissioned|not_available|not_supported|price_error)$"), NotFoundError),
)


def kind_of_name(name: str, names: Mapping[str, type[ProviderError]]) -> type[ProviderError] | None:
    """Return the class of an error's code or type: of `names`, else of the ones that several servers have."""
    if kind := names.get(name) or (_BY_NUMBER.get(name) if name.isdigit() else None):
        return kind
    return next((kind for words, kind in _WORDS_OF_NAMES if words.search(name)), None) or topic_of_name(name)


def quoted_kind(message: str) -> type[ProviderError] | None:
    """Return the class of a code or an exception that a gateway quotes in its own message."""
    if quoted := _QUOTED_CODE.search(message):
        return kind_of_name(quoted[1], {})
    found = (_EXCEPTIONS.get(name) for name in _QUOTED_EXCEPTION.findall(message))
    return next(filter(None, found), None)


def kind_of_status(status: int | None) -> type[ProviderError]:
    """Return the class of a status. As HTTP demands, an unknown status counts as the first one of its hundred."""
    if status is None or status in _PASSING:
        return ProviderError
    return _STATUSES.get(status) or {4: InvalidRequestError, 5: ServerError}.get(status // 100, ProviderError)


def is_vague(status: int | None) -> bool:
    """Return whether words may say more than a status: servers send it for many reasons, or it is an unknown one."""
    return (
        status is None
        or status in _OF_MANY
        or (400 <= status < 500 and status not in {*_STATUSES, *_PASSING})
    )
