"""History, snapshots and drafts over real stdio, of live and of stored sessions (H2, H3, R3)."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.items import ItemReducer
from agent_ls.server.rpc import to_wire
from tests.support.served import TASK, Served, served, served_session
from tests.test_protocol_golden import without_uris


async def all_pages(found: Served, session_id: str, limit: int) -> list[dict[str, Any]]:
    """Return all history items, oldest first."""
    items: list[dict[str, Any]] = []
    before: dict[str, int] = {}
    more = True
    while more:
        page = await found.ask("history", session_id, limit=limit, **before)
        items, more = items + page["items"], page["more"]
        before = {"before": items[-1]["seq"]}
    return items[::-1]


def folded(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items that a client computes from these events."""
    reducer = ItemReducer()
    for event in events:
        envelope = event_codec.decode(json.dumps(without_uris(event)).encode())
        assert envelope
        reducer.add(envelope)
    items: list[dict[str, Any]] = json.loads(to_wire.items(reducer.items))
    return items


@pytest.mark.req("H2", "H3", "R3")
async def test_the_history_of_live_and_stored_sessions_matches_their_events(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        session_id = await found.task_done()
        subscribed = await found.editor.subscribe(session_id)
        expected = folded(subscribed["events"])
        assert [item["text"] for item in expected if item["kind"] == "user"] == [TASK]
        assert {"user", "text", "tool", "file", "approval", "end"} <= {item["kind"] for item in expected}
        assert await all_pages(found, session_id, 100) == expected
        assert await all_pages(found, session_id, 3) == expected
        (end,) = (item for item in expected if item["kind"] == "end")
        assert {file["uri"] for file in end["files"]} == {(found.project / "shop" / "cart.py").as_uri()}
        await found.client.shut_down()
    async with served(tmp_path) as found:
        stored = await all_pages(found, session_id, 100)
        assert stored == expected
        listed = (await found.client.request("agent/sessions", {}))["sessions"]
        assert [session["live"] for session in listed if session["id"] == session_id] == [False]


@pytest.mark.req("H3")
async def test_subscribing_to_a_long_session_returns_a_snapshot_and_later_events(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        session_id = await found.task_done()
        whole = await found.editor.subscribe(session_id)
        last = whole["lastSeq"]

        short = await found.ask("subscribe", session_id, since=0, maxEvents=last - 1)
        assert (short["events"], short["lastSeq"]) == ([], last)
        assert short["snapshot"]["items"][::-1] == folded(whole["events"])
        assert short["snapshot"]["more"] is False
        usage = [event["data"] for event in whole["events"] if event["kind"] == "usage"]
        assert short["snapshot"]["usage"] == usage[-1]

        exact = await found.ask("subscribe", session_id, since=0, maxEvents=last)
        assert len(exact["events"]) == last and "snapshot" not in exact
        near = await found.ask("subscribe", session_id, since=last - 2, maxEvents=2)
        assert [event["seq"] for event in near["events"]] == [last - 1, last]

        seen = len(found.client.received)
        await found.editor.submit(session_id, "hello")
        first = await found.client.wait_for(lambda m: "seq" in m.get("params", {}), after=seen)
        assert first["params"]["seq"] == last + 1


@pytest.mark.req("H3", "R7")
async def test_a_draft_survives_a_killed_server_and_is_deleted_when_emptied(
    tmp_path: Path,
) -> None:
    attachments = [{"type": "file", "uri": "file:///home/ada/cart.py"}]
    async with served(tmp_path) as found:
        session_id = await found.task_done()
        for text in ("A", "An", "And then"):
            await found.client.notify(
                "agent/draft", {"sessionId": session_id, "text": text, "attachments": attachments}
            )
        assert await found.ask("draft", session_id, text="And then?", attachments=attachments) == {}
        path = found.folder(session_id) / "draft.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        found.server.process.kill()
    async with served(tmp_path) as found:
        subscribed = await found.editor.subscribe(session_id)
        assert subscribed["draft"] == {"text": "And then?", "attachments": attachments}
        await found.ask("draft", session_id, text="")
        assert "draft" not in await found.editor.subscribe(session_id)
        assert not path.exists()


@pytest.mark.req("R5")
async def test_an_invalid_stored_draft_is_omitted_from_the_subscription(tmp_path: Path) -> None:
    async with served_session(tmp_path) as (found, session_id):
        for damaged in ("[1]", "{", '{"text": 3}', '{"text": "x", "attachments": [{"type": "hologram"}]}'):
            (found.folder(session_id) / "draft.json").write_text(damaged)
            assert "draft" not in await found.editor.subscribe(session_id)


@pytest.mark.req("H2")
async def test_history_and_draft_requests_for_an_unknown_session_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        for session_id in ("s-0000", "../../etc", ""):
            for method, params in (("history", {}), ("draft", {"text": "x"})):
                error = await found.refused(method, session_id, **params)
                assert error.data["kind"] == "unknown_session"


@pytest.mark.req("H2")
async def test_history_with_an_invalid_limit_is_refused(tmp_path: Path) -> None:
    async with served_session(tmp_path) as (found, session_id):
        for wrong in ({"limit": 0}, {"limit": 501}, {"before": 0}, {"before": "x"}):
            assert (await found.refused("history", session_id, **wrong)).data["kind"] == "invalid_params"
        assert await found.ask("history", session_id) == {"items": [], "more": False}
