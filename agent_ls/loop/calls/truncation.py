"""Pure: truncate a tool's output for the model, by characters first and then by lines."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from agent_ls.environments.base import NOTHING_DROPPED, DroppedOutput
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


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """The part of an output that is left: its beginning and, after a gap, its end. Without a gap, `tail` is "".

    `gap_chars` and `gap_newlines` are the size of the gap in the original output; a line that is shown in part counts
    as shown. `dropped` of these characters are stored nowhere.
    """

    head: str
    tail: str = ""
    gap_chars: int = 0
    gap_newlines: int = 0
    dropped: int = 0


def render_output(
    output: str, known: Collection[str], dropped: DroppedOutput = NOTHING_DROPPED
) -> KeptOutput:
    """Return the text that a terminal would display after a command's output, without the keys in `known`.

    Only the beginning and the end of a very long output are rendered. The model gets only part of such an
    output anyway, and rendering all of it would block the process.
    """
    if len(output) <= 2 * PRINTED_CHARS:
        return KeptOutput(_render_output(output, known))
    head = output.rfind("\n", 0, PRINTED_CHARS) + 1 or PRINTED_CHARS
    tail = output.find("\n", len(output) - PRINTED_CHARS) + 1 or len(output) - PRINTED_CHARS
    return KeptOutput(
        _render_output(output[:head], known),
        _render_output(output[tail:], known),
        tail - head + dropped.missing_chars,
        output.count("\n", head, tail) + dropped.lines - dropped.marker.count("\n"),
        dropped.chars,
    )


def _render_output(output: str, known: Collection[str]) -> str:
    # Redact again, because rendering may have removed characters that separated the parts of a key.
    return redacted(render_terminal_output(output), known)


def truncate_tool_output(output: str | KeptOutput, tool: str, config: SessionConfig) -> str:
    """Truncate by characters, which also shortens very long lines, and then by lines around the removed part.

    The markers count the characters and lines of the original output. A limit of 0 in the config means no limit.
    """
    kept = KeptOutput(output) if isinstance(output, str) else output
    max_chars, mode = CHARACTER_LIMITS.get(tool, DEFAULT_LIMIT)
    max_chars = config.tool_output_limits.get(tool, max_chars)
    max_lines = config.tool_line_limits.get(tool, LINE_LIMITS.get(tool, 0))
    size = len(kept.head) + len(kept.tail)
    if not kept.gap_chars and not 0 < max_chars < size:
        return truncate_lines(kept.head, max_lines)
    if mode == "head_tail" or kept.gap_chars:
        cut = _cut_middle(kept, max_chars)
        fitting = _cut_lines(cut, max_lines)
        return _join(fitting, counts_lines=fitting is not cut)
    rest = kept.head[-max_chars:] if mode == "tail" else kept.head[:max_chars]
    return _with_warning(truncate_lines(rest, max_lines), size - max_chars, mode)


def _cut_middle(kept: KeptOutput, max_chars: int) -> KeptOutput:
    """Remove characters around the gap until at most `max_chars` are left. 0 means no limit."""
    text = kept.head + kept.tail
    removed = len(text) - max_chars
    if max_chars <= 0 or removed <= 0:
        return kept
    half = max_chars // 2
    head, tail = text[:half], text[len(text) - half :]
    lines = text.count("\n") - head.count("\n") - tail.count("\n")
    return replace(
        kept,
        head=head,
        tail=tail,
        gap_chars=kept.gap_chars + len(text) - 2 * half,
        gap_newlines=kept.gap_newlines + lines,
    )


def _cut_lines(kept: KeptOutput, max_lines: int) -> KeptOutput:
    """Remove whole lines around the gap until at most `max_lines` are left. 0 means no limit."""
    head, tail = kept.head.split("\n"), kept.tail.split("\n")
    if max_lines <= 0 or len(head) + len(tail) <= max_lines:
        return kept
    first = min(len(head), max(max_lines // 2, max_lines - len(tail)))
    last = max_lines - first
    text = "\n".join(head[:first]), "\n".join(tail[len(tail) - last :])
    gone = len(kept.head) + len(kept.tail) - len(text[0]) - len(text[1])
    return replace(
        kept,
        head=text[0],
        tail=text[1],
        gap_chars=kept.gap_chars + gone,
        gap_newlines=kept.gap_newlines + len(head) - first + len(tail) - last,
    )


def _join(kept: KeptOutput, *, counts_lines: bool = False) -> str:
    where = f"The output without {kept.dropped} of these characters" if kept.dropped else "The full output"
    lines = f"\n[... {kept.gap_newlines - 1} lines omitted ...]" if counts_lines else ""
    return (
        f"{kept.head}{lines}\n\n[WARNING: Tool output was truncated. {kept.gap_chars} characters were removed from "
        f"the middle. {where} is available in the event stream. If you need to see specific parts, "
        f"re-run the tool with more targeted parameters.]\n\n{kept.tail}"
    )


def _with_warning(rest: str, removed: int, mode: Mode) -> str:
    which = "First" if mode == "tail" else "Last"
    warning = (
        f"[WARNING: Tool output was truncated. {which} {removed} characters were removed. "
        "The full output is available in the event stream.]"
    )
    return f"{warning}\n\n{rest}" if mode == "tail" else f"{rest}\n\n{warning}"


def truncate_chars(output: str, max_chars: int) -> str:
    """Return the beginning and end of `output`, at most `max_chars` characters, and a warning about the middle."""
    if len(output) <= max_chars:
        return output
    return _join(_cut_middle(KeptOutput(output), max_chars))


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
