"""Decide whether to retry a failed model call, and after which delay. Pure: the caller sleeps."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.llm.errors import LlmError, ModelLoadingError, asked_delay_s, check_amounts

LOADING_RETRIES = 40
"""A large model may take six minutes to load: retries after 1, 2, 4, 8 and then 10 seconds."""

_LOADING_MAX_DELAY_S = 10.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of retries and the delays between them, in seconds.

    Each delay varies randomly by up to `jitter`, a fraction of the delay, in both directions.
    """

    max_retries: int = 2
    base_delay_s: float = 1.0
    factor: float = 2.0
    max_delay_s: float = 60.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        check_amounts(self, "max_retries", "base_delay_s", "factor", "max_delay_s", "jitter")


def retry_delay_s(error: LlmError, attempt: int, policy: RetryPolicy, random: float) -> float | None:
    """Return the delay after the failed attempt `attempt` (counted from 0), or None: do not retry.

    `random` is in [0, 1). A valid Retry-After of the provider replaces the computed delay. If it exceeds `max_delay_s`,
    there is no retry, and the error says how long to wait.
    """
    is_loading = isinstance(error, ModelLoadingError) and policy.max_retries > 0
    if not error.retryable or attempt >= (LOADING_RETRIES if is_loading else policy.max_retries):
        return None
    asked_s = asked_delay_s(error)
    if asked_s is not None:
        return asked_s if asked_s <= policy.max_delay_s else None
    most = min(policy.max_delay_s, _LOADING_MAX_DELAY_S) if is_loading else policy.max_delay_s
    delay = min(policy.base_delay_s * policy.factor ** min(attempt, 30), most)
    return delay * (1 + policy.jitter * (2 * random - 1))
