"""Limits on tokens, cost and time for a user's message and for a session. At a limit the turn pauses and asks
the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

from agent_ls.llm.requests import Usage, is_amount
from agent_ls.loop.seams import Clock


@dataclass(slots=True)
class Spending:
    """Tokens and cost of a session so far, including its subagents.

    `cost_usd` is None (unknown) after the first model call with an unknown price. `known_usd` is the cost of the
    calls whose price is known.
    """

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_usd: float = 0.0

    def __post_init__(self) -> None:
        self.cost_usd = known_cost(self.cost_usd)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        self.usage = self.usage + usage
        self.known_usd += cost_usd or 0.0
        known = self.cost_usd is not None and cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost_usd or 0.0) if known else None


def known_cost(cost_usd: float | None) -> float | None:
    """Return a cost that a limit can count; None (unknown) for a negative or infinite cost, and for NaN."""
    return None if cost_usd is None or not is_amount(cost_usd) else cost_usd


@dataclass(frozen=True, slots=True)
class Expense:
    """An amount that limits count."""

    tokens: int = 0
    usd: float = 0.0


NOTHING_SPENT = Expense()
GO_ON = "Go on"
STOP = "Stop here"
UNKNOWN_PRICE = (
    "The price of {model} is unknown, so the cost limit does not count its calls. Set a limit on tokens "
    "instead."
)


@dataclass(frozen=True, slots=True)
class UseLimits:
    """Usage limits for one user message and for the whole session; 0 means no limit.

    Tokens are input plus output tokens, including those of subagents. The cost limits count only the model calls
    whose price is known.
    """

    tokens_per_input: int = 0
    tokens_per_session: int = 0
    cost_usd_per_input: float = 0.0
    cost_usd_per_session: float = 0.0
    seconds_per_input: float = 0.0
    seconds_per_session: float = 0.0

    @property
    def has_cost(self) -> bool:
        return bool(self.cost_usd_per_input or self.cost_usd_per_session)


NO_LIMITS = UseLimits()


def known_limits(raw: object) -> dict[str, float]:
    """Return the entries of `raw` (read from a log) with a name and a value valid for UseLimits."""
    if not isinstance(raw, Mapping):
        return {}
    given = {field.name: raw.get(field.name) for field in fields(UseLimits)}
    return {
        name: value
        for name, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    }


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that was reached.

    `limit` is `tokens`, `cost` or `time`. `used` is the amount in tokens, US dollars or seconds; `count` is
    the same amount in whole tokens, cents or seconds. `message` begins with `heading`, and names the extended limit
    after it.
    """

    name: str
    limit: str
    used: float
    count: int
    message: str
    heading: str


class InputBudget:
    """The usage of the user's current message and of the whole session.

    The session's tokens and cost include usage in earlier processes, but not `inherited`, which another session spent
    before this one was copied from it. The session's time starts with this process.

    If the user continues at a limit, the full amount of the limit is available again from that moment.
    """

    def __init__(self, spending: Spending, clock: Clock, inherited: Expense = NOTHING_SPENT) -> None:
        self._inherited = inherited
        self._spending = spending
        self._clock = clock
        self._allowed: dict[str, float] = {}
        self._began_tokens, self._began_usd = _measure_spending(spending)
        self._began_ms = self._session_began_ms = clock.monotonic_ms()

    def begin(self) -> None:
        """Start counting for a new message of the user."""
        self._began_tokens, self._began_usd = _measure_spending(self._spending)
        self._began_ms = self._clock.monotonic_ms()
        self._allowed = {name: count for name, count in self._allowed.items() if name.endswith("session")}

    def reached(self, limits: UseLimits) -> ReachedLimit | None:
        """Return the first limit that is reached, or None."""
        for name, limit, used, most in self._lines(limits):
            in_force = self._allowed.get(name, 0) + most
            if in_force <= used:
                whole = round(used * 100) if limit == "cost" else int(used)
                extended = f", extended to {_words(limit, in_force)}" if in_force > most else ""
                whose = "one message" if name.endswith("input") else "this session"
                heading = f"The limit for {whose} is reached: {_words(limit, most)}"
                return ReachedLimit(name, limit, used, whole, f"{heading}{extended}.", heading)
        return None

    def time_left_ms(self, limits: UseLimits) -> int | None:
        """Return the milliseconds (at least 1) until the next time limit is reached, or None if no time limit
        is set.
        """
        left = [
            (self._allowed.get(name, 0) + most - used) * 1000
            for name, limit, used, most in self._lines(limits)
            if limit == "time"
        ]
        return max(1, int(min(left))) if left else None

    def allow_more(self, reached: ReachedLimit) -> None:
        self._allowed[reached.name] = reached.used

    def _lines(self, limits: UseLimits) -> Iterator[tuple[str, str, float, float]]:
        """Yield name, kind (`tokens`, `cost`, `time`), used amount and maximum amount of each limit that is set."""
        if limits == NO_LIMITS:
            return
        tokens, usd = _measure_spending(self._spending)
        now_ms = self._clock.monotonic_ms()
        used = {
            "tokens_per_input": tokens - self._began_tokens,
            "tokens_per_session": tokens - self._inherited.tokens,
            "cost_usd_per_input": usd - self._began_usd,
            "cost_usd_per_session": usd - self._inherited.usd,
            "seconds_per_input": (now_ms - self._began_ms) / 1000,
            "seconds_per_session": (now_ms - self._session_began_ms) / 1000,
        }
        for name, amount in used.items():
            if most := getattr(limits, name):
                yield name, _KINDS[name.partition("_")[0]], amount, most


_KINDS = {"tokens": "tokens", "cost": "cost", "seconds": "time"}


def _words(limit: str, most: float) -> str:
    match limit:
        case "tokens":
            return f"{most:,} token{'' if most == 1 else 's'}"
        case "cost":
            return f"${most:.2f}" if round(most, 2) == most else f"${most:g}"
        case _:
            return f"{most:g} second{'' if most == 1 else 's'}"


def _measure_spending(spending: Spending) -> tuple[int, float]:
    return spending.usage.input_tokens + spending.usage.output_tokens, spending.known_usd
