"""Pure: tell who wrote each line of a file, from the contents before and after the agent's writes.

Only contents are compared, so it does not matter who saved, moved, committed or checked out the file in between.
A line keeps its author while its text stays the same: also when it moves within one change, and when a content
that was there before comes back, as after an undo or a `git checkout`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.patch.line_diff import MatchingBlock, equal_blocks

USER = -1
"""The author of a line that no recorded write has written."""
UNKNOWN = -2
"""The author of a line that came when contents are not recorded."""

Author: TypeAlias = int
"""The index of the write that wrote a line, or USER or UNKNOWN."""


class SharedLines(list[str]):
    """Lines of a content that are known to begin and end with the same lines as another content."""

    other: SharedLines | None = None
    head: int = 0
    """The number of lines that both begin with."""
    tail: int = 0
    """The number of lines that both end with."""

    def replaced(self, start: int, end: int, middle: Sequence[str]) -> SharedLines:
        """Return a copy with `middle` in place of the lines from start to end."""
        lines = SharedLines(self)
        lines[start:end] = middle
        lines.other, lines.head, lines.tail = self, start, len(self) - end
        return lines


@dataclass(frozen=True, slots=True)
class WrittenText:
    """The lines of a file before and after one write; None if that content was not recorded.

    A file that does not exist has no lines. `is_restoring`: the write only brings back earlier text, as an undo
    does, so new lines in it are not the agent's.
    """

    before: Sequence[str] | None
    after: Sequence[str] | None
    is_restoring: bool = False


def authors(writes: Iterable[WrittenText], current: Sequence[str]) -> list[Author]:
    """Return the author of each line of `current`. `writes` are all writes of the agent to the file, oldest first."""
    history = _History()
    for number, write in enumerate(writes):
        history.move_to(write.before, USER)
        history.move_to(write.after, USER if write.is_restoring else number)
    history.move_to(current, USER)
    return history.authors.tolist()


@dataclass(frozen=True, slots=True)
class _Change:
    """The blocks of equal lines of two contents, and the indexes of the lines between them."""

    equal: Sequence[MatchingBlock]
    removed: Sequence[int]
    added: Sequence[int]

    @classmethod
    def between(cls, old: Sequence[str], new: Sequence[str]) -> _Change:
        equal = _equal_blocks(old, new)
        removed: list[int] = []
        added: list[int] = []
        at = to = 0
        for block in (*equal, MatchingBlock(len(old), len(new), 0)):
            removed += range(at, block.old)
            added += range(to, block.new)
            at, to = block.old + block.length, block.new + block.length
        return cls(equal, removed, added)


def _equal_blocks(old: Sequence[str], new: Sequence[str]) -> list[MatchingBlock]:
    head, tail = _shared_ends(old, new)
    old_tail, new_tail = len(old) - tail, len(new) - tail
    between = equal_blocks(old[head:old_tail], new[head:new_tail])
    return [
        MatchingBlock(0, 0, head),
        *(MatchingBlock(head + block.old, head + block.new, block.length) for block in between),
        MatchingBlock(old_tail, new_tail, tail),
    ]


def _shared_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many lines two contents are known to begin and end with in common."""
    for lines, like in ((one, other), (other, one)):
        if isinstance(lines, SharedLines) and lines.other is like:
            return lines.head, lines.tail
    return 0, 0


