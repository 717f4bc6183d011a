"""A line of the process table."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the process table. `started` distinguishes processes with the same pid ("" if unknown).

    Rows of the same process are equal, even if its parent, group or session has changed.
    """

    pid: int
    started: str
    parent: int = field(compare=False)
    group: int = field(compare=False)
    session: int = field(compare=False)
    is_zombie: bool = field(compare=False)
