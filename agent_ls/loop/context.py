"""How full is the context window? An estimate, calibrated by what the provider reports (000 5.5, L12)."""

from __future__ import annotations

WARNING_SHARE = 0.8
SMOOTHING = 0.3  # weight of the newest report: a few calls are enough, one odd answer is not


class ContextMeter:
    """Tokens are about characters / `chars_per_token`, times what the reports have shown so far."""

    def __init__(self, chars_per_token: int = 4) -> None:
        self._chars_per_token = min(max(chars_per_token, 1), 32)
        self._ratio = 1.0
        self._reported = False
        self._warned = False

    def estimate_tokens(self, chars: int) -> int:
        return round(chars / self._chars_per_token * self._ratio)

    def observe(self, sent_chars: int, input_tokens: int) -> None:
        """A provider reported `input_tokens` for a request of `sent_chars`. 0 is "not reported"."""
        guess = sent_chars / self._chars_per_token
        if guess <= 0 or input_tokens <= 0:
            return
        ratio = input_tokens / guess
        self._ratio = self._ratio + SMOOTHING * (ratio - self._ratio) if self._reported else ratio
        self._reported = True

    def maybe_warning(self, tokens: int, window_tokens: int) -> str:
        """The warning when the window has become over 80 % full, once; again after it has been below."""
        full = window_tokens > 0 and tokens > window_tokens * WARNING_SHARE
        is_new = full and not self._warned
        self._warned = full
        return f"Context usage at ~{round(tokens / window_tokens * 100)}% of context window" if is_new else ""
