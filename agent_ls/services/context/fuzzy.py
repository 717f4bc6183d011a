"""Pure: fuzzy search in paths.

A path matches if it contains the letters of the query in the same order. A match in the file name ranks before a
match in a folder name, adjacent letters before scattered letters, and the beginning of a word before its middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import nsmallest

from agent_ls.patterns import regex

_WORD_START = regex(r"(?:^|[^0-9A-Za-z])[0-9A-Za-z]|(?<=[a-z0-9])[A-Z]")

MAX_APART = 20_000
"""Maximum number of paths with scattered letters to rank, shortest first, because ranking is slow."""

Rank = tuple[int, bool, int, str]


def find_best_matches(query: str, paths: Iterable[str], limit: int, first: Sequence[str] = ()) -> list[str]:
    """Return at most `limit` matching paths, best first.

    Among equal matches, paths in `first` precede others, then shorter ones precede longer ones. A path that ends with
    `/` is a folder. Paths in which the letters are scattered are ranked only if too few paths contain the
    letters in sequence.
    """
    letters = "".join(query.split()).lower()
    preferred = frozenset(first)
    rank = partial(_rank, letters, preferred)
    together: list[str] = []
    others: list[str] = []
    for path in paths:
        (together if letters in path.lower() else others).append(path)
    found = nsmallest(limit, together, key=rank)
    if len(found) < limit:
        fits = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in letters)).match
        fitting = (path for path in others if fits(path.lower()))
        apart = nsmallest(MAX_APART, fitting, key=lambda path: (path not in preferred, len(path)))
        found += nsmallest(limit - len(found), apart, key=rank)
    return found


def _rank(letters: str, first: frozenset[str], path: str) -> Rank:
    return _distance(letters, path), path not in first, len(path), path


def _distance(letters: str, path: str) -> int:
    """Return how well a path matches: 0 is best, larger is worse."""
    if not letters:
        return 0
    low = path.lower()
    name = low.rstrip("/").rpartition("/")[2]
    at = name.find(letters)
    if at == 0:
        return 0 if letters in (name, name.partition(".")[0]) else 1
    if at > 0:
        return 2 if not name[at - 1].isalnum() else 3
    at = low.find(letters)
    if at >= 0:
        return 4 if at == 0 or not low[at - 1].isalnum() else 5
    initials = "".join(found[-1] for found in _WORD_START.findall(path)).lower()
    if letters in initials:
        return 6
    return 7 if _has_in_order(letters, name) else 8


def _has_in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)
