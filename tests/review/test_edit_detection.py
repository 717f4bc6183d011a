"""Detect from the text alone whether it contains our edit, or that this cannot be decided."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from agent_ls.review.edit_detection import (
    Absent,
    EditDetection,
    Present,
    Undetermined,
    apply_ignoring_versions,
    detect_edit,
)

pytestmark = pytest.mark.req("H4")

OLD = "".join(f"line {number}\n" for number in range(12))
OURS = OLD.replace("line 5\n", "line five\nand a half\n")


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (OURS, Present),
        (OLD, Absent),
        ("typed\n" + OURS, Present),
        ("typed\n" + OLD, Absent),
        (OURS.replace("line 6", "line 6 typed"), Present),
        (OLD.replace("line 6", "line 6 typed"), Absent),
        (OURS.replace("line five", "line five typed"), Present),
        (OLD.replace("line 5", "line 5 €€€"), Absent),
        (OLD.replace("line 5", "line 5 typed"), Absent),
        (OURS.replace("line five\nand a half\n", "line five\n"), Undetermined),
        (OLD.replace("line 5\n", "all new here\n"), Undetermined),
        (OURS.replace("line 0\n", "").replace("line 11\n", "").replace("line 3", "3"), Present),
        (OLD.replace("line 0\n", "").replace("line 11\n", "").replace("line 3", "3"), Absent),
        ("", Undetermined),
    ],
)
def test_edit_is_detected_as_present_or_absent_despite_typing_around_the_edit(
    observed: str, expected: type[EditDetection]
) -> None:
    assert type(detect_edit(OLD, OURS, observed)) is expected


A, B = "keep\nold line of text\nkeep too\n", "keep\nwholly other here\nkeep too\n"


@pytest.mark.parametrize(
    ("old", "expected", "observed", "said"),
    [
        # The editor dropped the edit, and the user types in its lines.
        (A, B, "keep\nold lixne of text\nkeep too\n", Absent()),
        (A, B, "keep\nold line of textxyz\nkeep too\n", Absent()),
        (A, B, "keep\nold\n line of text\nkeep too\n", Absent()),
        # The editor applied the edit, and the user types next to it and inside it.
        (A, B, "keep\nwholly other herex\nkeep too\n", Present(B)),
        (A, B, "keep\nwholly xother here\nkeep too\n", Present(B)),
        # The user removed a part of the old or of the new text.
        (A, B, "keep\nold text\nkeep too\n", Undetermined()),
        (A, B, "keep\nwholly here\nkeep too\n", Undetermined()),
        # The edit only removes text, so the user's text could also be the edit's result with something typed.
        ("f(a, b)\n", "f(a)\n", "f(a, )\n", Undetermined()),
        ("f(a, b)\n", "f(a)\n", "f(a, bx)\n", Absent()),
        ("one\ntwo\nthree\n", "one\nthree\n", "one\nxthree\n", Present("one\nthree\n")),
        # Only some of the edited positions have the edit.
        ("one\nkeep\ntwo\n", "ONE\nkeep\nTWO\n", "ONE\nkeep\ntwo\n", Undetermined()),
        ("one\nkeep\ntwo\n", "ONE\nkeep\nTWO\n", "one\nkeep\nTWO typed\n", Undetermined()),
        # The editor applied the edit at a wrong position, because the user had typed a line above.
        (A, B, "mine\nwholly other here\nold line of text\nkeep too\n", Undetermined()),
        (A, "keep\nold line of text\nadded\nkeep too\n", "mine\nadded\n" + A, Absent(is_elsewhere=True)),
    ],
)
def test_edit_is_detected_as_applied_or_dropped_despite_typing_inside_the_edit(
    old: str, expected: str, observed: str, said: EditDetection
) -> None:
    assert detect_edit(old, expected, observed) == said


@pytest.mark.parametrize(
    ("observed", "merged"),
    [
        ("typed\n" + A, "typed\n" + B),
        (A.replace("old line", "old typed line"), B),
        (A.replace("old line of text\n", "old\ntyped\nline of text\n"), B),
        ("typed\n" + A.replace("old line", "old typed line") + "typed\n", "typed\n" + B + "typed\n"),
    ],
)
def test_reapplying_a_dropped_edit_replaces_its_lines_and_keeps_text_typed_elsewhere(
    observed: str, merged: str
) -> None:
    assert apply_ignoring_versions(A, B, observed) == merged


@pytest.mark.parametrize(
    ("old", "expected", "observed"),
    [
        ("a\r\nb\r\n", "a\r\nx\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("a\nb\n", "a\nB", "a\nB\n"),
    ],
    ids=["line ends of the document", "a last line end added"],
)
def test_line_endings_changed_by_the_editor_still_belong_to_the_edit(
    old: str, expected: str, observed: str
) -> None:
    assert detect_edit(old, expected, observed) == Present(observed)


def test_an_edit_of_line_ends_alone_is_detected() -> None:
    assert detect_edit("a\nb\n", "a\r\nb\r\n", "a\nb\n") == Absent()
    assert detect_edit("a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n") == Present("a\r\nb\r\n")


BLOCKS = st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n", "def f():\n"]), min_size=1, max_size=5)


@example(["a\n"], ["a\n", "def f():\n"], ["def f():\n", "a\n"], ["a\n"], "x\n", False)
@given(
    BLOCKS, BLOCKS, BLOCKS, BLOCKS, st.sampled_from(["x\n", "é é\n", "long line of typing\n"]), st.booleans()
)
def test_typing_elsewhere_never_changes_the_detected_outcome(
    head: list[str], ours: list[str], theirs: list[str], tail: list[str], typed: str, is_above: bool
) -> None:
    def document(middle: list[str], above: str, below: str) -> str:
        return "".join([*head, above, "--- a border\n", *middle, "--- another\n", below, *tail])

    if ours == theirs:
        return
    above, below = (typed, "") if is_above else ("", typed)
    old, expected = document(theirs, "", ""), document(ours, "", "")
    assert isinstance(detect_edit(old, expected, document(ours, above, below)), Present)
    assert isinstance(detect_edit(old, expected, document(theirs, above, below)), Absent)


def test_an_edit_of_many_lines_is_detected_while_a_formatter_changes_many_others() -> None:
    lines = [f"line {number}\n" for number in range(4_000)]
    ours = [f"ours {number}\n" if number % 4 == 0 else line for number, line in enumerate(lines)]
    both = [f"  {line}" if number % 4 == 2 else line for number, line in enumerate(ours)]
    theirs = [f"  {line}" if number % 4 == 2 else line for number, line in enumerate(lines)]
    old, expected = "".join(lines), "".join(ours)
    assert detect_edit(old, expected, "".join(both)) == Present(expected)
    assert detect_edit(old, expected, "".join(theirs)) == Absent()
