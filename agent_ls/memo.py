"""Memoise a pure function over the last few large inputs."""

from __future__ import annotations

from collections.abc import Callable, Sized
from operator import eq
from typing import Generic, TypeVar

V = TypeVar("V", bound=Sized)
R = TypeVar("R")

MAX_ENTRIES = 4
"""The number of inputs whose results are stored. A patch often needs old and new contents of two files."""


class Memo(Generic[V, R]):
    """A function that calls `compute` and stores the results of the last few inputs. Thread-safe.

    Inputs must be immutable. By default, inputs are compared with `==`, which is much faster than `compute`; a
    file that is read twice is therefore hashed once. With `alike=operator.is_`, only the same object counts as
    equal. Results of inputs whose `size` is less than `least` are not stored. The total size of the stored
    inputs is at most `most`.
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
                # Replace the stored equal object by this one, because callers usually pass this one again.
                self._known = tuple((value if kept is other else kept, found) for kept, found in known)
                return result
        result = self._compute(value)
        self._remember(value, result)
        return result

    def store(self, value: V, result: R) -> None:
        """Store the result of an input that the caller already knows. `result` must equal `compute(value)`."""
        if self._least <= self._size(value) <= self._most and all(
            other is not value for other, _ in self._known
        ):
            self._remember(value, result)

    def _remember(self, value: V, result: R) -> None:
        size = self._size(value)
        kept = [(value, result)]
        for pair in self._known[: MAX_ENTRIES - 1]:
            size += self._size(pair[0])
            if size > self._most:
                break
            kept.append(pair)
        self._known = tuple(
            kept
        )  # a single assignment, so that other threads see either the old entries or these
