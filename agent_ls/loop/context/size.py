"""Estimate how full the context window is, by category. Usage that the provider reports calibrates the
estimate.

Only running sums are used, so that the cost of measuring does not grow with the session.
"""

from __future__ import annotations

from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.events.types import ContextParts

WARNING_SHARE = 0.8
TOKENS_PER_CHAR = (1 / 16, 2.0)
SMOOTHING = (
    0.3  # weight of the newest report: several similar reports change the calibration, one outlier hardly
)


class ContextMeter:
    """Estimates tokens as characters / `chars_per_token`, multiplied by the `calibration` learned from
    reports."""

    def __init__(self, calibration: float = 1.0) -> None:
        self.calibration = calibration
        self._reported = calibration != 1.0
        self._warned = False

    def measure(self, prefix: Prefix, history: ConversationHistory, chars_per_token: int) -> ContextParts:
        """Return the estimated tokens of the next request by category. `chars_per_token` is clamped to the
        range 1 to 32.
        """
        share = self.calibration / min(max(chars_per_token, 1), 32)
        return ContextParts(
            system=round((len(prefix.text) - prefix.documents_chars) * share),
            tools=round(prefix.tools_chars * share),
            documents=round(prefix.documents_chars * share),
            history=round((history.chars - history.tool_chars) * share),
            tool_output=round(history.tool_chars * share),
        )

    def observe(self, sent: ContextParts, input_tokens: int, chars_per_token: int) -> None:
        """Calibrate with the provider's `input_tokens` for a request measured as `sent`.

        `input_tokens` 0 means "not reported".
        """
        if sent.total <= 0 or input_tokens <= 0:
            return
        # Some servers report only uncached tokens, so limit the ratio to plausible values.
        lowest, highest = (share * chars_per_token for share in TOKENS_PER_CHAR)
        ratio = min(max(self.calibration * input_tokens / sent.total, lowest), highest)
        self.calibration += (SMOOTHING if self._reported else 1) * (ratio - self.calibration)
        self._reported = True

    def maybe_warning(self, tokens: int, window_tokens: int) -> str:
        """Return a warning when the window gets more than 80 % full, otherwise "". Warns again only after the
        fill level was below 80 %.
        """
        full = window_tokens > 0 and tokens > window_tokens * WARNING_SHARE
        is_new = full and not self._warned
        self._warned = full
        return f"Context usage at ~{round(tokens / window_tokens * 100)}% of context window" if is_new else ""
