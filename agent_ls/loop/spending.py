"""The usage of a session so far, including its subagents."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_ls.llm.requests import Usage


@dataclass(slots=True)
class Spending:
    """Tokens and cost. `cost_usd` is None (unknown) after the first model call with an unknown price.

    `known_usd` is the cost of the calls whose price is known.
    """

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_usd: float = field(init=False)

    def __post_init__(self) -> None:
        self.known_usd = self.cost_usd or 0.0

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        self.usage = self.usage + usage
        self.known_usd += cost_usd or 0.0
        known = self.cost_usd is not None and cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost_usd or 0.0) if known else None
