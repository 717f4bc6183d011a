"""Build the rows of a guided review: reading order, groups of mechanical changes, marks, states."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from posixpath import basename

from agent_ls.review.guide.marks import marks_of, merge_marks
from agent_ls.review.guide.mechanical import FEWEST, NameChange, find_rename, is_generated, is_white_space
from agent_ls.review.guide.order import reading_order
from agent_ls.review.guide.values import GuidedHunk, LookState, ProjectFacts, ReviewRow, RowKind

NOTHING = ProjectFacts()
"""No facts: all marks that need a file or the project are unknown."""


def guide(hunks: Sequence[GuidedHunk], facts: ProjectFacts = NOTHING) -> list[ReviewRow]:
    """Return the rows in the order in which to read them. Each hunk is in exactly one row."""
    generated = [hunk for of_file in _by_path(hunks) if _is_generated(of_file, facts) for hunk in of_file]
    written = _without(hunks, generated)
    renames = _large_renames(written)
    rest = _without(written, [hunk for group in renames.values() for hunk in group])
    spaces = [hunk for hunk in rest if is_white_space(hunk)]
    spaces = spaces if len(spaces) >= FEWEST else []
    rows = [_row("change", "", [hunk], facts) for hunk in reading_order(_without(rest, spaces))]
    for (was, now), group in renames.items():
        places = sum(_rename(hunk).places for hunk in group)
        rows.append(_row("renames", f"{places} renames of `{was}` to `{now}`", group, facts))
    if spaces:
        rows.append(_row("whiteSpace", f"{len(spaces)} changes of white space", spaces, facts))
    return [*rows, *_generated_rows(generated, facts)]


def state_of(states: Sequence[LookState]) -> LookState:
    """Return the state of a row: what is still to do comes first."""
    for state in ("notLooked", "looked"):
        if state in states:
            return state
    return "kept" if "kept" in states else "undone"


def _row(kind: RowKind, title: str, hunks: Sequence[GuidedHunk], facts: ProjectFacts) -> ReviewRow:
    ordered = sorted(hunks, key=lambda hunk: (hunk.path, hunk.start, hunk.id))
    return ReviewRow(
        kind,
        title,
        tuple(hunk.id for hunk in ordered),
        state_of([hunk.state for hunk in ordered]),
        merge_marks([marks_of(hunk, facts) for hunk in ordered]),
    )


def _large_renames(hunks: Sequence[GuidedHunk]) -> dict[tuple[str, str], list[GuidedHunk]]:
    found: dict[tuple[str, str], list[GuidedHunk]] = {}
    for hunk in sorted(hunks, key=lambda hunk: (hunk.number, hunk.path, hunk.start)):
        if rename := find_rename(hunk):
            found.setdefault((rename.old, rename.new), []).append(hunk)
    return {names: group for names, group in found.items() if len(group) >= FEWEST}


def _rename(hunk: GuidedHunk) -> NameChange:
    found = find_rename(hunk)
    assert found is not None
    return found


def _by_path(hunks: Sequence[GuidedHunk]) -> Collection[Sequence[GuidedHunk]]:
    found: dict[str, list[GuidedHunk]] = {}
    for hunk in hunks:
        found.setdefault(hunk.path, []).append(hunk)
    return found.values()


def _is_generated(of_file: Sequence[GuidedHunk], facts: ProjectFacts) -> bool:
    path = of_file[0].path
    return is_generated(path, facts.of(path).lines, of_file)


def _generated_rows(hunks: Sequence[GuidedHunk], facts: ProjectFacts) -> Iterator[ReviewRow]:
    for group in sorted(_by_path(hunks), key=lambda group: group[0].path):
        path = group[0].path
        count = f"{len(group)} change{'s' * (len(group) > 1)}"
        yield _row("generated", f"generated: {basename(path)}, {count}", group, facts)


def _without(hunks: Sequence[GuidedHunk], others: Sequence[GuidedHunk]) -> list[GuidedHunk]:
    ids = {hunk.id for hunk in others}
    return [hunk for hunk in hunks if hunk.id not in ids]
