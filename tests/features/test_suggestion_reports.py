"""Suggestions at the cursor that repeated text in other tools."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.features.suggestions.prompt import clean_suggestion
from tests.support.reports import reported

pytestmark = pytest.mark.req("H27")

REPEATED: list[Any] = [
    reported(
        "BoltAI/BoltAI#189",
        [("exa", "example", "", "mple"), ("A proto", "prototype", "", "type")],
    ),
    reported(
        "termide/termide#22",
        [
            ("  echo $va", "$var;", "", "r;"),
            ("return Ord", "Order", "", "er"),
            ("  echo $tot", "total;", "", "al;"),
        ],
    ),
    reported(
        "shugo/textbringer#191",
        [("at = Textbringer::Buf", "Textbringer::Buffer.new", "", "fer.new")],
    ),
    reported(
        "atom/autocomplete-plus#331",
        [("return tot", "total", "al\n", "")],
    ),
    reported(
        "atom/autocomplete-plus#559",
        [("reso", "lve", "resolve\n", "lve")],
    ),
    reported(
        "Pierrad/obsidian-github-copilot#106",
        [("Hello wor", "Hello world", "", "ld")],
    ),
    reported(
        "microsoft/vscode-copilot-release#11402",
        [("    ", "a = 1\n    b = 2\n    return a", "\n    b = 2\n    return a\n}\n", "a = 1")],
    ),
    reported(
        "Kilo-Org/kilocode#3390",
        [("print(", "total)", ")\n", "total"), ("f([", "1, 2])", "])\n", "1, 2")],
    ),
]


@pytest.mark.parametrize("rows", REPEATED)
def test_text_around_the_cursor_is_not_inserted_a_second_time(rows: list[tuple[str, str, str, str]]) -> None:
    for before, answer, after, expected in rows:
        assert clean_suggestion(answer, before, after) == expected
