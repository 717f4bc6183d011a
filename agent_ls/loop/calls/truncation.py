"""Pure: truncate a tool's output for the model, by characters first and then by lines."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

from agent_ls.loop.calls.redaction import redacted
from agent_ls.loop.config import SessionConfig
from agent_ls.text import render_terminal_output

Mode: TypeAlias = Literal["head_tail", "tail", "head"]

DEFAULT_LIMIT: tuple[int, Mode] = (30_000, "head_tail")
"""Character limit, and the part of the output that is kept, for tools that CHARACTER_LIMITS does not list."""

CHARACTER_LIMITS: dict[str, tuple[int, Mode]] = {
    "read_file": (50_000, "head_tail"),  # the start has the imports, the end the newest code
    "shell": (30_000, "head_tail"),  # the start has start-up messages, the end the results
    "grep": (20_000, "tail"),
    "glob": (20_000, "head"),  # newest first, so the head is the relevant part
    "edit_file": (10_000, "tail"),
    "edit_notebook": (10_000, "tail"),
    "apply_patch": (10_000, "tail"),
    "write_file": (1_000, "tail"),
    "spawn_agent": (20_000, "head_tail"),
}

PRINTED_CHARS = 512 * 1024

LINE_LIMITS: dict[str, int] = {"shell": 256, "grep": 200, "glob": 500}


def render_output(output: str, known: Collection[str]) -> str:
    """Return the text that a terminal would display after a command's output, without the keys in `known`.

    Only the beginning and the end of a very long output are rendered. The model gets only part of such an
    output anyway, and rendering all of it would block the process.
    """
    if len(output) <= 2 * PRINTED_CHARS:
        return _render_output(output, known)
    head = output.rfind("\n", 0, PRINTED_CHARS) + 1 or PRINTED_CHARS
    tail = output.find("\n", len(output) - PRINTED_CHARS) + 1 or len(output) - PRINTED_CHARS
    left_out = f"\n[... {tail - head} characters ...]\n"
    return _render_output(output[:head], known) + left_out + _render_output(output[tail:], known)


def _render_output(output: str, known: Collection[str]) -> str:
    # Redact again, because rendering may have removed characters that separated the parts of a key.
    return redacted(render_terminal_output(output), known)


def truncate_tool_output(output: str, tool: str, config: SessionConfig) -> str:
    """Truncate by characters, which also shortens very long lines, and then by lines.

    A limit of 0 in the config means no limit.
    """
    max_chars, mode = CHARACTER_LIMITS.get(tool, DEFAULT_LIMIT)
    cut = truncate_chars(output, config.tool_output_limits.get(tool, max_chars), mode)
    return truncate_lines(cut, config.tool_line_limits.get(tool, LINE_LIMITS.get(tool, 0)))


def truncate_chars(output: str, max_chars: int, mode: Mode) -> str:
    """Return at most `max_chars` characters of `output`, plus a warning about the removed part. `mode` names
    the part to keep. `max_chars` 0 means no limit.
    """
    removed = len(output) - max_chars
    if max_chars <= 0 or removed <= 0:
        return output
    if mode == "head_tail":
        half = max_chars // 2
        return (
            f"{output[:half]}\n\n[WARNING: Tool output was truncated. {removed} characters were removed from "
            "the middle. The full output is available in the event stream. If you need to see specific parts, "
            f"re-run the tool with more targeted parameters.]\n\n{output[len(output) - half :]}"
        )
    if mode == "tail":
        return (
            f"[WARNING: Tool output was truncated. First {removed} characters were removed. "
            f"The full output is available in the event stream.]\n\n{output[-max_chars:]}"
        )
    return (
        f"{output[:max_chars]}\n\n[WARNING: Tool output was truncated. Last {removed} characters were removed. "
        "The full output is available in the event stream.]"
    )


def truncate_lines(output: str, max_lines: int) -> str:
    """Return at most `max_lines` lines, half from each end. 0 means no limit."""
    lines = output.split("\n")
    if max_lines <= 0 or len(lines) <= max_lines:
        return output
    head = max_lines // 2
    tail = max_lines - head
    omitted = len(lines) - max_lines
    first, last = "\n".join(lines[:head]), "\n".join(lines[-tail:])
    return f"{first}\n[... {omitted} lines omitted ...]\n{last}"
