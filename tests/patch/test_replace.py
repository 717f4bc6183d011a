"""Replacement of edit_file: one match, all matches, or a refusal; all other bytes stay unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.replace import Occurrence, replace
from tests.patch.applying import decoded, encoded


def edited(before: str, old: str, new: str) -> tuple[str, str]:
    result = replace(encoded(before), old, new)
    return decoded(result.content), result.matched_with


LADDER = [
    ("exact", "a\nb\nc\n", "b", "x\ny", "a\nx\ny\nc\n", "exact"),
    ("within_a_line", "say hi\n", "hi", "$1 \\1 &", "say $1 \\1 &\n", "exact"),
    ("crlf_file_lf_text", "a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n", "line endings"),
    ("crlf_text_lf_file", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n", "line endings"),
    ("new_lines_take_the_file_s_ending", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", "exact"),
    ("ending_of_the_first_matched_line", "a\r\nb\nc\n", "b\nc", "x\ny\nz", "a\r\nx\ny\nz\n", "exact"),
    ("crlf_is_never_split", "a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n", "exact"),
    ("trailing_blanks", "a \nb\t\nc\n", "a\nb\n", "a\nx\n", "a \nx\nc\n", "trailing blanks"),
    (
        "typography",
        "say “hi” – now;\n",
        'say "hi" - now;',
        'say "hi" - then;',
        "say “hi” – then;\n",
        "typography",
    ),
    ("composition", "cafe\u0301\nb\n", "café\n", "tea\n", "tea\nb\n", "typography"),
    (
        "indentation",
        "\tif x:\n\t\ty\n",
        "    if x:\n        y",
        "    if z:\n        y",
        "\tif z:\n\t\ty\n",
        "indentation",
    ),
    ("unescaped", 'print("a\\tb")\n"c"\n', 'b\\")\\n\\"c\\"', 'x\\")', 'print("a\\tx")\n', "unescaped"),
    ("line_numbers", "a\nb\nc\n", " 9 | a\n10 | b", " 9 | a\n10 | x\ny", "a\nx\ny\nc\n", "line numbers"),
    (
        "line_numbers_of_blank_lines",
        "a\n\nc\n",
        "1 | a\n2 |\n3 | c",
        "1 | a\n2 |\n3 | x",
        "a\n\nx\n",
        "line numbers",
    ),
    ("last_line_without_ending", "a \nb ", "a\nb\n", "a\nc\n", "a \nc", "trailing blanks"),
    ("undecodable_bytes_stay", "\udcff\nb\n", "b", "c", "\udcff\nc\n", "exact"),
    ("bom_stays", "\ufeffa\r\nb", "a", "c", "\ufeffc\r\nb", "exact"),
]


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("before", "old", "new", "after", "matched_with"), [c[1:] for c in LADDER], ids=[c[0] for c in LADDER]
)
def test_text_is_replaced_by_the_strictest_strategy_that_matches(
    before: str, old: str, new: str, after: str, matched_with: str
) -> None:
    assert edited(before, old, new) == (after, matched_with)


DELETED = [
    ("whole_line", "a\nb\nc\n", "b", "a\nc\n"),
    ("whole_line_crlf", "a\r\nb\r\nc\r\n", "b", "a\r\nc\r\n"),
    ("whole_lines", "a\nb\nc\n", "a\nb", "c\n"),
    ("with_its_ending", "a\nb\nc\n", "b\n", "a\nc\n"),
    ("part_of_a_line", "a\nbb\nc\n", "b\n", "a\nbc\n"),
    ("last_line", "a\nb", "b", "a\n"),
    ("end_of_a_line", "a\nxb\n", "b", "a\nx\n"),
]


@pytest.mark.req("T3")
@pytest.mark.parametrize(("before", "old", "after"), [c[1:] for c in DELETED], ids=[c[0] for c in DELETED])
def test_deleted_lines_leave_no_blank_line_behind(before: str, old: str, after: str) -> None:
    assert edited(before, old, "")[0] == after


REFUSED = [
    ("twice", "a\nb\na\n", "a", "x", "AMBIGUOUS", "lines 1, 3"),
    ("twice_loosely", "a \nb\na \n", "a\n", "x\n", "AMBIGUOUS", "2 places"),
    ("no_looser_rung_to_escape", "a\n a\na\n", "a\n", "x\n", "AMBIGUOUS", "3 places"),
    (
        "nowhere",
        "count = total\n",
        "count = totals",
        "x",
        "CONTEXT_NOT_FOUND",
        "First difference at line 1 (text)",
    ),
    ("applied", "new text\n", "old", "new text", "CONTEXT_NOT_FOUND", "Already applied"),
    ("same", "a\n", "a", "a", "NO_CHANGE", "nothing to change"),
    ("same_after_endings", "a\r\nb\r\n", "a\nb", "a\r\nb", "NO_CHANGE", "already has this content"),
    ("empty_old", "a\n", "", "x", "FILE_EXISTS", "write_file"),
    ("omission", "a\n", "a", "x\n# ... existing code ...\n", "OMISSION", "# ... existing code ..."),
    ("surrogate", "a\n", "a", "\ud800", "PARSE", "surrogate"),
    ("binary", "\x00\udcffa", "a", "b", "NOT_TEXT", "binary"),
    ("no_rule_for_the_indentation", "\ta\n  b\n", "a\nb", "      c\nd", "CONTEXT_NOT_FOUND", ""),
    ("not_whole_lines", "xa \nb\n", "a\nb", "c", "CONTEXT_NOT_FOUND", ""),
    ("blank_lines_only", "a\n \nb\n", "\n  \n", "x", "CONTEXT_NOT_FOUND", ""),
]


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("before", "old", "new", "code", "phrase"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_an_edit_without_exactly_one_match_is_refused_with_the_reason(
    before: str, old: str, new: str, code: str, phrase: str
) -> None:
    with pytest.raises(PatchError) as raised:
        replace(encoded(before), old, new)
    assert raised.value.code == code
    assert phrase in str(raised.value)


CHOSEN: list[tuple[Occurrence, str, int]] = [
    ("all", "x\nb\nx\n", 2),
    ("first", "x\nb\na\n", 1),
    ("last", "a\nb\nx\n", 1),
]


@pytest.mark.req("T3")
@pytest.mark.parametrize(("occurrence", "after", "count"), CHOSEN, ids=[c[0] for c in CHOSEN])
def test_replace_all_replaces_several_matches(occurrence: Occurrence, after: str, count: int) -> None:
    result = replace(b"a\nb\na\n", "a", "x", occurrence=occurrence)
    assert (decoded(result.content), result.count) == (after, count)


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\r\na\r\nb\r\n", "a\nb", "x", "x\r\nx\r\n"),
        ("a \nb\na  \n", "a\n", "x\n", "x\nb\nx\n"),
        ("“a”, “a”;\r\n", '"a"', "b", "b, b;\r\n"),
        ("x(“a\r\nb”) + x(“a\r\nb”)\r\n", 'x("a\nb")', "y", "y + y\r\n"),
        ("—-—-—\n", "-----", "=", "=\n"),
    ],
)
def test_replace_all_replaces_also_what_differs_in_characters_that_nobody_sees(
    before: str, old: str, new: str, after: str
) -> None:
    assert decoded(replace(encoded(before), old, new, replace_all=True).content) == after


@pytest.mark.req("T3")
def test_replace_all_refuses_several_places_of_another_indentation() -> None:
    with pytest.raises(PatchError) as raised:
        replace(b"  a()\n  b\nc\n    a()\n    b\n", "a()\nb\n", "a()\nx\n", replace_all=True)
    assert raised.value.code == "AMBIGUOUS" and "replace_all" not in str(raised.value)


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("before", "old", "code"),
    [
        ("x “a” y “a” z\n", '"a"', "AMBIGUOUS"),
        ("\u00a0\u00a0x\n", " ", "CONTEXT_NOT_FOUND"),
        ("a – b\n", "a + b", "CONTEXT_NOT_FOUND"),
    ],
)
def test_text_within_a_line_must_be_unique_also_in_other_typography(before: str, old: str, code: str) -> None:
    with pytest.raises(PatchError) as raised:
        replace(encoded(before), old, "new")
    assert raised.value.code == code


@pytest.mark.req("T3")
def test_empty_old_string_creates_a_file_and_fills_an_empty_one() -> None:
    assert replace(None, "", "a\n").content == b"a\n"
    assert replace("\ufeff".encode(), "", "a").content == "\ufeffa".encode()
    with pytest.raises(PatchError) as raised:
        replace(None, "a", "b")
    assert raised.value.code == "FILE_MISSING"


@pytest.mark.req("T3")
def test_result_reports_the_changed_lines_and_hunks() -> None:
    result = replace(b"a\nb\nc\nd\n", "b\nc", "x\ny\nz")
    assert (result.first_line, result.last_line) == (2, 4)
    assert result.hunks == (LineHunk(1, 3, ("b\n", "c\n"), ("x\n", "y\n", "z\n")),)
    removed = replace(b"a\nb\nc\n", "b\n", "")
    assert (removed.first_line, removed.last_line) == (2, 2)


@pytest.mark.req("T3")
@given(st.binary(max_size=40), st.binary(max_size=40))
def test_replacement_keeps_all_bytes_outside_the_match(head: bytes, tail: bytes) -> None:
    before = head + b"\n<unique>\n" + tail
    if before.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in before:
        return
    assert replace(before, "<unique>", "new").content == head + b"\nnew\n" + tail


@pytest.mark.req("T3")
def test_utf16_file_keeps_its_encoding() -> None:
    before = "\ufeffa\r\nb\r\n".encode("utf-16-be")
    assert replace(before, "b", "é\nc").content == "\ufeffa\r\né\r\nc\r\n".encode("utf-16-be")
