"""Unified diffs can be parsed, have correct counts, and give the new text when applied to the old one."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from unidiff.patch import PatchedFile, PatchSet

from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.unified import Content, change_diff, file_diff, is_text, unified_diff
from agent_ls.text import split_lines
from tests.patch.applying import change_set, patch, update

texts = st.lists(st.sampled_from(["a", "b", "", "-- c", "++ d", "\x0c", "e\u2028f"]), max_size=14).flatmap(
    lambda lines: st.sampled_from(
        ["\n".join(lines), "".join(f"{x}\n" for x in lines), "".join(f"{x}\r\n" for x in lines)]
    )
)


def parsed(text: str) -> PatchedFile:
    (file,) = PatchSet(text)
    return file


def replayed(before: str, file: PatchedFile) -> str:
    """Return the result of applying the parsed diff to `before`."""
    old = before.split("\n")
    old = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    result: list[str] = []
    at = 0
    previous = ""
    for hunk in file:
        start = max(hunk.source_start - 1, 0) if hunk.source_length else hunk.source_start
        result += old[at:start]
        at = start + hunk.source_length
        for line in hunk:
            if line.line_type in ("+", " "):
                result.append(line.value)
            elif line.line_type == "\\" and previous in ("+", " "):
                result[-1] = result[-1].removesuffix("\n")
            previous = line.line_type
    return "".join([*result, *old[at:]])


@pytest.mark.req("T4")
@given(texts, texts)
def test_a_diff_can_be_parsed_has_correct_counts_and_gives_the_new_text(old: str, new: str) -> None:
    diff = file_diff(old, new, "dir/a b.py")
    if old == new:
        assert diff.text == ""
        return
    file = parsed(diff.text)
    assert (file.path, file.added, file.removed) == ("dir/a b.py", diff.added, diff.removed)
    assert replayed(old, file) == new


@given(texts, texts)
def test_unified_diff_contains_each_atomic_hunk_exactly_once(old: str, new: str) -> None:
    diff = file_diff(old, new, "f")
    hunks = line_hunks(split_lines(old), split_lines(new))
    assert [at for group in diff.shown for at in group] == list(range(len(hunks)))
    assert len(diff.shown) == diff.text.count("\n@@ ")


SHOWN: list[tuple[str, Content, Content, str]] = [
    ("change", "a\nb\n", "a\nc\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
    ("create", None, "a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"),
    ("delete", b"a\n", None, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
    ("create_empty", None, b"", "--- /dev/null\n+++ b/f\n"),
    ("ending_comes", "a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
    ("binary", b"\x00\xff", b"\x00\xfe", "Binary files a/f and b/f differ\n"),
    (
        "undecodable",
        b"a\xff\x01\n",
        b"b\xff\x01\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\\xff\x01\n+b\\xff\x01\n",
    ),
    ("lone_cr", "a\rb\n", "a\rc\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\rb\n+a\rc\n"),
    ("bom_goes", "\ufeffa\n".encode(), b"a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\ufeffa\n+a\n"),
    ("same", b"a", b"a", ""),
]


@pytest.mark.parametrize(("before", "after", "expected"), [c[1:] for c in SHOWN], ids=[c[0] for c in SHOWN])
def test_a_diff_has_the_expected_text_for_each_kind_of_change(
    before: Content, after: Content, expected: str
) -> None:
    assert unified_diff(before, after, "f") == expected


def test_diff_of_a_moved_file_is_parsed_as_a_rename() -> None:
    for before, after in (("a\nb\n", "a\nc\n"), ("a\n", "a\n")):
        file = parsed(unified_diff(before, after, "new name", moved_from="old name"))
        assert file.is_rename
        assert (file.source_file, file.target_file) == ("a/old name", "b/new name")


def test_headers_of_an_absolute_path_are_those_of_git() -> None:
    lines = unified_diff(b"one\n", b"two\n", "/folder/a.txt").splitlines()
    assert lines[:2] == ["--- a/folder/a.txt", "+++ b/folder/a.txt"]


def test_distant_hunks_are_separate_diff_hunks_with_correct_line_numbers() -> None:
    old = [f"{at}\n" for at in range(40)]
    new = [*old[:5], "x\n", *old[5:30], *old[31:]]
    diff = file_diff("".join(old), "".join(new), "f")
    assert diff.shown == ((0,), (1,))
    assert "@@ -3,6 +3,7 @@" in diff.text
    assert "@@ -28,7 +29,6 @@" in diff.text
    assert replayed("".join(old), parsed(diff.text)) == "".join(new)


def test_diff_of_a_planned_change_uses_the_hunks_of_the_patch() -> None:
    (change,) = change_set(update("@@\n a\n+a\n a"), {"f": "a\na"}).changes
    diff = change_diff(change)
    assert diff.shown == ((0,),)
    assert [line for line in diff.text.split("\n") if line.startswith("+a")] == ["+a"]


def test_diff_of_text_added_after_a_last_line_without_ending_equals_gits_format() -> None:
    (change,) = change_set(update("@@\n b\n+c"), {"f": "a\nb"}).changes
    assert change_diff(change).text.endswith(" a\n-b\n\\ No newline at end of file\n+b\n+c\n")


def test_diff_of_a_moved_and_changed_file_has_the_rename_and_the_line_counts() -> None:
    text = patch("*** Update File: f", "*** Move to: g", "-a", "+c")
    (change,) = change_set(text, {"f": "a\nb\n"}).changes
    file = parsed(change_diff(change).text)
    assert (file.is_rename, file.added, file.removed) == (True, 1, 1)


def test_file_with_nul_is_text_only_if_it_can_be_decoded() -> None:
    assert is_text(b"a\x00b")
    assert is_text("\ufeffa\x00".encode("utf-16-le"))
    assert not is_text(b"\x00\xff")
