"""Does a document's text contain the edit that we sent? Knows only texts: no versions, no answers, no editor.

An observed text may hold our edit, the user's typing, or both at once (Neovim joins 150 ms of changes into one).
Two stories compete: the user changed `expected` into `observed` (our edit is in it), or changed `old` into it (it
is not). Two kinds of evidence must not contradict each other:

- Lines. At each place where we changed something, the story in which the user left that place alone, while he did
  not in the other, has this place's vote. An edit is applied whole or not at all, so one vote is enough.
- Characters. Each story costs as many as the user must have added and removed. Where his changes leave our text
  alone the costs differ by exactly the size of our edit; the more he touched it, the less they differ. Without
  any vote (he was at all our places) the difference must be nearly that.

Else it is unclear. That is no harm: a later text may be clearer, and an edit of unknown fate is told as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TypeAlias

from agent_ls.patch.hunks import LineHunk
from agent_ls.patch.lines import line_hunks
from agent_ls.patch.splice import text_splice
from agent_ls.text import line_count, split_lines

_CLEAR = 0.8  # of the size of our edit; the rest is for a user who deletes a little of what we wrote
_EXACT_MAX = 250_000  # product of lengths; beyond it difflib costs more than the precision is worth


@dataclass(frozen=True, slots=True)
class Present:
    """Our edit is in the text. `ours` is the text with our edit and nothing else: the user's part is the

    difference from `ours` to the observed text. It is `expected`, but for what an editor does to line ends.
    """

    ours: str


@dataclass(frozen=True, slots=True)
class Absent:
    """Our edit is not in the text: all that changed since `old` is the user's."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """The user changed what we changed: it may or may not be there, and nothing may be built on either."""


Evidence: TypeAlias = Present | Absent | Unclear


def evidence(old: str, expected: str, observed: str) -> Evidence:
    """What `observed` tells of the edit from `old` to `expected`, which differ.

    A change that our edit and the user would have made alike counts as ours. A text without our edit and without
    any other change is `Absent`: an edit that was undone before it was seen looks the same.
    """
    if observed == expected:
        return Present(expected)
    if observed == old:
        return Absent()
    # Editors give inserted lines the line end of the document, and some end the last line.
    if _folded(observed) == _folded(expected) != _folded(old):
        return Present(observed)
    edit, typed_after, typed_instead = _runs(old, expected), _runs(expected, observed), _runs(old, observed)
    difference = _cost(typed_instead) - _cost(typed_after)
    votes = _votes(edit, typed_after, typed_instead)
    enough = 1 if votes else _CLEAR * _cost(edit)
    if difference >= enough and not votes & {"absent"}:
        return Present(expected)
    return Absent() if difference <= -enough and not votes & {"present"} else Unclear()


def _runs(a: str, b: str) -> list[LineHunk]:
    """What leads from `a` to `b`, in lines of `a`."""
    splice = text_splice(a, b)
    first = line_count(a[: splice.start])
    return [
        replace(run, base_start=first + run.base_start, base_end=first + run.base_end)
        for run in line_hunks(split_lines(splice.removed), split_lines(splice.added))
    ]


def _votes(
    edit: Sequence[LineHunk], typed_after: Sequence[LineHunk], typed_instead: Sequence[LineHunk]
) -> set[str]:
    votes = set()
    shift = 0
    for run in edit:
        start = run.base_start + shift
        shift += len(run.added) - len(run.removed)
        ours_spared = _spares(typed_after, start, start + len(run.added))
        if ours_spared != _spares(typed_instead, run.base_start, run.base_end):
            votes.add("present" if ours_spared else "absent")
    return votes


def _spares(typing: Sequence[LineHunk], start: int, end: int) -> bool:
    """True when the typing changes none of these lines; nothing at that place, where there are none."""
    if start == end:
        return not any(run.base_start <= start <= run.base_end for run in typing)
    return not any(run.base_start < end and run.base_end > start for run in typing)


def _cost(runs: Sequence[LineHunk]) -> int:
    """About how many characters these runs add and remove."""
    return sum(_distance("".join(run.removed), "".join(run.added)) for run in runs)


def _distance(a: str, b: str) -> int:
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    a, b = a[head:], b[head:]
    tail = 0
    while tail < min(len(a), len(b)) and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    a, b = a[: len(a) - tail], b[: len(b) - tail]
    if len(a) * len(b) > _EXACT_MAX or not a or not b:
        return len(a) + len(b)
    common = sum(block.size for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks())
    return len(a) + len(b) - 2 * common


def _folded(text: str) -> str:
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return folded.removesuffix("\n")
