"""One-line summaries of calls, for display."""

from __future__ import annotations

SUMMARY_MAX_CHARS = 100  # fits one line of a side panel


def one_line(text: str, max_chars: int = SUMMARY_MAX_CHARS) -> str:
    """Collapse white space to single blanks, and cut at `max_chars` with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
