"""Patches with mistakes that models make: rules R1 to R9, and the cases in which they must not apply."""

from __future__ import annotations

import pytest

from agent_ls.patch.v4a_lenient_parser import parse_leniently
from tests.patch.applying import applied, change_set, patch, refused, rules, update
from tests.patch.test_v4a_parser import shown

SIMPLE = patch("*** Update File: f", "@@", "-a", "+b")

READ = [
    ("R1_prose", f"Here it is:\n```\n{SIMPLE}\n```\nDone.", ["U f @[-a|+b]"], {"R1"}),
    ("R1_heredoc", f"apply_patch <<'X'\n{SIMPLE}\nX", ["U f @[-a|+b]"], {"R1"}),
    ("R1_bom", f"\ufeff{SIMPLE}", ["U f @[-a|+b]"], {"R1"}),
    ("R1_two_patches", f"{SIMPLE}\nand\n{patch('*** Delete File: g')}", ["U f @[-a|+b]", "D g"], {"R1"}),
    (
        "R1_markers",
        "** BEGIN PATCH\n**** update file:f\n@@\n-a\n** end of file\n*** END PATCH",
        ["U f @[-a]$"],
        {"R1"},
    ),
    ("R1_quoted_path", patch('*** Delete File: "a b"', "*** Delete File: `c`"), ["D a b", "D c"], {"R1"}),
    ("R1_blanks_in_path", patch("*** Delete File:   a"), ["D a"], {"R1"}),
    (
        "R1_text_stays",
        patch("*** Update File: f", "@@", " *** Delete File: x", "+*** End Patch", "-a"),
        ["U f @[ *** Delete File: x|+*** End Patch|-a]"],
        set(),
    ),
    ("R1_indented_end", f"x\n{SIMPLE.replace('*** End', ' *** End')}\n```", ["U f @[-a|+b]"], {"R1"}),
    ("R2", patch("*** Update File: f", "@@", "\tx", "def y():", "-a"), ["U f @[ \tx| def y():|-a]"], {"R2"}),
    ("R2_ruby", patch("*** Update File: f", "@@", "@@count = 1", "-a"), ["U f @[ @@count = 1|-a]"], {"R2"}),
    (
        "R3",
        patch("*** Update File: f", "@@ class A", "@@   def b", "-a"),
        ["U f @class A/  def b[-a]"],
        {"R3"},
    ),
    ("R4_numbers", patch("*** Update File: f", "@@ -1,2 +1,3 @@ def b", "-a"), ["U f @def b[-a]"], {"R4"}),
    ("R4_bare_numbers", patch("*** Update File: f", "@@ -1 +1 @@", "-a"), ["U f @[-a]"], {"R4"}),
    ("R4_closed", patch("*** Update File: f", "@@ def b @@", "-a"), ["U f @def b[-a]"], {"R4"}),
    ("R5_headers", patch("*** Update File: f", "--- a/f", "+++ b/f", "@@", "-a"), ["U f @[-a]"], {"R5"}),
    (
        "R5_one_is_text",
        patch("*** Update File: f", "--- a comment", "+b"),
        ["U f @[--- a comment|+b]"],
        set(),
    ),
    (
        "R5_no_newline",
        patch("*** Update File: f", "-a", "\\ No newline at end of file", "+b"),
        ["U f @[-a|+b]"],
        {"R5"},
    ),
    ("R6", patch("*** Add File: a", "", "+x", "", "+y", "", ""), ["A a ['', 'x', '', 'y']"], {"R6"}),
    ("R6_blank_with_sign_stays", patch("*** Add File: a", "+x", "+", ""), ["A a ['x', '']"], {"R6"}),
    ("R6_between", patch("*** Delete File: a", "", "*** Delete File: b"), ["D a", "D b"], {"R6"}),
    ("R7", patch("*** Update File: f", "@@", "", "@@", "-a", "@@", " "), ["U f @[-a]"], {"R7"}),
    (
        "R7_keeps_anchor",
        patch("*** Update File: f", "@@ class A", "", "@@ def b", "-a"),
        ["U f @class A/def b[-a]"],
        {"R7"},
    ),
    ("R8", patch("*** Update File: f", "*** Move to: g"), ["U f>g "], {"R8"}),
    ("R9", patch("*** Update File: f", "-a", "*** End of File", "", "+b"), ["U f @[-a]$ @[+b]"], {"R9"}),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("text", "sections", "used"), [c[1:] for c in READ], ids=[c[0] for c in READ])
