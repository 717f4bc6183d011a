"""Recovery rules R3, R7 and R10 to R14 for chunks that the strict search does not find; no position is guessed."""

from __future__ import annotations

import pytest

from tests.patch.applying import applied, patch, refused, rules, update

CLASSES = """class A(Base):
    def f(self):
        pass

class B(Base):
    def f(self):
        pass
"""
ABC = "a\nb\nc\nd\ne\n"
GO = "\n-        pass\n+        go()"
IN_B = CLASSES[: -len("        pass\n")] + "        go()\n"
UP_AND_DOWN = (
    "@@ class B(Base):\n@@     def f(self):\n         pass\n+    # end\n"
    "@@ class A(Base):\n@@     def f(self):" + GO
)

FOUND = [
    ("R3", "@@ class B(Base):\n@@     def f(self):" + GO, CLASSES, IN_B, {"R3"}),
    ("R3_from_the_top", UP_AND_DOWN, CLASSES, CLASSES.replace("pass", "go()", 1) + "    # end\n", {"R3"}),
    ("R3_bare_counts", "@@\n@@ c\n-d\n+x", ABC, "a\nb\nc\nx\ne\n", {"R3"}),
    ("R7_end", "@@\n-b\n+x\n c\n\n \n", ABC, "a\nx\nc\nd\ne\n", {"R7"}),
    ("R7_start", "@@\n \n \n-b\n+x", ABC, "a\nx\nc\nd\ne\n", {"R7"}),
    ("R10_advisory", "@@ nowhere\n-b\n+x", ABC, "a\nx\nc\nd\ne\n", {"R10"}),
    ("R10_begins_with", "@@ class B" + GO, CLASSES, IN_B, {"R10"}),
    (
        "R10_insertion",
        "@@ class B\n+    x = 1",
        CLASSES,
        CLASSES.replace("class B(Base):\n", "class B(Base):\n    x = 1\n"),
        {"R10"},
    ),
    ("R11", "@@ b\n b\n-c\n+x", ABC, "a\nb\nx\nd\ne\n", {"R11"}),
    ("R12", "@@\n-a\n+x\n b\n c\n@@\n b\n c\n-d\n+y", ABC, "x\nb\nc\ny\ne\n", {"R12"}),
    ("R12_changes_trailing_context", "@@\n-a\n+x\n b\n@@\n-b\n+y", ABC, "x\ny\nc\nd\ne\n", {"R12"}),
    ("R13_order", "@@\n-d\n+x\n@@\n-b\n+y", ABC, "a\ny\nc\nx\ne\n", {"R13"}),
    ("R13_three", "@@\n-e\n+1\n@@\n-a\n+2\n@@\n-c\n+3", ABC, "2\nb\n3\nd\n1\n", {"R13"}),
    ("R13_end_of_file", "@@\n-b\n+x\n*** End of File", ABC, "a\nx\nc\nd\ne\n", {"R13"}),
    ("R14_inner_blanks", "@@\n-f( x,  y )\n+g", "f(x, y)\n", "g\n", {"R14"}),
    ("R14_compatible", "@@\n-ﬁle… «x»\n+g", 'file... "x"\n', "g\n", {"R14"}),
    ("R14_zero_width", "@@\n-ab\n+g", "a\u200bb\u00ad\n", "g\n", {"R14"}),
    (
        "R14_anchor",
        "@@ def f(self) :\n+    x",
        "def f(self):\n    y\n",
        "def f(self):\n    x\n    y\n",
        {"R14"},
    ),
    ("R2_in_place", "@@\na\n-b\n+x\nc", ABC, "a\nx\nc\nd\ne\n", {"R2"}),
    ("R4_advisory", "@@ -2,1 +2,1 @@ def nowhere\n-b\n+x", ABC, "a\nx\nc\nd\ne\n", {"R4", "R10"}),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "before", "after", "used"), [c[1:] for c in FOUND], ids=[c[0] for c in FOUND]
)
def test_a_chunk_with_one_valid_position_is_placed_and_the_repair_reported(
    body: str, before: str, after: str, used: set[str]
) -> None:
    assert applied(update(body), {"f": before})["f"] == after
    assert rules(update(body), {"f": before}) == used


