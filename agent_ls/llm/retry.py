"""When a failed model call is made again, and after how long (U8, C section 6.6). Pure: sleeping is the caller's."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.llm.errors import LlmError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Times in seconds; `jitter` is a share of the delay, both ways."""

    max_retries: int = 2
    base_delay_s: float = 1.0
    factor: float = 2.0
    max_delay_s: float = 60.0
    jitter: float = 0.5


def retry_delay_s(error: LlmError, attempt: int, policy: RetryPolicy, random: float) -> float | None:
    """The delay before attempt `attempt` + 1 (attempts count from 0), or None: do not try again.

    `random` is in [0, 1). A provider's Retry-After stands in for our own delay when it is not above
    `max_delay_s`; above it there is no retry (the user is told how long instead).
    """
    if not error.retryable or attempt >= policy.max_retries:
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= policy.max_delay_s else None
    delay = min(policy.base_delay_s * policy.factor**attempt, policy.max_delay_s)
    return delay * (1 + policy.jitter * (2 * random - 1))
