"""Pure: emphasis for terminals, and removal of unsafe characters.

Text from a model, a file or a command is untrusted. Control characters are removed, so that no output can
move the cursor or retitle the terminal. Characters that change the text direction are replaced by a visible
character, so that they cannot hide text from a user who approves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_ls.text import strip_escapes

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def strip_controls(text: str) -> str:
    """Return the text without escape sequences and control characters, except newline and tab."""
    return _TURNING.sub("\ufffd", _CONTROL.sub("", strip_escapes(text)))


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
    lines = strip_controls(diff).rstrip("\n").split("\n")
    # Skip a header only at the start, because a removed SQL comment (`-- like this`) looks like a header
    # line.
    head = 2 if len(lines) > 2 and lines[0].startswith("--- ") and lines[1].startswith("+++ ") else 0
    for line in lines[head:]:
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


def seconds(duration_ms: float) -> str:
    """Return a duration for display: `0.3 s`, `12 s`, `3 min 20 s`."""
    if duration_ms < 10_000:
        return f"{duration_ms / 1000:.1f} s"
    whole = round(duration_ms / 1000)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def tally(added: int, removed: int) -> str:
    return f"+{added} \u2212{removed}"