TWICE = "a\nb\nx\na\nb\n"
AMBIGUOUS = [
    ("R10", "@@ nowhere\n-b\n+y", TWICE),
    ("R7", "@@\n-b\n+y\n\n ", TWICE),
    ("R13_end_of_file", "@@\n-a\n+y\n*** End of File", TWICE),
    ("R14", "@@\n-a  b\n+y", "a b\na b\n"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("body", "before"), [c[1:] for c in AMBIGUOUS], ids=[c[0] for c in AMBIGUOUS])
def test_a_chunk_with_two_valid_positions_is_refused_with_both_lines(body: str, before: str) -> None:
    error = refused(update(body), {"f": before})
    assert error.code == "AMBIGUOUS"
    assert "2 places: lines" in str(error)


ONLY_BLANKS = [
    ("insertion_then_removal", "@@\n+a\n \n@@\n \n-x\n+y", " \nx\nz\n"),
    ("tabs", "@@\n+a\n \n@@\n \n-x\n+y", "\t\nx\nz\n"),
    ("two_blanks", "@@\n+a\n \n \n@@\n \n-x", " \n\t\nx\n"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("body", "before"), [c[1:] for c in ONLY_BLANKS], ids=[c[0] for c in ONLY_BLANKS])
def test_overlapping_chunks_that_share_only_blank_lines_are_refused(body: str, before: str) -> None:
    assert "AMBIGUOUS" in {problem.code for problem in refused(update(body), {"f": before}).problems}


NOT_FOUND = [
    ("stacked_anchors_bind", "@@ class A(Base):\n@@     def missing():" + GO, CLASSES, "ANCHOR_NOT_FOUND"),
    (
        "stacked_anchor_above_all",
        "@@ class C\n@@     def f(self):\n-        pass",
        CLASSES,
        "ANCHOR_NOT_FOUND",
    ),
    ("begins_with_two", "@@ class\n+    x = 1", CLASSES, "ANCHOR_NOT_FOUND"),
    ("similar", "@@\n-alpha beta gamma delta\n+x", "alpha beta gamma delta!\n", "CONTEXT_NOT_FOUND"),
    ("taken_by_another_chunk", "@@\n-b\n+x\n@@\n-b\n+y", ABC, "CONTEXT_NOT_FOUND"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "before", "code"), [c[1:] for c in NOT_FOUND], ids=[c[0] for c in NOT_FOUND]
)
def test_a_chunk_without_a_valid_position_is_refused(body: str, before: str, code: str) -> None:
    assert code in {problem.code for problem in refused(update(body), {"f": before}).problems}


def test_chunk_with_two_matches_after_the_next_chunk_is_refused_as_ambiguous() -> None:
    # The first chunk matches twice after the second one, so its position proves nothing.
    error = refused(update("@@\n-a\n+x\n@@\n-q\n+y"), {"f": "q\na\nz\na\n"})
    assert error.code == "AMBIGUOUS"
    assert "lines 2, 4" in str(error)


SENT_TWICE = [
    ("unsigned_context", "@@\na\n+new_line\nb", "a\nb\n"),
    ("anchor_prefix", "@@ class A\n+    x = 1", "class A(Base):\n    y\n"),
    ("replacement", "@@ nowhere\n-b\n+new_line", "a\nb\n"),
]


@pytest.mark.req("T4")
@pytest.mark.parametrize(("body", "before"), [c[1:] for c in SENT_TWICE], ids=[c[0] for c in SENT_TWICE])
def test_recovered_patch_sent_twice_is_refused_as_already_applied(body: str, before: str) -> None:
    once = applied(update(body), {"f": before})
    assert "Already applied" in str(refused(update(body), once))


def test_recovery_of_one_chunk_leaves_the_others_where_the_strict_search_puts_them() -> None:
    text = patch("*** Update File: g", "@@", "-a", "+x", "*** Update File: f", "@@ nowhere", "-b", "+y")
    assert applied(text, {"f": "b\n", "g": "a\na\n"}) == {"f": "y\n", "g": "x\na\n"}
