"""Requests to a client: only announced ones are sent, each gets one answer, and a missing answer has no effect."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from agent_ls.environments.editor_host import OpenDocument
from agent_ls.environments.terminal_host import OPEN_SECONDS, NewTerminal
from agent_ls.server.editor.client_requests import ClientRequests
from agent_ls.server.lsp.capabilities import ClientAbilities
from agent_ls.server.transport.errors import NothingPendingError

RICH = ClientAbilities(events=True, save=True)
DOCUMENT = OpenDocument("/a b", 3, "text")


class Wire:
    """Client requests whose sent messages and started tasks are recorded. A task runs only if the test runs it."""

    def __init__(
        self, client: ClientAbilities = RICH, session_id: str = "s", deadline_ms: int = 30_000
    ) -> None:
        self.sent: list[dict[str, Any]] = []
        self.started: list[Callable[[], Awaitable[None]]] = []
        self.requests = ClientRequests(
            "c",
            client,
            send=lambda event: self.sent.append(json.loads(event)),
            session_id=lambda: session_id,
            start=self.started.append,
            deadline_ms=deadline_ms,
        )


@pytest.mark.req("H8")
@pytest.mark.parametrize(
    ("client", "session_id"),
    [(ClientAbilities(), "s"), (ClientAbilities(events=True), "s"), (RICH, "")],
    ids=["stock", "cannot save", "not subscribed"],
)
async def test_a_client_without_subscriptions_gets_no_requests(
    client: ClientAbilities, session_id: str
) -> None:
    wire = Wire(client, session_id)
    await wire.requests.save([DOCUMENT])
    assert wire.sent == []


@pytest.mark.req("H5")
async def test_terminal_is_opened_by_a_client_with_terminals_and_a_client_error_means_not_opened() -> None:
    terminal = NewTerminal("t1", ("python", "start.py"), "/work", "agent-ls")
    assert not Wire().requests.has_terminals
    wire = Wire(ClientAbilities(events=True, terminal=True))
    assert wire.requests.has_terminals
    opened: list[bool] = []
    data: dict[str, Any] = {}

    async def ask() -> None:
        opened.append(await wire.requests.open_terminal(terminal))

    for result, error in (({}, None), (None, "no room")):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.lowlevel.checkpoint()
            data = wire.sent[-1]["data"]
            wire.requests.answer(data["requestId"], result, error)
    assert opened == [True, False]
    assert (data["what"], data["params"]) == (
        "terminalOpen",
        {"terminalId": "t1", "argv": ["python", "start.py"], "cwd": "/work", "title": "agent-ls"},
    )
    assert data["deadlineMs"] == OPEN_SECONDS * 1000, "as long as the command waits for its terminal"


async def test_save_request_contains_document_versions_and_accepts_only_one_reply() -> None:
    wire = Wire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.requests.save, [DOCUMENT])
        await anyio.lowlevel.checkpoint()
        (event,) = wire.sent
        assert (event["sessionId"], event["kind"], "seq" in event) == ("s", "client_request", False)
        data = event["data"]
        assert (data["clientId"], data["what"]) == ("c", "save")
        assert data["params"] == {"documents": [{"uri": "file:///a%20b", "version": 3}]}
        wire.requests.answer(data["requestId"], {"saved": []}, None)
        with pytest.raises(NothingPendingError):
            wire.requests.answer(data["requestId"], {"saved": []}, None)


async def test_a_missing_answer_by_the_deadline_is_a_normal_outcome_and_a_late_one_is_refused() -> None:
    wire = Wire(deadline_ms=0)
    await wire.requests.save([DOCUMENT])
    with pytest.raises(NothingPendingError):
        wire.requests.answer(wire.sent[0]["data"]["requestId"], {}, None)


async def test_reload_request_for_changed_files_is_sent_without_waiting_for_a_reply() -> None:
    wire = Wire(deadline_ms=0)
    wire.requests.reload_files(["/a", "/b"])
    assert wire.sent == []
    (work,) = wire.started
    await work()
    assert wire.sent[0]["data"]["params"] == {"uris": ["file:///a", "file:///b"]}
