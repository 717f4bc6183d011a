from __future__ import annotations

from math import inf, nan

import pytest

from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.errors import (
    AuthenticationError,
    ConfigurationError,
    LlmError,
    NetworkError,
    RateLimitError,
)
from agent_ls.llm.generate import GenerateOptions
from agent_ls.llm.retry import RetryPolicy, retry_delay_s

LOST = NetworkError("lost")


def limited(seconds: float) -> LlmError:
    return RateLimitError("limited", retry_after_s=seconds)


CASES: dict[str, tuple[LlmError, int, float, float | None]] = {
    "first": (LOST, 0, 0.5, 1.0),
    "second doubles": (LOST, 1, 0.5, 2.0),
    "no third": (LOST, 2, 0.5, None),
    "least jitter": (LOST, 0, 0.0, 0.5),
    "most jitter": (LOST, 0, 1.0, 1.5),
    "told to wait": (limited(7), 0, 0.0, 7.0),
    "told to wait not at all": (limited(0), 0, 0.5, 0.0),
    "told to wait as long as we may": (limited(60), 0, 0.5, 60.0),
    "told to wait too long": (limited(61), 0, 0.5, None),
    "asked for a negative time": (limited(-5), 0, 0.5, 1.0),
    "asked for no number": (limited(nan), 0, 0.5, 1.0),
    "asked to wait without end": (limited(inf), 0, 0.5, 1.0),
    "not retryable": (AuthenticationError("no"), 0, 0.5, None),
}


@pytest.mark.req("U8")
@pytest.mark.parametrize(("error", "attempt", "random", "expected"), CASES.values(), ids=CASES)
def test_default_retry_policy_returns_the_expected_delays(
    error: LlmError, attempt: int, random: float, expected: float | None
) -> None:
    assert retry_delay_s(error, attempt, RetryPolicy(), random) == expected


def test_delay_is_capped_before_jitter() -> None:
    assert retry_delay_s(LOST, 9, RetryPolicy(max_retries=10), 0.5) == 60.0


def test_an_error_with_retryable_set_to_false_is_not_retried() -> None:
    error = NetworkError("lost")
    error.retryable = False
    assert retry_delay_s(error, 0, RetryPolicy(), 0.5) is None


@pytest.mark.req("U8", "U9")
@pytest.mark.parametrize("amount", [-1, -0.5, nan, -inf])
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (RetryPolicy, "max_retries"),
        (RetryPolicy, "base_delay_s"),
        (RetryPolicy, "jitter"),
        (GenerateOptions, "max_tool_rounds"),
        (GenerateOptions, "total_timeout_s"),
        (GenerateOptions, "step_timeout_s"),
        (ConnectionSettings, "silence_timeout_s"),
        (ConnectionSettings, "total_timeout_s"),
    ],
)
def test_an_amount_below_zero_is_refused_with_its_name(made: type, name: str, amount: float) -> None:
    with pytest.raises(ConfigurationError, match=name) as caught:
        made(**{name: amount})
    assert caught.value.hint and made(**{name: 0})
