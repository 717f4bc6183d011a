"""The places of a file that an edit changed, as numbered lines (SEMANTICS 12.6)."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.patch.hunks import LineHunk
from agent_ls.text import TextLines, decode, numbered

AROUND_LINES = 4  # SEMANTICS 12.6
MOST_PLACES = 3
PLACE_MAX_LINES = 40


def excerpt(content: bytes, hunks: Sequence[LineHunk]) -> str:
    """The first places that `hunks` changed, as they stand in `content`; places that meet are shown as one."""
    lines = TextLines(decode(content).text)
    places = _places(hunks, lines)
    parts = [_numbered(lines, start, end) for start, end in places[:MOST_PLACES]]
    if len(places) > MOST_PLACES:
        parts.append(f"[... and {len(places) - MOST_PLACES} more places]")
    return "\n...\n".join(parts)


def _places(hunks: Sequence[LineHunk], lines: Sequence[str]) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    growth = 0
    for hunk in hunks:
        start = max(0, hunk.base_start + growth - AROUND_LINES)
        growth += len(hunk.added) - len(hunk.removed)
        changed_end = hunk.base_end + growth
        end = changed_end + len(lines[changed_end : changed_end + AROUND_LINES])  # the file may end before
        if places and start <= places[-1][1]:
            start = places.pop()[0]
        places.append((start, end))
    return places


def _numbered(lines: Sequence[str], start: int, end: int) -> str:
    shown = list(lines[start : min(end, start + PLACE_MAX_LINES)])
    text = numbered(shown, start + 1).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    left = end - start - len(shown)
    return f"{text}\n[... {left} more lines]" if left else text
