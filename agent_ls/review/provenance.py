"""Pure: tell who wrote each line of a file, from the contents before and after the agent's writes.

Only contents are compared, so it does not matter who saved, moved, committed or checked out the file in between.
A line keeps its author while its text stays the same: also when it moves within one change, and when a content
that was there before comes back, as after an undo or a `git checkout`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.patch.line_diff import equal_blocks

USER = -1
"""The author of a line that no recorded write has written."""
UNKNOWN = -2
"""The author of a line that came when contents are not recorded."""

Author: TypeAlias = int
"""The index of the write that wrote a line, or USER or UNKNOWN."""


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
    return history.authors


class _History:
    """The authors of the lines of the newest known content, and what is known of earlier ones."""

    def __init__(self) -> None:
        self.authors: list[Author] = []
        self._lines: Sequence[str] | None = None  # None: there was no content yet
        self._is_lost = False
        self._earlier: dict[tuple[str, ...], list[Author]] = {}
        self._beside: dict[tuple[str, str, int], Author] = {}
        """Removed lines with the line before (1) or after (0) them."""
        self._only: dict[str, Author | None] = {}
        """Removed lines that were the only ones with their text; None after another one."""

    def move_to(self, lines: Sequence[str] | None, author: Author) -> None:
        """Follow a change to `lines`. Its new lines are by `author`, or unknown if a content was lost before."""
        if lines is None:
            self._is_lost = True
            return
        if self._lines is None:
            self.authors = [UNKNOWN if self._is_lost else USER] * len(lines)
        elif lines is not self._lines and lines != self._lines:
            new = UNKNOWN if self._is_lost and author == USER else author
            # Text that comes back keeps its author, unless the agent writes it: then it is the agent's again.
            back = self._earlier.get(tuple(lines)) if author == USER else None
            carried = self._carry(self._lines, lines, new)
            self.authors = list(back) if back else carried
        self._is_lost = False
        self._lines = lines
        self._earlier[tuple(lines)] = self.authors

    def _carry(self, old: Sequence[str], new: Sequence[str], author: Author) -> list[Author]:
        found: list[Author | None] = [None] * len(new)
        is_kept = bytearray(len(old))
        for block in equal_blocks(old, new):
            found[block.new : block.new + block.length] = self.authors[block.old : block.old + block.length]
            is_kept[block.old : block.old + block.length] = b"\1" * block.length
        removed = [at for at, kept in enumerate(is_kept) if not kept and old[at].strip()]
        moved: dict[str, list[Author]] = {}
        for at in removed:
            moved.setdefault(old[at], []).append(self.authors[at])
        added = [at for at, whose in enumerate(found) if whose is None and new[at].strip()]
        for at in added:
            if left := moved.get(new[at]):
                found[at] = left.pop(0)
            elif author == USER:
                found[at] = self._whose_it_was(new, at)
        self._remember_removed(old, removed)
        return [author if whose is None else whose for whose in found]

    def _whose_it_was(self, new: Sequence[str], at: int) -> Author | None:
        """Return the author of an earlier line with this text, if it was beside one of the same neighbours or was
        the only one with its text.
        """
        before, after = new[at - 1] if at else "", new[at + 1] if at + 1 < len(new) else ""
        for key in ((before, new[at], 1), (new[at], after, 0)):
            if (whose := self._beside.get(key)) is not None:
                return whose
        return self._only.get(new[at])

    def _remember_removed(self, old: Sequence[str], removed: Sequence[int]) -> None:
        counts = Counter(old) if removed else Counter[str]()
        for at in removed:
            line, whose = old[at], self.authors[at]
            self._beside[(old[at - 1] if at else "", line, 1)] = whose
            self._beside[(line, old[at + 1] if at + 1 < len(old) else "", 0)] = whose
            is_only = counts[line] == 1 and self._only.get(line, whose) == whose
            self._only[line] = whose if is_only else None