class _History:
    """The authors of the lines of the newest known content, and what is known of earlier ones.

    A change of a few lines costs few steps in Python, however long the file is.
    """

    def __init__(self) -> None:
        self.authors: array[Author] = array("i")
        self._lines: Sequence[str] | None = None  # None: there was no content yet
        self._is_lost = False
        self._hash = 0
        """The sum of the hashes of the lines: equal for equal contents."""
        self._earlier: dict[int, list[tuple[Sequence[str], array[Author]]]] = {}
        """Contents with their authors, by the sum of their hashes."""
        self._beside: dict[tuple[str, str, int], Author] = {}
        """Removed lines with the line before (1) or after (0) them."""
        self._removed = _RemovedLines()

    def move_to(self, lines: Sequence[str] | None, author: Author) -> None:
        """Follow a change to `lines`. Its new lines are by `author`, or unknown if a content was lost before."""
        if lines is None:
            self._is_lost = True
            return
        if self._lines is None:
            self.authors = array("i", [UNKNOWN if self._is_lost else USER]) * len(lines)
            self._hash = sum(map(hash, lines))
        elif lines is not self._lines and lines != self._lines:
            new = UNKNOWN if self._is_lost and author == USER else author
            change = _Change.between(self._lines, lines)
            self._hash += sum(hash(lines[at]) for at in change.added)
            self._hash -= sum(hash(self._lines[at]) for at in change.removed)
            # Text that comes back keeps its author, unless the agent writes it: then it is the agent's again.
            back = self._authors_of(lines) if author == USER else None
            carried = self._carry(self._lines, lines, change, new)
            self.authors = back or carried
        self._is_lost = False
        self._lines = lines
        self._earlier.setdefault(self._hash, []).append((lines, self.authors))

    def _authors_of(self, lines: Sequence[str]) -> array[Author] | None:
        """Return the authors of the newest earlier content that is equal to `lines`."""
        found = self._earlier.get(self._hash, [])
        return next((whose for content, whose in reversed(found) if content == lines), None)

    def _carry(
        self, old: Sequence[str], new: Sequence[str], change: _Change, author: Author
    ) -> array[Author]:
        found = array("i", [author]) * len(new)
        for block in change.equal:
            found[block.new : block.new + block.length] = self.authors[block.old : block.old + block.length]
        removed = [at for at in change.removed if old[at].strip()]
        moved: dict[str, list[Author]] = {}
        for at in removed:
            moved.setdefault(old[at], []).append(self.authors[at])
        for at in change.added:
            if not new[at].strip():
                continue
            if left := moved.get(new[at]):
                found[at] = left.pop(0)
            elif author == USER and (whose := self._whose_it_was(new, at)) is not None:
                found[at] = whose
        self._remember_removed(old, removed)
        return found

    def _whose_it_was(self, new: Sequence[str], at: int) -> Author | None:
        """Return the author of an earlier line with this text, if it was beside one of the same neighbours or was
        the only one with its text.
        """
        before, after = new[at - 1] if at else "", new[at + 1] if at + 1 < len(new) else ""
        for key in ((before, new[at], 1), (new[at], after, 0)):
            if (whose := self._beside.get(key)) is not None:
                return whose
        return self._removed.only_author(new[at])

    def _remember_removed(self, old: Sequence[str], removed: Sequence[int]) -> None:
        for at in removed:
            line, whose = old[at], self.authors[at]
            self._beside[(old[at - 1] if at else "", line, 1)] = whose
            self._beside[(line, old[at + 1] if at + 1 < len(old) else "", 0)] = whose
            self._removed.add(old, line, whose)


class _RemovedLines:
    """Removed lines, with the contents that they were in. Counts lines only where one of them comes back."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[Sequence[str], Author]]] = {}
        self._counts: dict[int, Counter[str]] = {}

    def add(self, content: Sequence[str], line: str, whose: Author) -> None:
        self._found.setdefault(line, []).append((content, whose))

    def only_author(self, line: str) -> Author | None:
        """Return the author of a line that was never twice in a content; None if there are two authors, or none."""
        found = self._found.get(line, [])
        whose = {author for _, author in found}
        if len(whose) != 1 or any(self._count(content)[line] != 1 for content, _ in found):
            return None
        return whose.pop()

    def _count(self, content: Sequence[str]) -> Counter[str]:
        # The contents are kept in `_found`, so no other object gets the id of one.
        if id(content) not in self._counts:
            self._counts[id(content)] = Counter(content)
        return self._counts[id(content)]
