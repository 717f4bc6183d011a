"""Run each state-changing request once: a repeated request with the same clientKey gets the first response.

The work runs in a task of the server, not of the request. So a client that cancels its request does not stop
the work half way, and two requests with the same key wait for the same work. Only the last KEPT answers are
stored. The session finds older keys, and keys from before a crash, in its log (loop/session.py). Failures are
not stored: nothing was changed, so the request may be tried again.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from agent_ls.background import TaskStarter
from agent_ls.server.transport.errors import KeyReusedError
from agent_ls.services.errors import NotRunningError
from agent_ls.sessions.live import LiveSession

KEPT = 1000
"""Number of stored answers. Clients repeat a request soon (after a lost answer or a restart of the client) or
never.
"""


@dataclass(slots=True)
class _Entry:
    method: str
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None
    error: Exception | None = None


class RecentAnswers:
    """The answers of recent requests by client key."""

    def __init__(self, start: TaskStarter) -> None:
        self._start = start
        self._entries: dict[tuple[str, str], _Entry] = {}

    @property
    def count(self) -> int:
        """Number of stored answers and running requests."""
        return len(self._entries)

    async def run_once(self, scope: str, key: str, method: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result of `work`, or of the earlier work with the same key in this scope. An empty key
        matches no earlier key.

        Raises:
            KeyReusedError: the key was already used for another method.
            NotRunningError: the server ended before the work was done.
            Exception: any error from `work`.
        """
        entry = self._entries.get((scope, key)) if key else None
        if entry is None:
            entry = _Entry(method)
            if key:
                self._entries[scope, key] = entry
                self._forget_oldest()
            self._start(lambda: self._work(entry, scope, key, work))
        elif entry.method != method:
            raise KeyReusedError(method, entry.method)
        await entry.done.wait()
        if entry.error:
            raise entry.error
        return entry.answer

    def _forget_oldest(self) -> None:
        """Drop the oldest answers. Unfinished work is not dropped, because requests with the same key wait
        for it.
        """
        excess = len(self._entries) - KEPT
        done = (key for key, entry in self._entries.items() if entry.done.is_set())
        for key in list(itertools.islice(done, max(excess, 0))):
            del self._entries[key]

    async def _work(self, entry: _Entry, scope: str, key: str, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            entry.answer = await work()
        except Exception as error:  # the error is raised in all requests that wait for this work
            entry.error = error
            self._entries.pop((scope, key), None)
        except BaseException:  # the work is not done, so waiting requests must not get a result
            entry.error = NotRunningError()
            raise
        finally:
            entry.done.set()


def find_logged(live: LiveSession, kind: str, id_: str) -> dict[str, Any] | None:
    """Return the data of the logged event of this kind that names the id; None if the log has none. Blocks.

    The log also has the user's answers to requests of an earlier server process.
    """
    name, its_kind = json.dumps(id_).encode(), f'"kind":"{kind}"'.encode()
    for encoded in live.events_since(0):
        if its_kind in encoded[:200] and name in encoded:
            data: dict[str, Any] = json.loads(encoded)["data"]
            return data
    return None
