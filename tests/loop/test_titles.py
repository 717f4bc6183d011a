"""Titles are plain text: the first line with words, without invisible characters (H2)."""

from __future__ import annotations

import pytest

from agent_ls.loop.context.titles import TITLE_CHARS, title_of
from agent_ls.text import DISPLAY_LINE_CHARS, to_display_line


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix the login bug", "Fix the login bug"),
        ("\n\n  Fix   the\tbug \nand the docs", "Fix the bug"),
        ("# Fix *this*\n", "Fix *this*"),
        ("```\ncode first\n```", "code first"),
        ("> - `quoted`", "quoted`"),
        ("\x1b[31mred\x1b[0m\x07 alert", "red alert"),
        ("\u202egnp.exe\u2066", "gnp.exe"),
        ("-> ???\n!!!", ""),
        ("", ""),
        (
            "Selected in /w/a.py, lines 4 to 5:\n````\n```\none\n````\n\nFile: /w/b.txt\n\nSimplify this",
            "Simplify this",
        ),
        ("Terminal zsh:\n```\n$ make\n```\n\nWhy does it fail?", "Why does it fail?"),
        ("日本語のバグ", "日本語のバグ"),
    ],
)
def test_title_of_an_input_is_its_first_line_with_words(text: str, title: str) -> None:
    assert title_of(text) == title


def test_long_titles_are_cut_with_an_ellipsis() -> None:
    assert title_of("word " * 100) == ("word " * 12)[: TITLE_CHARS - 1].rstrip() + "…"
    assert len(to_display_line("x" * 500)) == DISPLAY_LINE_CHARS
