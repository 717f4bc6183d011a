"""A placed chunk -> what it does to the lines of a file, run by run (SEMANTICS 1.5, 3.4, D4, D9).

Context lines are never touched, also when they matched loosely: only removed lines go, only added lines come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.patch.indent import evidence, shifted
from agent_ls.patch.matching import FileLines
from agent_ls.patch.placing import Spot
from agent_ls.patch.typography import keep_spelling
from agent_ls.patch.v4a_parser import PatchLine

LOOSE_LEVEL = 3  # from here on leading blanks may differ
TYPOGRAPHY_LEVEL = 4


@dataclass(frozen=True, slots=True)
class Run:
    """File lines [start, end) give way to `added` (texts). `without_ending`: the last one is to have none (R5)."""

    start: int
    end: int
    added: tuple[str, ...]
    without_ending: bool = False


@dataclass(slots=True)
class _OpenRun:
    start: int
    removed: list[tuple[str, str]]
    added: list[PatchLine]


def runs(spot: Spot, file: FileLines) -> list[Run]:
    """The runs of one chunk, in file order."""
    context, open_runs = _walk(spot, file)
    return [_closed(run, context, spot.level) for run in open_runs]


def overlap(all_runs: Sequence[Run]) -> Run | None:
    """The first run that begins before the one before it ended; `all_runs` are in the order of `in_file_order`."""
    furthest = 0
    for run in all_runs:
        if run.start < furthest:
            return run
        furthest = run.end
    return None


def in_file_order(all_runs: Sequence[Run]) -> list[Run]:
    """Sorted by place; insertions before a line precede its replacement, those at one place keep their order."""
    return sorted(all_runs, key=lambda run: (run.start, run.end))


def _walk(spot: Spot, file: FileLines) -> tuple[list[tuple[str, str]], list[_OpenRun]]:
    """Pairs (patch line, file line) of the context, and the runs between context lines."""
    context: list[tuple[str, str]] = []
    found: list[_OpenRun] = []
    current: _OpenRun | None = None
    at = spot.start
    for line in spot.lines:
        if line.sign == " ":
            context.append((line.text, file.text(at)))
            current = None
        else:
            if current is None:
                current = _OpenRun(at, [], [])
                found.append(current)
            if line.sign == "-":
                current.removed.append((line.text, file.text(at)))
            else:
                current.added.append(line)
        at += line.sign != "+"
    return context, found


def _closed(run: _OpenRun, context: Sequence[tuple[str, str]], level: int) -> Run:
    texts = [line.text for line in run.added]
    if level == TYPOGRAPHY_LEVEL and len(run.removed) == len(texts):
        texts = [keep_spelling(*pair, added) for pair, added in zip(run.removed, texts, strict=True)]
    if level >= LOOSE_LEVEL:
        seen = evidence(run.removed or context)
        texts = shifted(texts, seen, from_context=not run.removed)
    without_ending = bool(run.added) and run.added[-1].without_ending
    return Run(run.start, run.start + len(run.removed), tuple(texts), without_ending)
