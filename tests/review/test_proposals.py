from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agent_ls.patch.rebase import MergedText, rebase
from agent_ls.review.proposals import (
    HunkGroup,
    mark_decided,
    mark_written,
    propose,
    rebase_group,
    split_proposal,
    text_with_proposals,
)
from agent_ls.text import split_lines
from tests.support.ledger_checks import Call

AUTHOR = Call("c1")


def text(letters: str | None) -> str | None:
    """Return a text with one line for each letter."""
    return None if letters is None else "".join(f"{letter}\n" for letter in letters)


def letters(lines: str | None) -> str | None:
    return None if lines is None else lines.replace("\n", "")


def group(old: str | None, new: str | None) -> HunkGroup:
    return propose("/a", text(old), text(new), AUTHOR)


def states(found: HunkGroup) -> list[str]:
    return [hunk.state for hunk in found.hunks]


def places(found: HunkGroup) -> list[tuple[int, int]]:
    return [(hunk.start, hunk.end) for hunk in found.hunks]


# States and positions of two hunks (b to B, e to E) after the user changed the text.
@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("typed", "expected", "at"),
    [
        ("abcdef", ["proposed", "proposed"], [(1, 2), (4, 5)]),
        ("xxabcdef", ["proposed", "proposed"], [(3, 4), (6, 7)]),
        ("abxxcdef", ["proposed", "proposed"], [(1, 2), (6, 7)]),
        ("axcdef", ["stale", "proposed"], [(1, 2), (4, 5)]),
        ("acdef", ["stale", "proposed"], [(1, 1), (3, 4)]),
        ("aBcdef", ["kept", "proposed"], [(1, 2), (4, 5)]),
        ("xyz", ["stale", "stale"], [(0, 3), (0, 3)]),
    ],
)
def test_typing_moves_proposals_or_makes_them_stale(
    typed: str, expected: list[str], at: list[tuple[int, int]]
) -> None:
    beside = rebase_group(group("abcdef", "aBcdEf"), text(typed))
    assert (states(beside), places(beside)) == (expected, at)


@pytest.mark.req("H6")
def test_a_stale_proposal_is_pending_again_when_its_lines_are_restored() -> None:
    first = group("abcdef", "aBcdEf")
    assert rebase_group(rebase_group(first, text("axcdef")), text("abcdef")) == first


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("old", "new", "now", "state"),
    [
        (None, "ab", None, "proposed"),
        (None, "ab", "ab", "kept"),
        (None, "ab", "x", "stale"),
        ("ab", None, "ab", "proposed"),
        ("ab", None, "abx", "stale"),
        ("ab", None, None, "kept"),
        ("ab", "aB", None, "stale"),
    ],
)
def test_a_proposal_for_a_whole_file_follows_changes_of_the_file(
    old: str | None, new: str | None, now: str | None, state: str
) -> None:
    beside = rebase_group(rebase_group(group(old, new), text("other")), text(now))
    assert states(beside) == [state]


@pytest.mark.req("H6")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_hunks_kept_one_by_one_in_any_order_give_the_whole_change(order: tuple[int, int]) -> None:
    current = text("abcdef")
    groups: tuple[HunkGroup, ...] = (group("abcdef", "aBBcdf"),)
    ids = [hunk.id for hunk in groups[0].hunks]
    for n in order:
        (own,) = [it for it in groups if ids[n] in {hunk.id for hunk in it.pending_hunks}]
        after = text_with_proposals(current, [hunk for hunk in own.pending_hunks if hunk.id == ids[n]])
        groups = tuple(part for it in groups for part in mark_written(it, [ids[n]], after))
        current = after
    assert letters(current) == "aBBcdf"
    assert {hunk.state for it in groups for hunk in it.hunks} == {"kept"}


@pytest.mark.parametrize(
    ("old", "new", "chosen", "after", "rest"),
    [
        ("", "ABC", (1, 2), "xBy", "xABCy"),
        ("", "ABC", (0, 1), "xAy", "xABCy"),
        ("", "ABC", (2, 3), "xCy", "xABCy"),
        ("abc", "ABC", (1, 2), "xaBcy", "xABCy"),
        ("a", "ABC", (0, 2), "xABy", "xABCy"),
        ("abcd", "AB", (1, 2), "xaBy", "xABy"),
    ],
)
@pytest.mark.req("H6")
def test_lines_of_a_proposal_can_be_kept_before_the_rest(
    old: str, new: str, chosen: tuple[int, int], after: str, rest: str
) -> None:
    first = group(f"x{old}y", f"x{new}y")
    (hunk,) = first.hunks
    parted, id_ = split_proposal(first, hunk.id, *chosen)
    written = text_with_proposals(text(f"x{old}y"), [it for it in parted.hunks if it.id == id_])
    assert letters(written) == after
    groups = mark_written(parted, [id_], written)
    waiting = [it for found in groups for it in found.pending_hunks]
    assert letters(text_with_proposals(written, waiting)) == rest
    assert hunk.id in {it.id for it in waiting}


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("old", "new", "chosen", "rest"),
    [("", "ABC", (1, 2), "xACy"), ("abc", "ABC", (1, 2), "xAbCy"), ("a", "ABC", (1, 3), "xAy")],
)
def test_selected_lines_of_a_proposal_can_be_undone_before_the_rest(
    old: str, new: str, chosen: tuple[int, int], rest: str
) -> None:
    first = group(f"x{old}y", f"x{new}y")
    parted, id_ = split_proposal(first, first.hunks[0].id, *chosen)
    left = mark_decided(parted, [id_], "undone")
    assert letters(text_with_proposals(text(f"x{old}y"), left.pending_hunks)) == rest


@pytest.mark.parametrize(("old", "new"), [(None, "ab"), ("ab", None)])
def test_proposal_to_create_or_delete_a_file_cannot_be_split(old: str | None, new: str | None) -> None:
    first = group(old, new)
    with pytest.raises(ValueError, match="as a whole"):
        split_proposal(first, first.hunks[0].id, 0, 1)


lines = st.lists(st.sampled_from("abcdxyz"), max_size=8).map("".join)


@pytest.mark.req("H6", "T3")
@given(old=lines, new=lines, typed=lines)
def test_keeping_proposals_next_to_typed_text_equals_a_merge(old: str, new: str, typed: str) -> None:
    if old == new:
        return
    beside = rebase_group(group(old, new), text(typed))
    merged = rebase(*(split_lines(text(it) or "") for it in (old, new, typed)))
    assert isinstance(merged, MergedText) == ("stale" not in states(beside))
    if isinstance(merged, MergedText):
        assert text_with_proposals(text(typed), beside.pending_hunks) == "".join(merged.lines)


@given(old=lines, new=lines, order=st.randoms())
def test_keeping_proposals_one_by_one_in_random_order_gives_the_whole_change(
    old: str, new: str, order: object
) -> None:
    if old == new:
        return
    groups: tuple[HunkGroup, ...] = (group(old, new),)
    current = text(old)
    while waiting := [hunk for it in groups for hunk in it.pending_hunks]:
        hunk = order.choice(waiting)  # type: ignore[attr-defined]
        after = text_with_proposals(current, [hunk])
        groups = tuple(
            part
            for it in groups
            for part in (
                mark_written(it, [hunk.id], after) if hunk in it.hunks else (rebase_group(it, after),)
            )
        )
        current = after
    assert current == text(new)
