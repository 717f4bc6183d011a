"""Whether a text holds our edit is read off the text alone, and not guessed where it cannot be told."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.review.evidence import Absent, Evidence, Present, Unclear, evidence

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
        (OLD.replace("line 5", "line 5 typed"), Unclear),  # half of those letters are ours
        (OURS.replace("line five\nand a half\n", "line five\n"), Unclear),
        (OLD.replace("line 5\n", "all new here\n"), Unclear),
        (OURS.replace("line 0\n", "").replace("line 11\n", "").replace("line 3", "3"), Present),
        (OLD.replace("line 0\n", "").replace("line 11\n", "").replace("line 3", "3"), Absent),
        ("", Absent),
    ],
)
def test_typing_about_an_edit(observed: str, expected: type[Evidence]) -> None:
    assert type(evidence(OLD, OURS, observed)) is expected


@pytest.mark.parametrize(
    ("old", "expected", "observed"),
    [
        ("a\r\nb\r\n", "a\r\nx\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("a\nb\n", "a\nB", "a\nB\n"),
    ],
    ids=["line ends of the document", "a last line end added"],
)
def test_what_an_editor_does_to_line_ends_is_still_ours(old: str, expected: str, observed: str) -> None:
    assert evidence(old, expected, observed) == Present(observed)


def test_an_edit_of_line_ends_alone_is_not_taken_for_done() -> None:
    assert evidence("a\nb\n", "a\r\nb\r\n", "a\nb\n") == Absent()
    assert evidence("a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n") == Present("a\r\nb\r\n")


BLOCKS = st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n", "def f():\n"]), min_size=1, max_size=5)


@given(
    BLOCKS, BLOCKS, BLOCKS, BLOCKS, st.sampled_from(["x\n", "é é\n", "long line of typing\n"]), st.booleans()
)
def test_typing_elsewhere_never_hides_what_became_of_the_edit(
    head: list[str], ours: list[str], theirs: list[str], tail: list[str], typed: str, is_above: bool
) -> None:
    def document(middle: list[str], above: str, below: str) -> str:
        return "".join([*head, above, "--- a border\n", *middle, "--- another\n", below, *tail])

    if ours == theirs:
        return
    above, below = (typed, "") if is_above else ("", typed)
    old, expected = document(theirs, "", ""), document(ours, "", "")
    assert isinstance(evidence(old, expected, document(ours, above, below)), Present)
    assert isinstance(evidence(old, expected, document(theirs, above, below)), Absent)
