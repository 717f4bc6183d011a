"""The one line that people see of a call (REQUIREMENTS E5)."""

from __future__ import annotations

SUMMARY_MAX_CHARS = 100  # E5


def one_line(text: str, max_chars: int = SUMMARY_MAX_CHARS) -> str:
    """`text` with all runs of white space as one blank, cut at `max_chars` with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
