"""A file as it was before changes of an agent, with what others wrote since: changes are taken back, never copied over.

It does not know which changes are meant, nor that files exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.rebase import Conflicted, rebase
from agent_ls.text import decode, encode, looks_binary, split_lines

DELETED_SINCE = "it was deleted since"
MADE_AGAIN = "it was made anew since"
CHANGED_SINCE = "it was changed since, and cannot be put together with what it was"
LINES_CHANGED_SINCE = "lines that the agent changed were changed since"
NOT_KEPT = "what it held then is not kept"


@dataclass(frozen=True, slots=True)
class Side:
    """A content by its name (a hash), "" for no file. `data` None: there is no file, or the content was not kept."""

    name: str
    data: bytes | None

    @property
    def is_kept(self) -> bool:
        return self.data is not None or not self.name

    def is_same(self, other: Side) -> bool:
        return self.name == other.name or (self.data is not None and self.data == other.data)


@dataclass(frozen=True, slots=True)
class Step:
    """One change of an agent."""

    before: Side
    after: Side


@dataclass(frozen=True, slots=True)
class ClashAt:
    """Lines [start, end) of the current text, from 0."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rewound:
    """The content that the file is to have, None: it is to be deleted."""

    content: bytes | None


@dataclass(frozen=True, slots=True)
class Clash:
    """What stands there cannot be kept together with what is to come back. `at` may be empty: the whole file.

    `is_lost`: what is to come back is not known.
    """

    reason: str
    at: tuple[ClashAt, ...] = ()
    is_lost: bool = False


def rewind(current: Side, steps: Sequence[Step], *, force: bool = False) -> Rewound | Clash:
    """`steps` in the order in which they were made. With `force` what clashes gives way to what was there before."""
    now = current
    for step in reversed(_joined(steps)):
        back = _taken_back(now, step)
        if isinstance(back, Clash) and force and step.before.is_kept:
            back = step.before
        if isinstance(back, Clash):
            return back if now is current else replace(back, at=())
        now = back
    return Rewound(now.data) if now.is_kept else Clash(NOT_KEPT, is_lost=True)


def _joined(steps: Sequence[Step]) -> list[Step]:
    """Changes that nobody came between are one."""
    joined: list[Step] = []
    for step in steps:
        if joined and joined[-1].after.is_same(step.before):
            joined[-1] = Step(joined[-1].before, step.after)
        else:
            joined.append(step)
    return joined


def _taken_back(now: Side, step: Step) -> Side | Clash:
    if now.is_same(step.after) or now.is_same(step.before):
        return step.before
    if not step.before.is_kept or not step.after.is_kept:
        return Clash(NOT_KEPT, is_lost=True)
    if now.data is None:
        return Clash(DELETED_SINCE)
    if step.after.data is None:
        return Clash(MADE_AGAIN)
    if looks_binary(now.data) or looks_binary(step.after.data):
        return Clash(CHANGED_SINCE)
    if step.before.data is None:
        return step.before if _text(now.data) == _text(step.after.data) else Clash(CHANGED_SINCE)
    if looks_binary(step.before.data):
        return Clash(CHANGED_SINCE)
    return _merged(now.data, step.before.data, step.after.data)


def _merged(now: bytes, before: bytes, after: bytes) -> Side | Clash:
    merged = rebase(split_lines(_text(after)), split_lines(_text(before)), split_lines(_text(now)))
    if isinstance(merged, Conflicted):
        at = tuple(ClashAt(it.start, it.end, it.reason) for it in merged.conflicts)
        return Clash(LINES_CHANGED_SINCE, at)
    written_as = replace(decode(now), text="".join(merged.lines))
    return Side("(merged)", encode(written_as))


def _text(data: bytes) -> str:
    return decode(data).text
