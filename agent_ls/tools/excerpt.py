"""Render the regions of a file that an edit changed, as numbered lines."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.patch.hunks import LineHunk
from agent_ls.text import TextLines, decode, number_lines

MAX_LINE_CHARS = 500  # of a longer line, the start and the end are shown
AROUND_LINES = 4  # context lines before and after a change
MOST_PLACES = 3
PLACE_MAX_LINES = 40


def excerpt(content: bytes, hunks: Sequence[LineHunk]) -> str:
    """Return the first MOST_PLACES changed regions of `content`, each with lines of context. Overlapping and
    adjacent regions are joined.
    """
    lines = TextLines(decode(content).text)
    places = _find_ranges(hunks, lines)
    parts = [_render_region(lines, start, end) for start, end in places[:MOST_PLACES]]
    if len(places) > MOST_PLACES:
        parts.append(f"[... and {len(places) - MOST_PLACES} more places]")
    return "\n...\n".join(parts)


def _find_ranges(hunks: Sequence[LineHunk], lines: Sequence[str]) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    growth = 0
    for hunk in hunks:
        start = max(0, hunk.base_start + growth - AROUND_LINES)
        growth += len(hunk.added) - len(hunk.removed)
        changed_end = hunk.base_end + growth
        # the file may have fewer than AROUND_LINES lines after the change
        end = changed_end + len(lines[changed_end : changed_end + AROUND_LINES])
        if places and start <= places[-1][1]:
            start = places.pop()[0]
        places.append((start, end))
    return places


def _render_region(lines: Sequence[str], start: int, end: int) -> str:
    shown = [*map(_clip, lines[start : min(end, start + PLACE_MAX_LINES)])]
    text = number_lines(shown, start + 1).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    left = end - start - len(shown)
    return f"{text}\n[... {left} more lines]" if left else text


def _clip(line: str) -> str:
    """Shorten a long line in its middle, so that the excerpt does not displace the rest of the result."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    left_out, half = len(line) - MAX_LINE_CHARS, MAX_LINE_CHARS // 2
    return f"{line[:half]}[... {left_out:,} characters ...]{line[-half:]}"
