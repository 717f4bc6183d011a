"""ADAPTER NoticeBoard: what the model is to be told at the next safe boundary, in the order in which it came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio.lowlevel


class Notices:
    """`record` puts a notice into the log; `waiting` are those that a log holds and the model has not been told."""

    def __init__(self, record: Callable[[str], None], waiting: Sequence[str] = ()) -> None:
        self._record = record
        self._waiting = list(waiting)
        self.look_for: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """What `look` does: nothing, until there is something to look for."""

    async def look(self) -> None:
        await self.look_for()

    def post(self, text: str) -> None:
        self._record(text)
        self._waiting.append(text)

    def take(self) -> Sequence[str]:
        taken, self._waiting = self._waiting, []
        return taken
