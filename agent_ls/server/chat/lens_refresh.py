"""Ask the client to request code lenses again, but only if they differ from the lenses that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import anyio

from agent_ls.background import TaskStarter
from agent_ls.server.lsp.from_lsp import maybe_path

REFRESH_S = 0.2
"""Delay in which changes are collected: a turn changes its state and its hunks several times at once."""

Lenses: TypeAlias = list[dict[str, Any]]


class LensRefresh:
    """Stores the lenses that were sent to the client, and calls `send` to request a refresh when they are
    outdated.

    `current` returns the current lenses of a document.
    """

    def __init__(
        self, start: TaskStarter, send: Callable[[], object], current: Callable[[str], Lenses]
    ) -> None:
        self._start = start
        self._send = send
        self._current = current
        self._given: dict[str, Lenses] = {}
        self._is_due = False

    def answer(self, uri: str) -> Lenses:
        """Return the lenses of a document, as the answer to a request of the client."""
        lenses = self._given[uri] = self._current(uri)
        return lenses

    def forget(self, path: str) -> None:
        """Forget the lenses of a document that the client closed."""
        for uri in [
            uri for uri in self._given if maybe_path(uri) == path
        ]:  # clients spell the URI of one path in several ways
            del self._given[uri]

    def refresh_if_changed(self) -> None:
        """After REFRESH_S, ask the client to refresh its lenses if those of any document are outdated."""
        if not self._is_due:
            self._is_due = True
            self._start(self._refresh)

    async def _refresh(self) -> None:
        await anyio.sleep(REFRESH_S)
        self._is_due = False
        if any(self._current(uri) != lenses for uri, lenses in self._given.items()):
            self._given = {uri: self._current(uri) for uri in self._given}
            self._send()
