"""The request for a suggestion at the cursor, and the cleaning of the model's answer."""

from __future__ import annotations

import pytest

from agent_ls.features.suggestions.prompt import (
    AFTER_CHARS,
    BEFORE_CHARS,
    MAX_LINES,
    CursorText,
    clean_suggestion,
    suggestion_messages,
)

pytestmark = pytest.mark.req("H27")

CLEANED = [
    ("plain text stays", "return a", "    ", "", "return a"),
    ("line breaks at the beginning stay", "\n    return a", "def f(a):", "\n", "\n    return a"),
    ("trailing blanks go", "return a \n\n", "    ", "", "return a"),
    ("only blanks are no suggestion", " \n\n", "x = ", "", ""),
    ("a fence goes", "```python\nreturn a\n```", "    ", "", "return a"),
    ("a fence without a language goes", "\n```\na\nb\n```\n", "", "", "a\nb"),
    ("the indentation in a fence stays", "```\n    a\n```", "", "", "    a"),
    ("backquotes inside a text stay", "see `a` and ```b```", "", "", "see `a` and ```b```"),
    ("CR LF becomes LF", "a\r\nb", "", "", "a\nb"),
    ("the repeated beginning of the line goes", "total = sum(a)", "    total = ", "", "sum(a)"),
    ("so does an indented one", "    total = sum(a)", "    total = ", "", "sum(a)"),
    ("a short beginning may be meant", "aa", "aa", "", "aa"),
    ("a word is completed", "return x", "    retu", "", "rn x"),
    ("the repeated part of a word goes", "result + 1", "    return resu", "", "lt + 1"),
    ("so does the repeated line in which it is", "return result", "    return resu", "", "lt"),
    ("so do the last words of a line", "return result", "if a: return resu", "", "lt"),
    ("so does a whole word", "result + 1", "return result", "", " + 1"),
    ("so does a word after a sign", "name, 1)", "f(self.nam", "", "e, 1)"),
    ("a word that is only completed stays", "lt + 1", "    return resu", "", "lt + 1"),
    ("a word that ends in the same letters stays", "sult", "x = re", "", "sult"),
    ("another word stays", "reset()", "    return resu", "", "reset()"),
    ("the end of a word is not its start", "sum(a)", "checksum", "", "sum(a)"),
    ("two letters may be meant", "read(a)", "x = re", "", "read(a)"),
    ("a repeated keyword goes", "await f()", "x = await ", "", "f()"),
    ("so does a repeated receiver", "self.total", "x = self.", "", "total"),
    ("a type of two equal words stays", "long x;", "unsigned long ", "", "long x;"),
    ("also after a line of one word", " long x;", "    long", "", " long x;"),
    ("an equal argument stays", "a, b)", "f(a, ", "", "a, b)"),
    ("an equal number stays", "0, 0]", "[1, 0, ", "", "0, 0]"),
    ("also as a row", "1.0, 0.0,", "    1.0, ", "", "1.0, 0.0,"),
    ("also without a blank", "100", "x = 100", "", "100"),
    ("an equal value stays", "true, false]", "    true, true, ", "", "true, false]"),
    ("a call in its own call stays", "str(a))", "x = str(", "", "str(a))"),
    ("an equal attribute stays", "next.value", "x = a.next.", "", "next.value"),
    ("a line of signs becomes longer", "====", "====", "", "===="),
    ("an item of a list goes", "- [ ] eggs", "- [ ] ", "", "eggs"),
    ("a short colour becomes longer", "fff;", "color: #fff", "", "fff;"),
    ("a word of two equal parts stays if the document has it", "bar", "barbar = 1\nx = bar", "", "bar"),
    ("also if it is after the cursor", "bar", "x = bar", "\nbarbar = 1", "bar"),
    ("the rest of the line goes", "a, b)", "f(", ")\ng()\n", "a, b"),
    ("a bracket of the suggestion's own stays", "g(a)", "f(", ")\n", "g(a)"),
    ("the next lines go", "a = 1\n    return a", "    ", "\n    return a\n", "a = 1"),
    ("also with CR LF in the document", "a = 1\n    return a", "    ", "\r\n    return a\r\n", "a = 1"),
    (
        "the line break before a repeated line stays",
        "    a = 1\n    return a",
        "",
        "    return a\n",
        "    a = 1\n",
    ),
    ("a closing brace goes", "return 1;\n}", "f() {\n  ", "\n}\n", "return 1;"),
    ("the brace of an inner block stays", "if (a) {\nb()\n}", "f() {\n", "\n}\n", "if (a) {\nb()\n}"),
    ("a repetition of everything leaves nothing", "return a", "    ", "return a\n", ""),
    ("a suggestion of many lines is cut", "a\n" * 50, "", "", "\n".join(["a"] * MAX_LINES)),
    ("tabs stay", "\tif a:\n\t\tb()", "", "", "\tif a:\n\t\tb()"),
    ("escape sequences are refused", "a\x1b[2Jb", "", "", ""),
    ("NUL is refused", "a\0b", "", "", ""),
    ("marks that reorder text are refused", "a = '\u202e'", "", "", ""),
    ("an invisible line separator is refused", "a\u2028b", "", "", ""),
]


@pytest.mark.parametrize(
    ("answer", "before", "after", "expected"), [row[1:] for row in CLEANED], ids=[row[0] for row in CLEANED]
)
def test_fences_trailing_blanks_and_repeated_document_text_are_removed_from_a_suggestion(
    answer: str, before: str, after: str, expected: str
) -> None:
    assert clean_suggestion(answer, before, after) == expected


def test_the_suggestion_prompt_contains_only_the_text_near_the_cursor() -> None:
    text = CursorText("shop/a.py", "python", "<" + "b" * BEFORE_CHARS, "a" * AFTER_CHARS + ">")
    rules, asked = suggestion_messages(text)
    assert str(MAX_LINES) in rules.text
    assert asked.text == (
        "File: shop/a.py\nLanguage: python\n\n"
        f"<before_cursor>{'b' * BEFORE_CHARS}</before_cursor><after_cursor>{'a' * AFTER_CHARS}</after_cursor>"
    )


def test_a_line_break_in_a_file_name_becomes_a_space_in_the_suggestion_prompt() -> None:
    _, asked = suggestion_messages(CursorText("a\nLanguage: b.py", "", "", ""))
    assert asked.text.startswith("File: a Language: b.py\nLanguage: unknown\n\n")
