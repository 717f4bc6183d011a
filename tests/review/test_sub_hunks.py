from __future__ import annotations

import pytest

from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.decisions import Decision, apply_decision
from agent_ls.review.ledger import FileLedger, open_ledger
from agent_ls.review.sub_hunks import SplitHunk, extract_sub_hunk, split_hunk_lines
from tests.support.ledger_checks import Call, problems


def lines(text: str) -> tuple[str, ...]:
    """Return one line for each letter."""
    return tuple(f"{letter}\n" for letter in text)


def one_hunk(old: str, new: str) -> FileLedger:
    before, after = "".join(lines(f"x{old}y")), "".join(lines(f"x{new}y"))
    return apply_agent_edit(open_ledger("/a", before), after, Call("c1")).ledger


def shown(text: str | None) -> str:
    return (text or "").replace("\n", "")


@pytest.mark.parametrize(
    ("old", "new", "chosen", "expected"),
    [
        ("abc", "ABC", (0, 1), [("", ""), ("a", "A"), ("bc", "BC")]),
        ("abc", "ABC", (1, 2), [("a", "A"), ("b", "B"), ("c", "C")]),
        ("abc", "ABC", (2, 3), [("ab", "AB"), ("c", "C"), ("", "")]),
        ("abcd", "AB", (1, 2), [("a", "A"), ("bcd", "B"), ("", "")]),
        ("abcd", "AB", (0, 1), [("", ""), ("a", "A"), ("bcd", "B")]),
        ("a", "ABC", (1, 3), [("a", "A"), ("", "BC"), ("", "")]),
        ("", "ABC", (1, 2), [("", "A"), ("", "B"), ("", "C")]),
    ],
)
def test_splitting_a_hunk_pairs_old_and_new_lines_from_the_top(
    old: str, new: str, chosen: tuple[int, int], expected: list[tuple[str, str]]
) -> None:
    head, middle, tail = ((lines(o), lines(n)) for o, n in expected)
    assert split_hunk_lines(lines(old), lines(new), *chosen) == SplitHunk(head, middle, tail)


@pytest.mark.parametrize("chosen", [(0, 0), (2, 1), (-1, 1), (0, 4)])
def test_lines_that_a_hunk_does_not_have_are_refused(chosen: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="3 new lines"):
        split_hunk_lines(lines("abc"), lines("ABC"), *chosen)


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("old", "new", "chosen", "kept_base", "undone_current"),
    [
        ("abc", "ABC", (1, 2), "xaBcy", "xAbCy"),
        ("abc", "ABC", (0, 1), "xAbcy", "xaBCy"),
        ("abc", "ABC", (2, 3), "xabCy", "xABcy"),
        ("abcd", "AB", (1, 2), "xaBy", "xAbcdy"),
        ("a", "ABC", (1, 3), "xaBCy", "xAy"),
        ("", "ABC", (1, 2), "xBy", "xACy"),
    ],
)
def test_a_decision_about_lines_leaves_the_rest_pending(
    old: str, new: str, chosen: tuple[int, int], kept_base: str, undone_current: str
) -> None:
    ledger = one_hunk(old, new)
    (hunk,) = ledger.open_hunks
    keep = Decision(frozenset((hunk.id,)), "kept", chosen)
    kept = apply_decision(ledger, keep)
    assert problems(kept.ledger) == []
    assert apply_decision(ledger, keep).ledger.current_text == ledger.current_text == kept.ledger.current_text
    assert shown(kept.ledger.base_text) == kept_base
    assert kept.ledger.closed[-1].state == "kept" and hunk.id in {h.id for h in kept.ledger.open_hunks}

    undo = Decision(frozenset((hunk.id,)), "undone", chosen)
    undone = apply_decision(ledger, undo)
    assert problems(undone.ledger) == []
    assert (
        shown(apply_decision(ledger, undo).ledger.current_text)
        == shown(undone.ledger.current_text)
        == undone_current
    )
    assert undone.ledger.base_text == ledger.base_text


def test_a_decision_about_all_lines_decides_the_hunk() -> None:
    ledger = one_hunk("ab", "AB")
    (hunk,) = ledger.open_hunks
    assert extract_sub_hunk(ledger, hunk.id, 0, 2) == (ledger, hunk.id)


def test_a_hunk_can_be_divided_again_and_again() -> None:
    ledger = one_hunk("abcde", "ABCDE")
    (hunk,) = ledger.open_hunks
    for _ in range(2):
        ledger = apply_decision(ledger, Decision(frozenset((hunk.id,)), "kept", (0, 1))).ledger
        assert problems(ledger) == []
    assert shown(ledger.base_text) == "xABcdey"


@pytest.mark.parametrize(
    ("state", "base", "current"), [("kept", "b", "abc"), ("undone", None, "ac")], ids=["keep", "undo"]
)
def test_lines_of_a_created_file_can_be_decided_alone(state: str, base: str | None, current: str) -> None:
    ledger = apply_agent_edit(open_ledger("/a", None), "a\nb\nc\n", Call("c1")).ledger
    (hunk,) = ledger.open_hunks
    after = apply_decision(ledger, Decision(frozenset((hunk.id,)), state, (1, 2))).ledger  # type: ignore[arg-type]
    assert problems(after) == []
    assert (after.base_text and shown(after.base_text)) == base and shown(after.current_text) == current
    if base is None:  # undoing the remaining lines too deletes the created file
        (left,) = after.open_hunks
        assert apply_decision(after, Decision(frozenset((left.id,)), "undone")).ledger.current_text is None


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("before", "after", "replacement", "expected"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "mine\nand mine", "a\nmine\nand mine\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "mine\n", "a\r\nmine\r\nc\r\n"),
        ("a\nb\nc\n", "a\nB\nc\n", "", "a\nc\n"),
        ("a\nb", "a\nB", "mine\n", "a\nmine"),
        ("a\nb\nc\n", "a\nc\n", "mine", "a\nmine\nc\n"),
        (None, "new\n", "mine", "mine\n"),
    ],
)
def test_hunk_kept_with_a_replacement_has_the_users_text(
    before: str | None, after: str, replacement: str, expected: str
) -> None:
    ledger = apply_agent_edit(open_ledger("/a", before), after, Call("c1")).ledger
    (hunk,) = ledger.open_hunks
    decision = Decision(frozenset((hunk.id,)), "kept", replacement=replacement)
    result = apply_decision(ledger, decision)
    assert apply_decision(ledger, decision).ledger.current_text == expected
    assert result.ledger.base_text == result.ledger.current_text == expected
    assert result.ledger.open_hunks == () and problems(result.ledger) == []
