"""Invariants of the ledger after any history of agents' edits, typing, undo and redo, and decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agent_ls.patch.line_diff import apply_hunks, line_hunks
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.ledger import FileLedger, LedgerChange, open_ledger
from agent_ls.review.restore import StoredHunk, restore_ledger
from agent_ls.review.user_edits import apply_user_edit
from agent_ls.text import split_lines
from tests.support.ledger_checks import Call, problems
from tests.support.ledger_decisions import keep_hunks, undo_hunks

pytestmark = [pytest.mark.req("H6"), pytest.mark.sweep]

Decide: TypeAlias = Callable[[FileLedger, Sequence[str]], LedgerChange]
DECISIONS: list[Decide] = [keep_hunks, undo_hunks]

# Few different lines: a position can be mistaken only among repeated lines.
LINES = st.lists(st.sampled_from(["a\n", "b\n", "}\n", "\n", "\tx = 1\n"]), max_size=8)
LAST = st.sampled_from(["", "end", "x"])
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, LAST)
SLOW = settings(suppress_health_check=[HealthCheck.too_slow])


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """Draw the text after one to three changes of some lines."""
    lines = split_lines(text)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(lines)))
        end = min(len(lines), start + draw(st.sampled_from([0, 0, 1, 1, 2, 4])))
        lines[start:end] = split_lines(draw(TEXTS))
        lines = split_lines("".join(line if line.endswith("\n") else line + "\n" for line in lines))
    is_unended = draw(st.booleans())
    if lines and is_unended:
        lines[-1] = lines[-1].rstrip("\n")
    return "".join(lines)


@st.composite
def histories(draw: st.DrawFn, max_steps: int = 8) -> tuple[FileLedger, list[str | None]]:
    """Draw a ledger after some steps, each checked, and all texts that the file had."""
    start = draw(st.one_of(TEXTS, st.none()))
    ledger, texts = open_ledger("/f", start), [start]
    for number in range(draw(st.integers(1, max_steps))):
        ledger = draw(after_a_step(ledger, texts, f"c{number}"))
        assert problems(ledger) == []
        texts.append(ledger.current_text)
    return ledger, texts


@st.composite
def after_a_step(
    draw: st.DrawFn, ledger: FileLedger, texts: Sequence[str | None], call_id: str
) -> FileLedger:
    kind = draw(st.sampled_from(["agent", "agent", "user", "user", "back", "decision", "file"]))
    if kind == "decision":
        return draw(st.sampled_from(DECISIONS))(ledger, draw(chosen(ledger))).ledger
    if kind == "back":
        new = draw(st.sampled_from(texts[-4:]))
    elif kind == "file":
        new = None if ledger.current is not None else draw(TEXTS)
    else:
        new = draw(edited(ledger.current_text or ""))
    if kind == "agent" or (kind == "file" and draw(st.booleans())):
        session_id = draw(st.sampled_from(["s1", "s1", "s2"]))
        after = apply_agent_edit(ledger, new, Call(call_id, session_id)).ledger
    else:
        after = apply_user_edit(ledger, new).ledger
    assert after.current_text == new
    return after


@st.composite
def chosen(draw: st.DrawFn, ledger: FileLedger) -> list[str]:
    return [hunk.id for hunk in ledger.open_hunks if draw(st.booleans())]


def all_open(ledger: FileLedger) -> list[str]:
    return [hunk.id for hunk in ledger.open_hunks]


@SLOW
@given(histories())
def test_keeping_all_hunks_makes_the_current_text_the_base(
    history: tuple[FileLedger, list[str | None]],
) -> None:
    ledger, _ = history
    after = keep_hunks(ledger, all_open(ledger)).ledger
    assert after.base == after.current == ledger.current
    assert after.open_hunks == ()


@SLOW
@given(histories())
def test_undoing_all_hunks_restores_the_base_byte_for_byte(
    history: tuple[FileLedger, list[str | None]],
) -> None:
    ledger, _ = history
    after = undo_hunks(ledger, all_open(ledger)).ledger
    assert after.base == after.current == ledger.base
    assert after.open_hunks == ()


@SLOW
@given(histories(), st.data())
def test_the_order_of_decisions_makes_no_difference(
    history: tuple[FileLedger, list[str | None]], data: st.DataObject
) -> None:
    ledger, _ = history
    decisions = [(hunk_id, data.draw(st.sampled_from(DECISIONS))) for hunk_id in all_open(ledger)]
    texts = set()
    for order in (decisions, decisions[::-1], data.draw(st.permutations(decisions))):
        after = ledger
        for hunk_id, decide in order:
            after = decide(after, [hunk_id]).ledger
            assert problems(after) == []
        assert after.base == after.current
        texts.add(after.current_text)
    assert len(texts) == 1


@SLOW
@given(histories())
def test_a_restart_with_the_file_unchanged_loses_nothing(
    history: tuple[FileLedger, list[str | None]],
) -> None:
    ledger, _ = history
    stored = [StoredHunk(hunk, ledger.lines_of(hunk)) for hunk in (*ledger.closed, *ledger.hunks)]
    again = restore_ledger("/f", stored, ledger.current_text, is_unchanged=True)
    assert (again.base, again.current, again.open_hunks) == (ledger.base, ledger.current, ledger.open_hunks)


@SLOW
@given(histories(), st.data())
def test_a_restart_with_any_text_gives_a_valid_ledger_of_that_text(
    history: tuple[FileLedger, list[str | None]], data: st.DataObject
) -> None:
    ledger, texts = history
    stored = [StoredHunk(hunk, ledger.lines_of(hunk)) for hunk in (*ledger.closed, *ledger.hunks)]
    now = data.draw(st.one_of(st.sampled_from(texts), TEXTS))
    again = restore_ledger("/f", stored, now)
    assert problems(again) == []
    assert again.current_text == now
    assert {hunk.id for hunk in (*again.hunks, *again.closed)} == {item.hunk.id for item in stored}


@SLOW
@given(TEXTS, st.data())
def test_any_subset_of_one_calls_hunks_gives_the_specified_result(text: str, data: st.DataObject) -> None:
    new = data.draw(edited(text))
    ledger = apply_agent_edit(open_ledger("/f", text), new, Call("c1")).ledger
    hunks = line_hunks(split_lines(text), split_lines(new))
    kept = [data.draw(st.booleans()) for _ in hunks]
    assert len(ledger.hunks) == len(hunks)
    ids = [hunk.id for hunk, is_kept in zip(ledger.hunks, kept, strict=True) if not is_kept]
    result = apply_hunks(
        split_lines(text), [hunk for hunk, is_kept in zip(hunks, kept, strict=True) if is_kept]
    )
    assert undo_hunks(ledger, ids).ledger.current_text == "".join(result)


@SLOW
@given(TEXTS, st.data())
def test_undo_and_redo_in_the_editor_restore_the_same_hunks(text: str, data: st.DataObject) -> None:
    new = data.draw(edited(text))
    changed = apply_agent_edit(open_ledger("/f", text), new, Call("c1")).ledger
    back = apply_user_edit(changed, text).ledger
    assert [hunk.state for hunk in back.hunks] == ["gone"] * len(changed.hunks)
    assert back.base_text == text
    assert apply_user_edit(back, new).ledger == changed


@SLOW
@given(LINES, LINES, st.data())
def test_typing_outside_the_hunks_survives_undoing_all(
    old: list[str], new: list[str], data: st.DataObject
) -> None:
    ledger = apply_agent_edit(open_ledger("/f", "".join(old)), "".join(new), Call("c1")).ledger
    typed = [f"typed {number}\n" for number in range(5)]
    for line in typed:
        lines = list(ledger.current or ())
        borders = (
            {0, len(lines)} | {hunk.start for hunk in ledger.hunks} | {hunk.end for hunk in ledger.hunks}
        )
        lines.insert(data.draw(st.sampled_from(sorted(borders))), line)
        ledger = apply_user_edit(ledger, "".join(lines)).ledger
    assert {hunk.state for hunk in ledger.hunks} <= {"pending"}
    after = undo_hunks(ledger, all_open(ledger)).ledger
    assert sorted(line for line in after.current or () if line in typed) == typed
    assert [line for line in after.current or () if line not in typed] == old
