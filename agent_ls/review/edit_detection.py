"""Decide whether a document contains the edit that the server sent ("our edit"). Compares only texts.

An observed text may contain our edit, the user's typing, or both (Neovim joins 150 ms of changes into one).
There are two explanations: the user changed `expected` into `observed` (our edit is present), or changed
`old` into `observed` (it is absent). Each is checked at every position that our edit changes, character by
character:

- The edit can be present only if `observed` contains all characters that the edit adds. They may be unchanged, have
  the user's typing directly at either end, or have one insertion inside. At a position where the edit only removes
  characters, the user must not have typed any of these characters.
- The edit can be absent only if `observed` contains all characters that the edit removes. The same insertions are
  allowed.

An editor may also apply the edit at a wrong position, because the user's typing has moved the lines. Then
the text still has lines that the edit removes, or has the added characters at another position.

If only one explanation is possible, it is the result. If both are possible, the result is the explanation with
less typing by the user, provided that the difference is nearly the size of our edit. Otherwise the result is
undetermined: the user typed over the edit, or the editor applied only a part of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, takewhile
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.line_diff import line_hunks
from agent_ls.patch.splice import common_head, common_tail, text_hunks, text_splice
from agent_ls.text import normalize_line_endings, split_lines

_CLEAR = 0.8  # minimum difference in typing between the two explanations, as a share of the size of our edit
_REST_MIN = 8  # a removed text of this many characters does not reappear by chance
_REST_NEAR_MIN = 4  # the limit for a removed text that reappears within about one line of the edit
_NEAR_CHARS = 80
# `_has_removed` compares by characters up to this product of the number of changes in the edit and the number of typed
# changes, and by lines above it.
_PAIRS_MAX = 2_000
# `_longest_common` compares by characters up to this product of the lengths of both texts, and by lines above it,
# because difflib would take too long.
_EXACT_MAX = 250_000


@dataclass(frozen=True, slots=True)
class Present:
    """The observed text contains our edit. `ours` is the old text with only our edit.

    The user typed the difference between `ours` and the observed text. `ours` equals the expected text, except
    for line endings that an editor adapts.
    """

    ours: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The edit is not at its position, so everything that changed since `old` was typed by the user.

    `is_elsewhere`: the text has more occurrences of the added characters than before. The user may have typed
    them, or the editor applied the edit at a wrong position.
    """

    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Undetermined:
    """The text may contain the edit or a part of it; the texts alone are not enough to decide."""


EditDetection: TypeAlias = Present | Absent | Undetermined


@dataclass(frozen=True, slots=True)
class _Change:
    """Characters [start, start + len(removed)) of a text are replaced by `added`."""

    start: int
    removed: str
    added: str

    @property
    def end(self) -> int:
        return self.start + len(self.removed)


def detect_edit(old: str, expected: str, observed: str) -> EditDetection:
    """Return whether `observed` contains the edit from `old` to `expected`. These two texts must differ.

    If the user made the same change as our edit, the change counts as our edit. A text equal to `old` is
    `Absent`, even if the user undid the edit before the text was observed.
    """
    if observed == expected:
        return Present(expected)
    if observed == old:
        return Absent()
    # Editors convert inserted lines to the document's line ending, and some add one to the last line.
    if normalize_line_endings(observed) == normalize_line_endings(expected) != normalize_line_endings(old):
        return Present(observed)
    edit, typed_after, typed_instead = (
        list(_changes(*texts)) for texts in ((old, expected), (expected, observed), (old, observed))
    )
    can_be_present = all(_has_added(change, typed_after) for change in _invert(edit))
    can_be_absent = all(_is_undone(change, typed_instead) for change in edit)
    if can_be_present and can_be_absent:
        # The two directions can align moved lines differently, so take the smaller size.
        size = min(_cost(edit), _cost(list(_changes(expected, old))))
        difference = _cost(typed_instead) - _cost(typed_after)
        can_be_present, can_be_absent = difference >= _CLEAR * size, difference <= -_CLEAR * size
    if can_be_present and not _has_removed(edit, typed_after):
        return Present(expected)
    if not can_be_absent:
        return Undetermined()
    return Absent(is_elsewhere=any(_is_more_often(change.added, observed, old) for change in edit))


def apply_ignoring_versions(old: str, expected: str, observed: str) -> str | None:
    """Return the text that an editor makes from `observed` if it applies the edit without checking versions.

    The edit from `old` to `expected` then overwrites what the user typed in the same lines. Return None if the
    user's typing has merged two positions of the edit into one.
    """
    typing = text_hunks(old, observed)
    lines = split_lines(observed)
    spans: list[tuple[int, int, tuple[str, ...]]] = []
    for run in text_hunks(old, expected):
        start, end = _locate_run(run, typing)
        if spans and start < spans[-1][1]:
            return None
        spans.append((start, end, run.added))
    for start, end, added in reversed(spans):
        lines[start:end] = added
    return "".join(lines)


