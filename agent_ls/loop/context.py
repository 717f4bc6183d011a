"""How full is the context window, and with what? An estimate, calibrated by what the provider reports (000 5.5, L12).

Only sums go in, so that a look at the meter costs the same however long the session is.
"""

from __future__ import annotations

from agent_ls.loop.events import ContextParts
from agent_ls.loop.history import History
from agent_ls.loop.prefix import Prefix

WARNING_SHARE = 0.8
TOKENS_PER_CHAR = (1 / 16, 2.0)
SMOOTHING = 0.3  # weight of the newest report: a few calls are enough, one odd answer is not


class ContextMeter:
    """Tokens are about characters / `chars_per_token`, times what the reports have shown so far (`calibration`)."""

    def __init__(self, calibration: float = 1.0) -> None:
        self.calibration = calibration
        self._reported = calibration != 1.0
        self._warned = False

    def measure(self, prefix: Prefix, history: History, chars_per_token: int) -> ContextParts:
        """What the next request will about send, in tokens by category. The divisor is taken as one of 1 to 32."""
        share = self.calibration / min(max(chars_per_token, 1), 32)
        return ContextParts(
            system=round((len(prefix.text) - prefix.documents_chars) * share),
            tools=round(prefix.tools_chars * share),
            documents=round(prefix.documents_chars * share),
            history=round((history.chars - history.tool_chars) * share),
            tool_output=round(history.tool_chars * share),
        )

    def observe(self, sent: ContextParts, input_tokens: int, chars_per_token: int) -> None:
        """A provider reported `input_tokens` for a request that was measured as `sent`. 0 is "not reported"."""
        if sent.total <= 0 or input_tokens <= 0:
            return
        # Some servers report only what they had not cached: what no text can come to is not believed.
        lowest, highest = (share * chars_per_token for share in TOKENS_PER_CHAR)
        ratio = min(max(self.calibration * input_tokens / sent.total, lowest), highest)
        self.calibration += (SMOOTHING if self._reported else 1) * (ratio - self.calibration)
        self._reported = True

    def maybe_warning(self, tokens: int, window_tokens: int) -> str:
        """The warning when the window has become over 80 % full, once; again after it has been below."""
        full = window_tokens > 0 and tokens > window_tokens * WARNING_SHARE
        is_new = full and not self._warned
        self._warned = full
        return f"Context usage at ~{round(tokens / window_tokens * 100)}% of context window" if is_new else ""
