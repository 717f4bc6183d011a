"""Count the tokens and the cost of each model call, also of one that was cut, and report them in an event."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.llm.requests import Usage, known_usage
from agent_ls.loop.budget import UNKNOWN_PRICE, Spending, known_cost
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.requests import ContextKeeper
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import UsageReport, Warning
from agent_ls.loop.model.call import ModelReply
from agent_ls.profiles.base import ProviderProfile


class CallCounter:
    """Counts the model calls of one agent in the `spending` of the session.

    `own_usd` is the cost of this agent's calls.
    """

    def __init__(
        self,
        emitter: Emitter,
        spending: Spending,
        context: ContextKeeper,
        config: Callable[[], SessionConfig],
    ) -> None:
        self.own_usd = 0.0
        self._emitter = emitter
        self._spending = spending
        self._context = context
        self._config = config

    def count(
        self,
        profile: ProviderProfile,
        usage: Usage,
        reply: ModelReply | None = None,
        *,
        by: ProviderProfile | None = None,
        estimated: bool = False,
    ) -> None:
        """Count a model call in a turn with `profile`. `by` is the profile of the model that answered, if it is not
        `profile`. `estimated`: the provider has reported no `usage`, because the call was cut.
        """
        usage, spending, config = known_usage(usage), self._spending, self._config()
        cost_usd = known_cost((by or profile).cost_usd(usage))
        is_needed = config.limits.has_cost or config.max_subagent_cost_usd
        if cost_usd is None and spending.cost_usd is not None and is_needed:
            model = (by or profile).model
            self._emitter.emit(Warning(UNKNOWN_PRICE.format(model=model), "unknown_price"))
        spending.add(usage, cost_usd)
        self.own_usd += cost_usd or 0.0
        parts = self._context.measure(config)
        self._emitter.emit(
            UsageReport(
                call=usage,
                total=spending.usage,
                context_tokens=parts.total,
                context_window_tokens=profile.context_window_tokens,
                call_cost_usd=cost_usd,
                total_cost_usd=spending.cost_usd,
                context=parts,
                calibration=self._context.calibration,
                duration_ms=reply.duration_ms if reply else None,
                first_output_ms=reply.first_output_ms if reply else None,
                estimated=estimated,
            )
        )

    def count_cut(
        self,
        profile: ProviderProfile,
        sent_tokens: int,
        received_chars: int,
        *,
        by: ProviderProfile | None = None,
    ) -> None:
        """Count a model call that was cut: its provider has billed it, and reports nothing."""
        per_token = max(1, self._config().context.chars_per_token)
        self.count(profile, Usage(sent_tokens, -(-received_chars // per_token)), by=by, estimated=True)
