"""A session held at rest: no turn starts while a roll back replaces its files and its conversation."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

import anyio


class Rest:
    """Whether somebody holds a session at rest. `on_end` is called when that has ended."""

    def __init__(self, on_end: Callable[[], object]) -> None:
        self._on_end = on_end
        self._scope: anyio.CancelScope | None = None
        self._ended = anyio.Event()

    @property
    def is_held(self) -> bool:
        return self._scope is not None

    def __enter__(self) -> None:
        """Hold the session during the `with` block. After `stop`, the code after the block runs."""
        self._scope = anyio.CancelScope().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        assert self._scope
        try:
            return bool(self._scope.__exit__(kind, error, traceback))
        finally:
            self._scope = None
            self._ended.set()
            self._ended = anyio.Event()
            self._on_end()

    def stop(self) -> None:
        """Cancel the block, if one runs."""
        if self._scope:
            self._scope.cancel()

    async def wait(self) -> None:
        """Wait until nobody holds the session."""
        while self._scope:
            await self._ended.wait()

    async def end(self) -> None:
        """Cancel the block, and wait until it has recorded what it wrote."""
        while self._scope:
            self._scope.cancel()
            await self._ended.wait()
