"""Lines as the whole program counts them, whole texts and a few lines of long ones; and what bytes were no text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from agent_ls.text import TextLines, decode, encode, line_count, split_lines

TEXTS = st.text(st.sampled_from("ab\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\U0001f600"), max_size=20)
LF_TEXTS = st.text(st.sampled_from("ab\n\n\x0c\u2028"), max_size=20)


@given(TEXTS | LF_TEXTS)
def test_lines_end_at_the_three_line_ends_and_nowhere_else(text: str) -> None:
    assert split_lines(text) == re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", text)


@given(TEXTS | LF_TEXTS)
def test_lines_are_counted_as_they_are_split(text: str) -> None:
    assert line_count(text) == len(split_lines(text))


@given(TEXTS | LF_TEXTS, st.lists(st.slices(8) | st.integers(-8, 8), min_size=1, max_size=6))
def test_lines_looked_at_in_any_order_are_those_of_the_whole_text(text: str, keys: list[slice | int]) -> None:
    lines, split = TextLines(text), split_lines(text)
    assert len(lines) == len(split)
    assert [_looked_at(lines, key) for key in keys] == [_looked_at(split, key) for key in keys]


def _looked_at(lines: Sequence[str], key: slice | int) -> object:
    try:
        return lines[key]
    except IndexError:
        return IndexError


def test_few_lines_of_a_long_text_are_right_wherever_they_stand() -> None:
    text = "".join(f"{n}" * (n % 40) + "\n" for n in range(20_000))
    lines, split = TextLines(text), split_lines(text)
    for start in (0, 19_990, 3, 700, 701, 12_345, 19_999):
        assert lines[start : start + 5] == split[start : start + 5]


@pytest.mark.parametrize(
    ("data", "is_valid"),
    [
        (b"plain", True),
        ("é😀".encode(), True),
        (b"a\xffb", False),
        (b"\xff\xfea\0", True),
        (b"\xed\xa0\x80", False),
    ],
)
def test_bytes_that_are_no_text_are_noticed_and_kept(data: bytes, is_valid: bool) -> None:
    decoded = decode(data)
    assert decoded.is_valid is is_valid
    assert encode(decoded) == data
