"""Decide whether to retry a failed model call, and after which delay. Pure: the caller sleeps."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.llm.errors import LlmError


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


def retry_delay_s(error: LlmError, attempt: int, policy: RetryPolicy, random: float) -> float | None:
    """Return the delay after the failed attempt `attempt` (counted from 0), or None: do not retry.

    `random` is in [0, 1). A provider's Retry-After replaces the computed delay. If Retry-After exceeds `max_delay_s`,
    there is no retry, and the error says how long to wait.
    """
    if not error.retryable or attempt >= policy.max_retries:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= policy.max_delay_s else None
    delay = min(policy.base_delay_s * policy.factor**attempt, policy.max_delay_s)
    return delay * (1 + policy.jitter * (2 * random - 1))
