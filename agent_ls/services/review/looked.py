"""Remember which hunks the user has looked at. A hunk that was changed since counts as not looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agent_ls.loop.events.types import Hunk
from agent_ls.review.restore import StoredHunk

_Seen: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(slots=True)
class LookedHunks:
    """The text of each hunk when the user looked at it, by hunk id."""

    _seen: dict[str, _Seen] = field(default_factory=dict)

    def note(self, hunks: Iterable[Hunk]) -> None:
        self._seen |= {hunk.id: (hunk.base_lines, hunk.lines) for hunk in hunks}

    def restore(self, stored: Iterable[StoredHunk]) -> None:
        """Remember what the log of a resumed session says."""
        for it in stored:
            if it.is_looked:
                self._seen[it.hunk.id] = (it.hunk.base_lines, it.lines)

    def mark(self, hunk: Hunk) -> Hunk:
        """Return the hunk, marked if the user has looked at exactly this text."""
        if not self._seen or self._seen.get(hunk.id) != (hunk.base_lines, hunk.lines):
            return hunk
        return replace(hunk, looked=True)
