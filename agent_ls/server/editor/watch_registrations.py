"""Implement FileWatch: ask the client to report changes of single files, if it supports dynamic registration.

Each batch of new files is one registration; above MAX_FILES files the oldest registrations are removed. A
client that refuses a registration is not asked again. Files are then checked only before model calls.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from typing import Any

from lsprotocol import types as lsp

from agent_ls.loop.ids import new_id
from agent_ls.patterns import regex
from agent_ls.server.lsp import to_lsp
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.lsp.from_lsp import maybe_path

MAX_FILES = 100

_SPECIAL = regex(r"[*?\[{]")


class WatchedFiles:
    """Registered file watchers. `send` sends a request; `client` returns the client's capabilities."""

    def __init__(
        self, send: Callable[[str, Any], Future[Any]], client: Callable[[], ClientAbilities]
    ) -> None:
        self._send = send
        self._client = client
        self._batches: dict[str, tuple[str, ...]] = {}
        self._is_refused = False

    @property
    def paths(self) -> Collection[str]:
        return {path for batch in self._batches.values() for path in batch}

    def watch_files(self, paths: Sequence[str]) -> None:
        if self._is_refused or not self._client().watched_files:
            return
        known = self.paths
        fresh = tuple(path for path in paths[:MAX_FILES] if path not in known)
        if fresh:
            batch = new_id("w")
            self._batches[batch] = fresh
            self._register(batch, fresh)
            self._drop_oldest()

    def filter_changes(self, params: Any) -> list[str]:
        """Return the watched files that the parameters of `workspace/didChangeWatchedFiles` name."""
        changes = params.get("changes") if isinstance(params, dict) else None
        uris = [it.get("uri") for it in changes if isinstance(it, dict)] if isinstance(changes, list) else []
        paths = {maybe_path(uri) for uri in uris if isinstance(uri, str)}
        return sorted(path for path in paths if path and path in self.paths)

    def _register(self, batch: str, paths: Sequence[str]) -> None:
        options = lsp.DidChangeWatchedFilesRegistrationOptions([self._watcher(path) for path in paths])
        registration = lsp.Registration(batch, lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        params = lsp.RegistrationParams([registration])
        self._send(lsp.CLIENT_REGISTER_CAPABILITY, params).add_done_callback(self._handle_answer)

    def _watcher(self, path: str) -> lsp.FileSystemWatcher:
        folder, name = os.path.split(path)
        if self._client().relative_patterns:
            return lsp.FileSystemWatcher(lsp.RelativePattern(to_lsp.uri(folder), _literal(name)))
        return lsp.FileSystemWatcher(_literal(path))

    def _handle_answer(self, answer: Future[Any]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            self._is_refused = True
            self._batches.clear()

    def _drop_oldest(self) -> None:
        dropped = []
        while len(self._batches) > 1 and sum(map(len, self._batches.values())) > MAX_FILES:
            batch = next(iter(self._batches))
            del self._batches[batch]
            dropped.append(lsp.Unregistration(batch, lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES))
        if dropped:
            params = lsp.UnregistrationParams(dropped)
            # Ignore the answer: if the request fails, the client only reports more files than needed.
            self._send(lsp.CLIENT_UNREGISTER_CAPABILITY, params).add_done_callback(
                lambda answer: answer.exception()
            )


def _literal(path: str) -> str:
    """Return a glob pattern that matches only this path."""
    return _SPECIAL.sub(lambda found: f"[{found[0]}]", path)
