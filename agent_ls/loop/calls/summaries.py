"""One-line summaries for users: the arguments of a call, and its result."""

from __future__ import annotations

import json
import logging
from typing import Any

from agent_ls.text import reveal_controls, strip_escapes
from agent_ls.tools.base import Arguments, Tool

logger = logging.getLogger(__name__)

INPUT_CHARS = 100
OUTPUT_CHARS = 80

_TELLING = ("command", "path", "file_path", "query", "pattern", "url")


def one_line(text: str, max_chars: int) -> str:
    """Return the text as one line: white space is collapsed to single blanks, and a long text ends with an
    ellipsis.

    Control characters become visible, because programs print summaries, also in questions about approvals.
    """
    # Split only the start of the text, because outputs may be megabytes long.
    line = reveal_controls(" ".join(text[: max_chars * 8].split()))
    return line if len(line) <= max_chars else f"{line[: max_chars - 1]}…"


def call_summary(name: str, arguments: str) -> str:
    """Return the tool name and the most informative argument. Used for tools that define no summary."""
    return one_line(f"{name}: {_telling_argument(arguments)}", INPUT_CHARS)


def summary_of(tool: Tool[Any], arguments: Arguments) -> str:
    """Return the tool's own summary of the arguments, "" if it has none."""
    try:
        return one_line(tool.summarize(arguments), INPUT_CHARS)
    except Exception:  # last resort: a tool that the host program provides may raise here
        logger.exception("tool %s has no summary for its arguments", tool.name)
        return ""


def output_summary(text: str) -> str:
    first = next((line for line in strip_escapes(text[:4096]).splitlines() if line.strip()), "")
    return one_line(first, OUTPUT_CHARS)


def _telling_argument(arguments: str) -> str:
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if isinstance(values, dict):
        for key in _TELLING:
            if isinstance(value := values.get(key), str) and value:
                return value
    return arguments
