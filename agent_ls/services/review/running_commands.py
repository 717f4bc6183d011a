"""The commands of all sessions of this process that may be changing files now.

While a foreground command runs, changes on disk are not attributed yet; they are recorded when it ends. Changes
by background processes are recorded before any change is attributed to the user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class RunningCommands:
    """Counts running foreground commands, and records changes by background processes."""

    def __init__(self) -> None:
        self._waited_for = 0
        self._background: list[Callable[[], Awaitable[None]]] = []

    @contextmanager
    def mark_running(self) -> Iterator[None]:
        """Mark a foreground command as running, until its changes are recorded."""
        self._waited_for += 1
        try:
            yield
        finally:
            self._waited_for -= 1

    @property
    def is_waited_for(self) -> bool:
        """Whether a foreground command is running, or has ended and its changes are not recorded
        yet.
        """
        return self._waited_for > 0

    @property
    def may_be_changing(self) -> bool:
        """Whether a command, in the foreground or background, may have made changes that are not recorded yet."""
        return self.is_waited_for or bool(self._background)

    def add_background(self, record: Callable[[], Awaitable[None]]) -> None:
        """Register a background process. `record` records the changes that the process has made so far."""
        self._background.append(record)

    def remove_background(self, record: Callable[[], Awaitable[None]]) -> None:
        self._background.remove(record)

    async def record_background_changes(self) -> None:
        """Record the changes that background processes have made so far."""
        for record in dict.fromkeys(self._background):
            await record()
