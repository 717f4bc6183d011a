"""Rebase hunks onto a text that the user has changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.line_diff import apply_hunks, line_hunks
from agent_ls.patch.rebase import (
    AlreadyApplied,
    Conflict,
    Conflicted,
    MergedText,
    list_placed,
    rebase,
    rebase_hunks,
)
from agent_ls.text import split_lines

seeded = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))
NUMBERED = [f"{at}\n" for at in range(12)]


@st.composite
def versions(draw: st.DrawFn) -> list[str]:
    """Draw a version of NUMBERED with a few changed lines, by an agent or a user."""
    lines = list(NUMBERED)
    for name in draw(st.lists(st.sampled_from("xyz"), min_size=0, max_size=3)):
        at = draw(st.integers(0, len(lines)))
        end = min(len(lines), at + draw(st.integers(0, 2)))
        lines[at:end] = [f"{name}\n"] * draw(st.integers(0, 2))
    if draw(st.booleans()) and lines:
        lines[-1] = lines[-1].rstrip("\n")
    return lines


def merged(base: str, proposed: str, current: str) -> str | None:
    result = rebase(split_lines(base), split_lines(proposed), split_lines(current))
    return "".join(result.lines) if isinstance(result, MergedText) else None


ABC = "a\nb\nc\n"
MERGED = [
    ("shifted", ABC, "a\nB\nc\n", "new\na\nb\nc\n", "new\na\nB\nc\n"),
    ("both_changed_elsewhere", ABC, "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
    ("touching", ABC, "a\nB\nc\n", "a\nb\nnew\nc\n", "a\nB\nnew\nc\n"),
    ("touching_change", ABC, "A\nb\nc\n", "a\nB\nc\n", "A\nB\nc\n"),
    ("already_there", ABC, "a\nB\nc\n", "a\nB\nc\n", "a\nB\nc\n"),
    ("insertion_already_there", ABC, "a\nx\nb\nc\n", "a\nx\nb\nC\n", "a\nx\nb\nC\n"),
    ("insertion_beside_typing", ABC, "a\nx\nb\nc\n", "a\ntyped\nb\nc\n", "a\nx\ntyped\nb\nc\n"),
    ("insertion_before_survivor", ABC, "a\nx\nb\nc\n", "b\nc\n", "x\nb\nc\n"),
    ("deletion_already_there", ABC, "a\nc\n", "a\nc\nd\n", "a\nc\nd\n"),
    ("ending_typed_at_the_end", "a\nb", "a\nb\nc\n", "a\nb\n", "a\nb\nc\n"),
    ("append_both", "a\nb", "A\nb", "a\nb\nc", "A\nb\nc"),
    ("to_nothing", "", "x\n", "", "x\n"),
    ("trailing_blank_typed", ABC, "a\nB\nc\n", "a\nb \nc\n", "a\nB\nc\n"),
]


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("base", "proposed", "current", "expected"), [c[1:] for c in MERGED], ids=[c[0] for c in MERGED]
)
def test_rebase_applies_the_proposed_change_to_the_users_text(
    base: str, proposed: str, current: str, expected: str
) -> None:
    assert merged(base, proposed, current) == expected


CONFLICTS = [
    ("same_line", ABC, "a\nB\nc\n", "a\nX\nc\n"),
    ("typed_inside", "a\nb\nc\nd\n", "a\nX\nd\n", "a\nb\ntyped\nc\nd\n"),
    ("surroundings_gone", ABC, "a\nb\nx\nc\n", "a\n"),
    ("twice_there", "b \n", "B\n", "b\nx\nb\n"),
]


@pytest.mark.req("H6")
@pytest.mark.parametrize(
    ("base", "proposed", "current"), [c[1:] for c in CONFLICTS], ids=[c[0] for c in CONFLICTS]
)
def test_a_change_of_lines_that_the_user_changed_is_a_conflict(
    base: str, proposed: str, current: str
) -> None:
    result = rebase(split_lines(base), split_lines(proposed), split_lines(current))
    assert isinstance(result, Conflicted)
    (conflict,) = result.conflicts
    assert 0 <= conflict.start <= conflict.end <= len(split_lines(current))
    assert conflict.reason in result.describe()


def test_changes_that_would_overlap_are_both_conflicts() -> None:
    hunks = (LineHunk(0, 1, ("a\n",), ("1\n",)), LineHunk(1, 2, ("a\n",), ("2\n",)))
    assert [type(item) for item in rebase_hunks(["a\n", "a\n"], hunks, ["a \n"])] == [Conflict, Conflict]


@seeded
@given(texts, texts)
def test_rebase_onto_the_base_gives_the_proposed_text(base: str, proposed: str) -> None:
    assert merged(base, proposed, base) == proposed


@seeded
@given(texts, texts)
def test_rebase_of_nothing_changes_nothing(base: str, current: str) -> None:
    assert merged(base, base, current) == current


@seeded
@given(texts, texts)
def test_rebase_onto_the_proposed_text_changes_nothing(base: str, proposed: str) -> None:
    assert all(
        isinstance(item, AlreadyApplied)
        for item in rebase_hunks(
            split_lines(base), line_hunks(split_lines(base), split_lines(proposed)), split_lines(proposed)
        )
    )


@seeded
@given(versions(), st.data())
def test_accepting_some_hunks_and_rebasing_the_rest_never_conflicts(
    proposed: list[str], data: st.DataObject
) -> None:
    hunks = line_hunks(NUMBERED, proposed)
    kept = [hunk for hunk in hunks if data.draw(st.booleans())]
    rest = [hunk for hunk in hunks if hunk not in kept]
    current = apply_hunks(NUMBERED, kept)
    rebased = rebase_hunks(NUMBERED, rest, current)
    assert not [item for item in rebased if isinstance(item, Conflict)]
    assert apply_hunks(current, list_placed(rebased)) == proposed


@pytest.mark.req("H6")
@seeded
@given(versions(), versions())
def test_rebase_agrees_with_git_if_neither_finds_a_conflict(
    tmp_path: Path, proposed: list[str], current: list[str]
) -> None:
    result = rebase(NUMBERED, proposed, current)
    if isinstance(result, Conflicted):
        return
    by_git = git_merge(tmp_path, current, NUMBERED, proposed)
    assert by_git in (None, "".join(result.lines))


@seeded
@given(versions(), versions())
def test_nothing_outside_the_placed_hunks_changes(proposed: list[str], current: list[str]) -> None:
    placed = list_placed(rebase_hunks(NUMBERED, line_hunks(NUMBERED, proposed), current))
    untouched = [
        line for at, line in enumerate(current) if not any(h.base_start <= at < h.base_end for h in placed)
    ]
    result = apply_hunks(current, placed)
    for line in untouched:
        assert line in result or line + "\n" in result


def git_merge(folder: Path, ours: list[str], base: list[str], theirs: list[str]) -> str | None:
    """Return git's merge; None: a conflict."""
    for name, lines in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_text("".join(lines), encoding="utf-8", newline="")
    done = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True, check=False
    )
    return done.stdout.decode() if done.returncode == 0 else None
