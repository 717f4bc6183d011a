"""Pure: emphasis for terminals, and lines that are coloured or shortened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_ls.text import diff_lines, strip_controls


@dataclass(frozen=True, slots=True)
class Style:
    """The escape sequences that start each kind of emphasis, and `end` for all. All are empty if the output is
    not a terminal.
    """

    bold: str = ""
    dim: str = ""
    red: str = ""
    green: str = ""
    yellow: str = ""
    cyan: str = ""
    end: str = ""


PLAIN = Style()
COLOURED = Style("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m")


def style_for(*, is_terminal: bool, environ: Mapping[str, str]) -> Style:
    """Return the style of an output by the usual rules: NO_COLOR, then FORCE_COLOR, then whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return PLAIN
    if forced := environ.get("FORCE_COLOR"):
        return PLAIN if forced in ("0", "false") else COLOURED
    return COLOURED if is_terminal and environ.get("TERM") != "dumb" else PLAIN


def colour_text(text: str, colour: str, style: Style) -> str:
    return f"{colour}{text}{style.end}" if text else ""


def painted_diff(diff: str, style: Style) -> Iterator[str]:
    """Yield the coloured lines of one file's unified diff. The header with the file names is left out."""
    for line in diff_lines(strip_controls(diff)):
        colour = style.green if line.startswith("+") else style.red if line.startswith("-") else style.dim
        yield f"{colour}{line}{style.end}" if line.strip() else ""


def shorten_lines(lines: Sequence[str], max_lines: int) -> list[str]:
    """Return at most `max_lines` lines: head and tail, with a line between them that contains the number of
    omitted lines.
    """
    if len(lines) <= max_lines:
        return list(lines)
    head, tail = max_lines // 2, max_lines - max_lines // 2 - 1
    return [*lines[:head], f"\u2026 {len(lines) - head - tail} lines \u2026", *lines[-tail:]]


def indented(lines: Iterable[str], by: str) -> str:
    return "".join(f"{by}{line}".rstrip() + "\n" for line in lines)
