"""Send the client the positions of a file's open hunks, shortly after its text has changed.

Session events report new hunks and changes of their state. A line typed above a hunk changes only its
position. While the user types, the client moves its own hunk highlights. These messages then set the highlights
to the positions in the review ledger.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from agent_ls.background import TaskStarter
from agent_ls.server import protocol as wire
from agent_ls.server.rpc import to_wire

SEND_DELAY_S = 0.2


class MovedHunks:
    """Sends hunk positions. `find` returns the open hunks of a file; None if the file has no open hunks, or
    if the ledger does not have the document's text yet. `read` makes the ledger read a file.

    Sends at most one message per file per `SEND_DELAY_S`. After each change, a message with the new positions
    follows.
    """

    def __init__(
        self,
        find: Callable[[str], wire.FileHunks | None],
        *,
        send: Callable[[str, bytes], None],
        start: TaskStarter,
        read: Callable[[str], Awaitable[None]],
    ) -> None:
        self._find = find
        self._send = send
        self._start = start
        self._read = read
        self._waiting: set[str] = set()
        self._unread: set[str] = set()

    def handle_change(self, path: str) -> None:
        """Handle a change of this file's text, which may have moved hunks."""
        if path not in self._waiting:
            self._waiting.add(path)
            self._start(partial(self._send_later, path))

    def handle_notebook_change(self, path: str) -> None:
        """Handle a change of this notebook in the editor: read it, then send where its hunks are in the cells."""
        self._unread.add(path)
        self.handle_change(path)

    async def _send_later(self, path: str) -> None:
        await anyio.sleep(SEND_DELAY_S)
        try:
            while path in self._unread:
                self._unread.discard(path)
                await self._read(path)
        finally:
            self._waiting.discard(path)
        if found := self._find(path):
            self._send(wire.MOVED_METHOD, to_wire.encode_result(found))