def test_mistakes_of_models_are_repaired_and_reported(text: str, sections: list[str], used: set[str]) -> None:
    parsed = parse_leniently(text)
    assert not parsed.problems
    assert [shown(section) for section in parsed.sections] == sections
    assert {repair.rule for repair in parsed.repairs} == used


NOT_READ = [
    ("no_begin", "*** Update File: f\n-a\n*** End Patch", "PARSE"),
    ("no_end", "*** Begin Patch\n*** Update File: f\n-a\n+b", "TRUNCATED"),
    ("no_end_in_fence", "```\n*** Begin Patch\n*** Update File: f\n-a\n```", "TRUNCATED"),
    ("second_begin", "*** Begin Patch\n*** Delete File: f\n" + SIMPLE, "TRUNCATED"),
    ("early_end", SIMPLE + "\n*** Delete File: g\n*** End Patch", "PARSE"),
    ("second_patch_cut_off", SIMPLE + "\n*** Begin Patch\n*** Delete File: g", "TRUNCATED"),
    ("unsigned_line_in_add", patch("*** Add File: a", "x"), "PARSE"),
    ("text_before_sections", patch("hello", "*** Delete File: f"), "PARSE"),
    ("anchor_alone", patch("*** Update File: f", "@@", "-a", "@@ def b"), "PARSE"),
    ("nothing_in_update", patch("*** Update File: f", "@@", ""), "PARSE"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("text", "code"), [c[1:] for c in NOT_READ], ids=[c[0] for c in NOT_READ])
def test_text_with_more_than_one_meaning_is_refused(text: str, code: str) -> None:
    assert [problem.code for problem in parse_leniently(text).problems] == [code]


@pytest.mark.req("T4")
def test_a_truncated_patch_is_refused_with_that_reason() -> None:
    error = refused("*** Begin Patch\n*** Delete File: f\n*** Update File: g\n-a", {"f": "x\n", "g": "a\n"})
    assert error.code == "TRUNCATED"
    assert "cut off" in str(error)


def test_recovery_is_not_used_when_the_strict_reading_fits() -> None:
    world = {"f": "a\n@@ -1 +1 @@\n"}
    assert rules(update("@@\n-a\n+b"), world) == set()


def test_a_quoted_path_is_used_literally_if_that_file_exists() -> None:
    assert applied(patch('*** Delete File: "f"'), {'"f"': "x\n", "f": "y\n"}) == {"f": "y\n"}


@pytest.mark.req("T4")
@pytest.mark.parametrize("body", ["@@\na\nb", "@@\na\n-b\n+b"], ids=["no_signs", "same_line"])
def test_section_that_recovery_turns_into_a_no_op_is_refused(body: str) -> None:
    error = refused(update(body), {"f": "a\nb\n"})
    assert "NO_CHANGES" in {problem.code for problem in error.problems}


def test_no_newline_marker_removes_the_final_newline_only_at_the_end_of_the_file() -> None:
    marker = "\\ No newline at end of file"
    assert applied(update(f"-b\n+c\n{marker}"), {"f": "a\nb\n"}) == {"f": "a\nc"}
    assert applied(update(f"-a\n+c\n{marker}"), {"f": "a\nb\n"}) == {"f": "c\nb\n"}


def test_pure_rename_keeps_every_byte_of_a_binary_file() -> None:
    text = patch("*** Update File: f", "*** Move to: g")
    world = {"f": "\x00\udcff\r\r\n"}
    assert applied(text, world) == {"g": "\x00\udcff\r\r\n"}
    (change,) = change_set(text, world).changes
    assert (change.action, change.moved_from, change.hunks) == ("move", "f", ())
