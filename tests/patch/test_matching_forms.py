"""The search finds the same positions for every representation of a file's lines."""

from __future__ import annotations

from hypothesis import given, strategies as st

from agent_ls.patch.line_search import SEARCHES_WITHOUT_INDEX, STRICT_LEVELS, FileLines
from agent_ls.text import split_lines, strip_ending, strip_endings

TEXTS = st.text("ab \t\n\r", max_size=30)
PATTERNS = st.lists(st.text("ab \t", max_size=3), max_size=3)


@given(TEXTS)
def test_strip_endings_of_split_lines_equals_stripping_each_line(text: str) -> None:
    lines = split_lines(text)
    assert strip_endings(lines) == [strip_ending(line) for line in lines]


@given(st.lists(st.sampled_from(["a\n", "\r", "\n", "b\r\n", "c"]), max_size=6))
def test_strip_endings_of_arbitrary_lines_equals_stripping_each_line(lines: list[str]) -> None:
    assert strip_endings(lines) == [strip_ending(line) for line in lines]


@given(TEXTS, PATTERNS, st.integers(0, 12))
def test_search_positions_do_not_depend_on_line_endings_or_an_index(
    text: str, pattern: list[str], start: int
) -> None:
    lines = split_lines(text)
    for level in STRICT_LEVELS:
        whole = FileLines([strip_ending(line) for line in lines])
        expected = list(whole.occurrences(pattern, level, start))
        lazy = FileLines.of(lines)
        for _ in range(SEARCHES_WITHOUT_INDEX + 2):
            assert list(lazy.occurrences(pattern, level, start)) == expected
        assert lazy.texts == whole.texts and lazy.count == whole.count
