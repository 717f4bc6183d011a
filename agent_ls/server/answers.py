"""Each request that changes something happens once: the same clientKey again gets the first answer.

The work runs in a task of the server's own, so a client that cancels its request, or sends it twice at once, waits
for the same work and never stops it half way. Answers are kept for the life of the process; after a crash the
session answers from its log (loop/session.py). A failure is not kept: nothing was changed, it may be tried again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from agent_ls.app.errors import NotRunningError
from agent_ls.server.errors import KeyReusedError


@dataclass(slots=True)
class _Entry:
    method: str
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None
    error: Exception | None = None


class Answers:
    def __init__(self, start: Callable[[Callable[[], Awaitable[None]]], None]) -> None:
        self._start = start
        self._entries: dict[tuple[str, str], _Entry] = {}

    async def once(self, scope: str, key: str, method: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """The answer of `work`, or of the work that had this key in this scope before. "" is no key.

        Raises:
            KeyReusedError: the key belongs to a request of another method. NotRunningError: the server ended before it
            was done. And what `work` raises.
        """
        entry = self._entries.get((scope, key)) if key else None
        if entry is None:
            entry = _Entry(method)
            if key:
                self._entries[scope, key] = entry
            self._start(lambda: self._work(entry, scope, key, work))
        elif entry.method != method:
            raise KeyReusedError(method, entry.method)
        await entry.done.wait()
        if entry.error:
            raise entry.error
        return entry.answer

    async def _work(self, entry: _Entry, scope: str, key: str, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            entry.answer = await work()
        except Exception as error:  # handed to all who wait, at the request boundary
            entry.error = error
            self._entries.pop((scope, key), None)
        except BaseException:  # the server is ending: who waits is not told that it is done
            entry.error = NotRunningError()
            raise
        finally:
            entry.done.set()
