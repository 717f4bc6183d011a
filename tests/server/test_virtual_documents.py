from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from agent_ls.server.editor.virtual_documents import MAX_WATCHED, VirtualDocuments


class Client:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: list[Future[Any]] = []

    def send(self, method: str, params: Any) -> Future[Any]:
        self.asked.append(params.uri)
        self.answers.append(Future())
        return self.answers[-1]


@pytest.fixture
def client() -> Client:
    return Client()


def test_several_changes_during_a_pending_refresh_request_cause_one_more_refresh(client: Client) -> None:
    texts = VirtualDocuments(client.send, can_refresh=True)
    texts.record_request("u", "/a")
    for _ in range(5):
        texts.refresh("/a")
    texts.refresh("/b")
    assert client.asked == ["u"]
    client.answers[0].set_result(None)
    assert client.asked == ["u", "u"]
    client.answers[1].set_result(None)
    assert client.asked == ["u", "u"]


def test_a_client_that_refuses_a_refresh_gets_no_more_refresh_requests(client: Client) -> None:
    texts = VirtualDocuments(client.send, can_refresh=True)
    texts.record_request("u", "/a")
    texts.refresh("/a")
    client.answers[0].set_exception(RuntimeError("method not found"))
    texts.refresh("/a")
    assert client.asked == ["u"]


def test_a_client_without_refresh_support_gets_no_refresh_requests(client: Client) -> None:
    texts = VirtualDocuments(client.send, can_refresh=False)
    texts.record_request("u", "/a")
    texts.refresh("/a")
    assert client.asked == []


def test_the_number_of_watched_documents_is_limited(client: Client) -> None:
    texts = VirtualDocuments(client.send, can_refresh=True)
    for n in range(MAX_WATCHED + 1):
        texts.record_request(f"u{n}", f"/{n}")
    texts.refresh("/0")
    texts.refresh("/1")
    assert client.asked == ["u1"]
