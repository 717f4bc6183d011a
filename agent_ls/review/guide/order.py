"""Put hunks into an order in which they can be read: definitions before uses, tests after code."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from agent_ls.review.guide.code import definitions, family, is_test, words
from agent_ls.review.guide.values import GuidedHunk

MOST_EDGES = 200_000
"""With more uses than this, the order of writing is kept: nobody reads so much by its definitions."""


def reading_order(hunks: Sequence[GuidedHunk]) -> list[GuidedHunk]:
    """Return the hunks in reading order. A circle of uses is read in the order in which it was written."""
    code = [hunk for hunk in hunks if not is_test(hunk.path)]
    tests = [hunk for hunk in hunks if is_test(hunk.path)]
    return [*_by_uses(code), *_by_uses(tests)]


def _by_uses(hunks: Sequence[GuidedHunk]) -> list[GuidedHunk]:
    ordered = sorted(hunks, key=lambda hunk: (hunk.number, hunk.path, hunk.start, hunk.id))
    users, open_uses = _uses(ordered)
    ready = [at for at, count in enumerate(open_uses) if not count]
    heapify(ready)
    waiting = dict.fromkeys(at for at, count in enumerate(open_uses) if count)
    result: list[GuidedHunk] = []
    while ready or waiting:
        if ready:
            at = heappop(ready)
        else:  # a circle: take what was written first
            at = next(iter(waiting))
            del waiting[at]
        result.append(ordered[at])
        for user in users[at]:
            open_uses[user] -= 1
            if not open_uses[user] and user in waiting:
                del waiting[user]
                heappush(ready, user)
    return result


def _uses(ordered: Sequence[GuidedHunk]) -> tuple[list[list[int]], list[int]]:
    """Return the hunks that use what each hunk defines, and how many hunks each hunk uses."""
    definers: dict[tuple[object, str], list[int]] = {}
    own: list[set[str]] = []
    for at, hunk in enumerate(ordered):
        names = {found.name for found in definitions(hunk.path, hunk.new)}
        own.append(names)
        for name in names:
            definers.setdefault((family(hunk.path), name), []).append(at)
    users: list[list[int]] = [[] for _ in ordered]
    counts = [0] * len(ordered)
    edges = 0
    for at, hunk in enumerate(ordered):
        group = family(hunk.path)
        known = (definers.get((group, word), []) for word in words(hunk.new) - own[at])
        for definer in {found for places in known for found in places} - {at}:
            users[definer].append(at)
            counts[at] += 1
            edges += 1
        if edges > MOST_EDGES:
            return [[] for _ in ordered], [0] * len(ordered)
    return users, counts
