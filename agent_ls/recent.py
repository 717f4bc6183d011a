"""What a pure function made of the last few large values, so that it is not made again. Knows no file and no clock."""

from __future__ import annotations

from collections.abc import Callable, Sized
from operator import eq
from typing import Generic, TypeVar

V = TypeVar("V", bound=Sized)
R = TypeVar("R")

ENTRIES = 4
"""An edit is about two contents of a file; a patch may be about two files."""


class Recent(Generic[V, R]):
    """`compute`, for who asks it again and again of the same values, which never change.

    By default a value is known again by comparison, which is exact, and where it costs a fraction of what is computed:
    a file that was read twice is hashed once. `alike=operator.is_` knows only the very same object. Values shorter than
    `least` are not remembered, nor more than `most` of all together, as `size` counts. May be called in any thread.
    """

    def __init__(
        self,
        compute: Callable[[V], R],
        *,
        least: int,
        most: int,
        alike: Callable[[V, V], bool] = eq,
        size: Callable[[V], int] = len,
    ) -> None:
        self._compute = compute
        self._alike = alike
        self._size = size
        self._least = least
        self._most = most
        self._known: tuple[tuple[V, R], ...] = ()

    def __call__(self, value: V) -> R:
        if not self._least <= self._size(value) <= self._most:
            return self._compute(value)
        known = self._known
        for other, result in known:
            if other is value:
                return result
        for other, result in known:
            if self._alike(other, value):
                return result
        result = self._compute(value)
        self._remember(value, result)
        return result

    def _remember(self, value: V, result: R) -> None:
        size = self._size(value)
        kept = [(value, result)]
        for pair in self._known[: ENTRIES - 1]:
            size += self._size(pair[0])
            if size > self._most:
                break
            kept.append(pair)
        self._known = tuple(kept)  # one assignment: another thread finds the old ones or these
