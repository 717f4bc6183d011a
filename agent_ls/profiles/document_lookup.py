"""Look up which instruction files exist before they are read, so that most names need no read of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Lookup(Protocol):
    """Looks paths up in one go, for example in one thread on this machine."""

    async def missing(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those paths that certainly do not exist."""
        ...

    async def real_path(self, path: str) -> str:
        """Return the path with links resolved, or the path itself if that is unknown."""
        ...


class _NoLookup:
    """Implements Lookup where nothing is known before a file is read."""

    async def missing(self, paths: Sequence[str]) -> frozenset[str]:
        return frozenset()

    async def real_path(self, path: str) -> str:
        return path


NO_LOOKUP: Lookup = _NoLookup()
