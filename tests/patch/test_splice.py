"""The smallest splice at line borders that makes one text the other, found without comparing all lines."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.splice import LineSplice, TextSplice, line_splice, text_hunks, text_splice
from agent_ls.text import split_lines

TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r", "\r\n", "\x0c", "\u2028", "é"]), max_size=14).map(
    "".join
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\nb\n", "a\nb\n", TextSplice(4, "", "")),
        ("a\nb\nc\n", "a\nB\nc\n", TextSplice(2, "b\n", "B\n")),
        ("abc\n", "abd\n", TextSplice(0, "abc\n", "abd\n")),
        ("a\nb", "a\nb\nc", TextSplice(2, "b", "b\nc")),
        ("a\r\nb", "a\rb", TextSplice(0, "a\r\n", "a\r")),
        ("x\na\nx\n", "x\nx\n", TextSplice(2, "a\n", "")),
        ("x\nx\n", "x\nx\nx\n", TextSplice(4, "", "x\n")),
        ("", "a", TextSplice(0, "", "a")),
    ],
)
def test_text_splice_is_the_smallest_one_at_line_borders(old: str, new: str, expected: TextSplice) -> None:
    assert text_splice(old, new) == expected


@given(TEXTS, TEXTS)
def test_a_splice_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    splice = text_splice(old, new)
    assert old[: splice.start] + splice.added + old[splice.start + len(splice.removed) :] == new
    lines, spliced = split_lines(old), line_splice(old, new)
    assert [*lines[: spliced.start], *spliced.lines, *lines[spliced.end :]] == split_lines(new)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_text_hunks_equal_the_line_hunks_of_the_same_texts(head: str, old: str, new: str, tail: str) -> None:
    before, after = head + old + tail, head + new + tail
    assert text_hunks(before, after) == line_hunks(split_lines(before), split_lines(after))


def test_a_line_typed_in_a_long_file_is_the_whole_splice() -> None:
    lines = [f"line {number % 90}\n" for number in range(50_000)]
    typed = [*lines[:40_000], "typed\n", *lines[40_001:]]
    assert line_splice("".join(lines), "".join(typed)) == LineSplice(40_000, 40_001, ("typed\n",))
