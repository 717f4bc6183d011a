"""Queued messages and session titles over real stdio, and the search for titles (H2, L6, R7)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from tests.support.editor import new_key, text_input
from tests.support.loopback import AnthropicServer, Gate
from tests.support.served import TASK, Served, served, served_session


def queue_of(event: dict[str, Any]) -> list[str]:
    return [item["text"] for item in event["data"]["items"]]


def queues(found: Served, session_id: str) -> list[list[str]]:
    return [queue_of(event) for event in found.recorded(session_id) if event["kind"] == "queue"]


@pytest.mark.req("H2", "L6")
async def test_queued_messages_are_edited_moved_removed_and_started(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "second", "third"]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await anyio.to_thread.run_sync(gate.wait_reached)
            ids = [(await found.editor.submit(session_id, words))["queuedId"] for words in "abc"]
            edit = {"queuedId": ids[1], "input": text_input("B")}
            key = new_key()
            for _ in range(2):  # a repeated request with the same key changes nothing
                assert await found.ask("queue", session_id, clientKey=key, edit=edit) == {}
            await found.change("queue", session_id, move={"queuedId": ids[2], "before": ids[0]})
            await found.change("queue", session_id, remove=ids[0])
            info = (await found.editor.subscribe(session_id))["session"]
            assert [item["text"] for item in info["queue"]] == ["c", "B"]
            await found.change("queue", session_id, startNow=ids[1])
            await found.client.event("processing_end", reason="interrupted")
            await found.client.event("processing_end", reason="completed")
            begun = [e["data"]["text"] for e in found.recorded(session_id) if e["kind"] == "user_input"]
            assert begun == ["go", "B", "c"]
            assert queues(found, session_id)[3:] == [
                ["a", "B", "c"], ["c", "a", "B"], ["c", "B"], ["B", "c"], ["c"], [],
            ]  # fmt: skip
            gate.open()

            for change in ({"remove": ids[0]}, {"startNow": ids[1]}, {"move": {"queuedId": ids[2]}}):
                assert (await found.refused("queue", session_id, **change)).data["kind"] == "nothing_pending"


SIGNATURE = b"\x89PNG\r\n\x1a\n"


def picture(words: str) -> dict[str, str]:
    return {"type": "image", "mediaType": "image/png", "data": b64encode(SIGNATURE + words.encode()).decode()}


def pictures_in(body: Any) -> list[str]:
    """Return the decoded data of the images in the last message to the model."""
    sources = [part["source"] for part in body["messages"][-1]["content"] if part["type"] == "image"]
    return [b64decode(source["data"]).removeprefix(SIGNATURE).decode() for source in sources]


@pytest.mark.req("H2", "L6", "R3")
async def test_images_of_a_queued_message_survive_an_edit_of_its_text_and_a_kill(tmp_path: Path) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "seen", "steered"]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await anyio.to_thread.run_sync(gate.wait_reached)
            asked = [*text_input("what is ths?"), picture("cat")]
            queued_id = (await found.change("submit", session_id, input=asked))["queuedId"]
            steer = [*text_input("as here"), picture("map")]
            await found.change("steer", session_id, input=steer)
            edit = {"queuedId": queued_id, "input": text_input("what is this?"), "keepImages": True}
            await found.change("queue", session_id, edit=edit)
            more = [*text_input("what are these?"), picture("dog")]
            await found.change("queue", session_id, edit={**edit, "input": more})
            item = {"queuedId": queued_id, "text": "what are these?", "images": 2}
            items = [
                event["data"]["items"][0] for event in found.recorded(session_id) if event["kind"] == "queue"
            ]
            assert [it["images"] for it in items] == [1, 1, 2]
            async with served(tmp_path) as reader:
                assert (await reader.editor.subscribe(session_id))["session"]["queue"] == [item]
            found.server.process.kill()
        gate.open()
        async with served(tmp_path, provider=provider) as found:
            assert (await found.editor.subscribe(session_id))["session"]["queue"] == [item]
            await found.change("queue", session_id, startNow=queued_id)
            await found.client.event("processing_end", reason="completed")
        assert pictures_in(provider.requests[1].body) == ["cat", "dog", "map"]


@pytest.mark.req("H2")
async def test_an_edit_of_a_queued_message_without_keep_images_removes_the_former_images(
    tmp_path: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[gate], "seen"]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await anyio.to_thread.run_sync(gate.wait_reached)
            queued_id = (await found.change("submit", session_id, input=[picture("cat")]))["queuedId"]
            await found.change("queue", session_id, edit={"queuedId": queued_id, "input": text_input("none")})
            gate.open()
            await found.client.event("user_input", text="none")
            await found.client.event("processing_end", reason="completed")
            queues = [e["data"]["items"] for e in found.recorded(session_id) if e["kind"] == "queue"]
            assert [[item["images"] for item in items] for items in queues] == [[1], [0], []]
        assert provider.requests[1].body["messages"][-1]["content"][-1]["text"].endswith("none")
        assert pictures_in(provider.requests[1].body) == []


@pytest.mark.req("H2")
async def test_a_queue_request_without_exactly_one_change_is_refused(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {}, {"remove": "q", "startNow": "q"}, {"edit": {"queuedId": "q", "input": []}}
    ]  # fmt: skip
    async with served_session(tmp_path) as (found, session_id):
        for change in changes:
            assert (await found.refused("queue", session_id, **change)).data["kind"] == "invalid_params"
        assert (await found.refused("queue", "s-none", remove="q")).data["kind"] == "session_closed"


@pytest.mark.req("H2", "R7")
async def test_a_session_is_titled_after_its_first_input_and_can_be_renamed_while_open_or_stored(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as found:
        session_id = await found.task_done(f"{TASK}\nAll of it.")
        await found.editor.submit(session_id, "Again")
        await found.client.event("user_input", text="Again")
        titles = [e["data"]["title"] for e in found.recorded(session_id) if e["kind"] == "title"]
        assert titles == [TASK]
        renamed = await found.change("rename", session_id, title="  Cart \x1b[31m\n fix ")
        assert renamed["session"]["title"] == "Cart [31m fix"
        await found.client.event("title", title="Cart [31m fix")
        for wrong in ("", " \n", "\u202e"):
            error = await found.refused("rename", session_id, title=wrong)
            assert error.data["kind"] == "invalid_params"
        assert (await found.refused("rename", "s-none", title="x")).data["kind"] == "unknown_session"
        await found.client.shut_down()
    async with served(tmp_path) as found:
        assert await titles_of(found) == ["Cart [31m fix"]
        renamed = await found.change("rename", session_id, title="Stored")
        assert (renamed["session"]["title"], renamed["session"]["live"]) == ("Stored", False)
        assert await titles_of(found) == ["Stored"]
        subscribed = await found.editor.subscribe(session_id)
        assert subscribed["session"]["title"] == "Stored"
        numbers = [event["seq"] for event in subscribed["events"]]
        assert numbers == list(range(1, len(numbers) + 1))
        assert [e["data"]["title"] for e in subscribed["events"] if e["kind"] == "title"][-1] == "Stored"


@pytest.mark.req("R7")
async def test_a_session_that_another_process_owns_is_not_renamed(tmp_path: Path) -> None:
    async with served_session(tmp_path, title="Mine") as (_, session_id):
        async with served(tmp_path) as second:
            error = await second.refused("rename", session_id, title="Theirs")
            assert error.data["kind"] == "session_busy"
            assert await titles_of(second) == ["Mine"]


@pytest.mark.req("H2")
async def test_sessions_are_found_by_part_of_their_title_ignoring_case(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        for title in ("Cart: Größe", "cart total", "Docs", None):
            await found.editor.new_session(**({"title": title} if title else {}))
        assert sorted(await titles_of(found, query="CART")) == ["Cart: Größe", "cart total"]
        assert await titles_of(found, query="GRÖSSE") == ["Cart: Größe"]
        assert await titles_of(found, query="nothing") == []
        assert len(await titles_of(found)) == 4
        page = await found.client.request("agent/sessions", {"query": "cart", "limit": 1})
        rest = await titles_of(found, query="cart", cursor=page["nextCursor"])
        assert sorted([page["sessions"][0]["title"], *rest]) == ["Cart: Größe", "cart total"]


async def titles_of(found: Served, **params: Any) -> list[str]:
    return [
        session["title"] for session in (await found.client.request("agent/sessions", params))["sessions"]
    ]