def _locate_run(run: LineHunk, typing: Sequence[LineHunk]) -> tuple[int, int]:
    """Return the lines [start, end) of the observed text that correspond to the old lines of `run`."""
    start, end = run.base_start, run.base_end
    before = growth = 0
    for typed in typing:
        if typed.base_end <= run.base_start and typed.base_start < max(run.base_start, run.base_end):
            before += len(typed.added) - len(typed.removed)
        elif typed.base_start < run.base_end:
            start, end = min(start, typed.base_start), max(end, typed.base_end)
            growth += len(typed.added) - len(typed.removed)
    return start + before, end + before + growth


def _changes(a: str, b: str) -> Iterator[_Change]:
    """Yield one change from `a` to `b` for each block of changed lines, without the equal characters at its
    start and end.
    """
    splice = text_splice(a, b)
    removed = split_lines(splice.removed)
    line, at = 0, splice.start
    for run in line_hunks(removed, split_lines(splice.added)):
        at += sum(map(len, removed[line : run.base_start]))
        line = run.base_start
        yield _narrow(at, "".join(run.removed), "".join(run.added))


def _narrow(start: int, removed: str, added: str) -> _Change:
    most = min(len(removed), len(added))
    head = common_head(removed, added, most)
    tail = common_tail(removed, added, most - head)
    return _Change(start + head, removed[head : len(removed) - tail], added[head : len(added) - tail])


def _invert(edit: Sequence[_Change]) -> Iterator[_Change]:
    """Yield the changes that undo the edit."""
    shift = 0
    for change in edit:
        yield _Change(change.start + shift, change.added, change.removed)
        shift += len(change.added) - len(change.removed)


def _has_added(change: _Change, typing: Sequence[_Change]) -> bool:
    """Return whether the text contains the characters that the edit added. `change` undoes the edit."""
    for typed in _find_touching(change, typing):
        if not change.removed:
            if not set(typed.added).isdisjoint(change.added):
                return False  # the text in `typed` may be a remaining part of the text that the edit removes
        elif not _is_untouched(change, typed):
            return False
    return True


def _is_undone(change: _Change, typing: Sequence[_Change]) -> bool:
    """Return whether the text has the characters that `change` removes, and lacks the characters that it adds."""
    for typed in _find_touching(change, typing):
        if not change.removed:
            if change.added in typed.added:
                return False
        elif not _is_untouched(change, typed):
            return False
    return True


def _find_touching(change: _Change, typing: Sequence[_Change]) -> Iterator[_Change]:
    first = bisect_left(typing, change.start, key=lambda typed: typed.end)
    return takewhile(lambda typed: typed.start <= change.end, islice(typing, first, None))


def _is_untouched(change: _Change, typed: _Change) -> bool:
    """Return whether the typing removed none of the characters of the change."""
    return typed.end <= change.start or typed.start >= change.end or not typed.removed


def _has_removed(edit: Sequence[_Change], typing: Sequence[_Change]) -> bool:
    """Return whether the text still has a large part of the text that the edit removes.

    In that case the editor applied the edit at a wrong position.
    """
    if len(edit) * len(typing) > _PAIRS_MAX:
        typed_lines = {line for typed in typing for line in split_lines(typed.added) if line.strip()}
        return any(line in typed_lines for change in edit for line in split_lines(change.removed))
    for change, back in zip(edit, _invert(edit), strict=True):
        for typed in typing:
            is_near = typed.start <= back.end + _NEAR_CHARS and typed.end >= back.start - _NEAR_CHARS
            least = _REST_NEAR_MIN if is_near else _REST_MIN
            if _longest_common(change.removed, typed.added) >= least:
                return True
    return False


def _longest_common(a: str, b: str) -> int:
    if len(a) * len(b) > _EXACT_MAX:
        return max((len(line) for line in split_lines(a) if line.strip() and line in b), default=0)
    return SequenceMatcher(None, a, b, autojunk=False).find_longest_match().size


def _is_more_often(part: str, text: str, other: str) -> bool:
    part = part.strip()
    return bool(part) and text.count(part) > other.count(part)


def _cost(changes: Sequence[_Change]) -> int:
    """Return the approximate number of characters that these changes add and remove."""
    return sum(_distance(change.removed, change.added) for change in changes)


def _distance(a: str, b: str) -> int:
    if len(a) * len(b) > _EXACT_MAX or not a or not b:
        return len(a) + len(b)
    common = sum(block.size for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks())
    return len(a) + len(b) - 2 * common
