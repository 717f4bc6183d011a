"""The commands of all sessions of this process that change files at this moment.

While one is waited for, what is found changed on disk is taken for nobody's: it is filed when the command ends. What
background processes changed is filed before anything is taken for a change of the user's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class UnderWay:
    def __init__(self) -> None:
        self._waited_for = 0
        self._background: list[Callable[[], Awaitable[None]]] = []

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A command is waited for, until what it changed is filed."""
        self._waited_for += 1
        try:
            yield
        finally:
            self._waited_for -= 1

    @property
    def is_waited_for(self) -> bool:
        return self._waited_for > 0

    def began(self, look: Callable[[], Awaitable[None]]) -> None:
        """A background process runs; `look` files what it has changed by now."""
        self._background.append(look)

    def ended(self, look: Callable[[], Awaitable[None]]) -> None:
        self._background.remove(look)

    async def settle(self) -> None:
        """Files what background processes have changed by now."""
        for look in dict.fromkeys(self._background):
            await look()
