"""The files that a client is asked to watch: each used file once, up to a limit. Only their changes are accepted."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from lsprotocol import types as lsp

from agent_ls.server.editor.watch_registrations import MAX_FILES, WatchedFiles
from agent_ls.server.lsp.capabilities import ClientAbilities

pytestmark = pytest.mark.req("H4", "H8")

SIMPLE = ClientAbilities(watched_files=True)
RELATIVE = ClientAbilities(watched_files=True, relative_patterns=True)


class Client:
    def __init__(self, abilities: ClientAbilities = SIMPLE) -> None:
        self.sent: list[tuple[str, Any, Future[Any]]] = []
        self.watched = WatchedFiles(self._send, lambda: abilities)

    def _send(self, method: str, params: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        self.sent.append((method, params, answer))
        return answer

    def patterns(self) -> list[Any]:
        """Return the patterns of the last registration."""
        (registration,) = self.sent[-1][1].registrations
        return [watcher.glob_pattern for watcher in registration.register_options.watchers]

    def tells(self, *paths: str) -> list[str]:
        return self.watched.filter_changes(
            {"changes": [{"uri": f"file://{path}", "type": 2} for path in paths]}
        )


def test_each_used_file_is_registered_exactly_once() -> None:
    client = Client()
    client.watched.watch_files(["/p/a.py", "/p/[id].tsx"])
    assert client.patterns() == ["/p/a.py", "/p/[[]id].tsx"]
    client.watched.watch_files(["/p/b.py", "/p/a.py", "/p/[id].tsx"])
    assert client.patterns() == ["/p/b.py"]
    client.watched.watch_files(["/p/a.py"])
    assert len(client.sent) == 2


def test_a_client_with_relative_patterns_gets_patterns_relative_to_a_folder() -> None:
    client = Client(RELATIVE)
    client.watched.watch_files(["/p q/a.py"])
    assert client.patterns() == [lsp.RelativePattern("file:///p%20q", "a.py")]


@pytest.mark.report("astral-sh/ty-vscode#250")
def test_only_registered_files_are_reported_and_invalid_changes_are_ignored() -> None:
    client = Client()
    client.watched.watch_files(["/p/a.py", "/p/b.py"])
    assert client.tells("/p/b.py", "/etc/passwd", "/p/b.py") == ["/p/b.py"]
    odd = (
        "_claude_fs_right:/p/a.py",
        "a.py",
        "",
        "file:",
        "file://[::1/a",
        "http://[",
        "file:///p/%00",
        "x:%ff%",
    )
    changes = [{"uri": uri, "type": 2} for uri in (*odd, "file:///p/b.py", "file:///p/%ff")]
    assert client.watched.filter_changes({"changes": changes}) == ["/p/b.py"]
    nonsense: list[Any] = [
        None,
        7,
        [],
        {},
        {"changes": 7},
        {"changes": [7, {}, {"uri": 7}, {"uri": "untitled:1"}]},
    ]
    assert [client.watched.filter_changes(it) for it in nonsense] == [[]] * len(nonsense)


def test_above_the_limit_the_oldest_watches_are_removed() -> None:
    client = Client()
    for number in range(0, 3 * MAX_FILES, 10):
        client.watched.watch_files([f"/p/{number + it}" for it in range(10)])
    assert len(client.watched.paths) == MAX_FILES
    assert client.tells("/p/0") == [] and client.tells(f"/p/{3 * MAX_FILES - 1}")
    taken_back = [params for method, params, _ in client.sent if method == lsp.CLIENT_UNREGISTER_CAPABILITY]
    assert len(taken_back) == 2 * MAX_FILES / 10


def test_no_file_watches_are_requested_after_a_refusal() -> None:
    unable = Client(ClientAbilities())
    unable.watched.watch_files(["/p/a.py"])
    assert unable.sent == []
    client = Client()
    client.watched.watch_files(["/p/a.py"])
    client.sent[0][2].set_exception(RuntimeError("method not found"))
    client.watched.watch_files(["/p/b.py"])
    assert len(client.sent) == 1 and client.tells("/p/a.py") == []
