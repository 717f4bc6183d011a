"""Shorten texts to one line, to display summaries of tool calls."""

from __future__ import annotations

SUMMARY_MAX_CHARS = 100  # fits one line of a side panel


def one_line(text: str, max_chars: int = SUMMARY_MAX_CHARS) -> str:
    """Replace each run of white space by one blank. Truncate the text to `max_chars` with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"
