"""Fork, close, delete, export and whole outputs over real stdio (H2, E3, R7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import TASK, Served, served, served_session


async def listed(found: Served) -> dict[str, dict[str, Any]]:
    answer = await found.client.request("agent/sessions", {})
    return {session["id"]: session for session in answer["sessions"]}


async def texts(found: Served, session_id: str, kind: str) -> list[str]:
    items = (await found.ask("history", session_id))["items"]
    return [item["text"] for item in reversed(items) if item["kind"] == kind]


@pytest.mark.req("H2", "R7")
async def test_a_fork_continues_from_the_named_turn_and_does_not_change_its_source(tmp_path: Path) -> None:
    with AnthropicServer(["one", "two", "three"]) as provider:
        async with served_session(tmp_path, provider, mode="edits") as (found, session_id):
            turns = []
            for words in ("first", "second"):
                seen = len(found.client.received)
                turns.append((await found.editor.submit(session_id, words))["turnId"])
                await found.editor.turn_end(session_id, seen)
            key = new_key()
            made = [
                (await found.ask("fork", session_id, clientKey=key, atTurnId=turns[0]))["session"]
                for _ in range(2)
            ]
            assert made[0]["id"] == made[1]["id"] != session_id
            fork = made[0]["id"]
            assert (made[0]["title"], made[0]["mode"], made[0]["live"]) == ("first (fork)", "edits", True)
            assert (await texts(found, fork, "user"), await texts(found, fork, "text")) == (
                ["first"],
                ["one"],
            )
            whole = (await found.change("fork", session_id))["session"]["id"]
            assert await texts(found, whole, "user") == ["first", "second"]

            await found.editor.subscribe(fork)
            await found.editor.submit(fork, "third")
            await found.client.event("assistant_text_end", text="three")
            roles = [message["role"] for message in provider.requests[-1].body["messages"]]
            assert roles == ["user", "assistant", "user"]
            assert await texts(found, session_id, "user") == ["first", "second"]
            events = (await found.editor.subscribe(fork))["events"]
            assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


@pytest.mark.req("H2")
async def test_a_fork_at_an_unfinished_turn_or_of_an_unknown_session_is_refused(tmp_path: Path) -> None:
    async with served_session(tmp_path) as (found, session_id):
        assert (await found.refused("fork", session_id)).data["kind"] == "bad_choice"
        assert (await found.refused("fork", session_id, atTurnId="t-9")).data["kind"] == "bad_choice"
        assert (await found.refused("fork", "s-none")).data["kind"] == "unknown_session"
        assert len(await listed(found)) == 1


@pytest.mark.req("H2", "R7")
async def test_a_closed_session_is_kept_and_a_deleted_one_leaves_no_files(tmp_path: Path) -> None:
    async with served_session(tmp_path, say="hello") as (found, session_id):
        await found.ask("draft", session_id, text="more")
        assert await found.change("closeSession", session_id) == {}
        await found.client.event("session_end")
        assert (await listed(found))[session_id]["live"] is False
        assert await found.change("closeSession", session_id) == {}

        folder, key = found.folder(session_id), new_key()
        for _ in range(2):
            assert await found.ask("deleteSession", session_id, clientKey=key) == {}
        assert not folder.exists() and session_id not in await listed(found)
        for method in ("deleteSession", "closeSession", "subscribe", "rename", "fork"):
            params = {"title": "x"} if method == "rename" else {}
            assert (await found.refused(method, session_id, **params)).data["kind"] == "unknown_session"


@pytest.mark.req("H2", "R7")
@pytest.mark.parametrize("is_live", [True, False])
async def test_a_session_with_open_hunks_is_deleted_by_force_only_and_files_stay(
    tmp_path: Path, is_live: bool
) -> None:
    async with served(tmp_path) as found:
        session_id = await found.task_done()
        changed = (found.project / "shop" / "cart.py").read_text()
        if not is_live:
            await found.change("closeSession", session_id)
        error = await found.refused("deleteSession", session_id)
        assert error.data["kind"] == "session_has_hunks" and "force" in error.data["hint"]
        assert session_id in await listed(found)
        await found.change("deleteSession", session_id, force=True)
        assert session_id not in await listed(found)
        assert (found.project / "shop" / "cart.py").read_text() == changed
        assert (await found.client.request("agent/hunks", {}))["files"] == []


@pytest.mark.req("R7")
async def test_a_session_of_another_process_is_not_deleted(tmp_path: Path) -> None:
    async with served_session(tmp_path) as (_, session_id):
        async with served(tmp_path) as second:
            assert (await second.refused("deleteSession", session_id)).data["kind"] == "session_busy"
            assert session_id in await listed(second)


@pytest.mark.req("H2")
async def test_a_session_is_exported_as_markdown_html_and_events(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        session_id = await found.task_done()
        events = (await found.editor.subscribe(session_id))["events"]
        for _ in range(2):  # live, then stored
            text = (await found.ask("export", session_id, format="markdown"))["text"]
            assert text.startswith("# Please fix the discount.\n") and f"> {TASK}\n" in text
            assert "```diff\n" in text and "End of the turn:* completed" in text
            web_page = (await found.ask("export", session_id, format="html", redact=True))["text"]
            assert web_page.startswith("<!DOCTYPE html>") and "fix the discount" in web_page
            lines = (await found.ask("export", session_id, format="jsonl"))["text"].splitlines()
            assert [json.loads(line)["kind"] for line in lines][: len(events)] == [e["kind"] for e in events]
            await found.change("closeSession", session_id)
        assert (await found.refused("export", session_id, format="pdf")).data["kind"] == "invalid_params"
        assert (await found.refused("export", "s-none", format="jsonl")).data["kind"] == "unknown_session"


@pytest.mark.req("E3")
@pytest.mark.parametrize("count", [30_000, 100_000])
async def test_a_long_tool_output_can_be_read_completely_by_output_reference(
    tmp_path: Path, count: int
) -> None:
    """An output of 30,000 characters is in the event, one of 100,000 is in a file next to the log."""
    call = ToolCall("shell", {"command": f"printf 'x%.0s' $(seq {count}); touch done"})
    with AnthropicServer([[call], "Done."]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await found.editor.approve(await found.client.event("approval_requested"))
            await found.client.event("processing_end")
            items = (await found.ask("history", session_id))["items"]
            (result,) = (item["result"] for item in items if item["kind"] == "tool")
            assert len(result["output"]) < 17_000
            ref, whole = result["outputRef"], ""
            part: dict[str, Any] = {"nextOffset": 0}
            while "nextOffset" in part:
                where = {"outputRef": ref, "offset": part["nextOffset"], "limit": 40_000}
                part = await found.ask("output", session_id, **where)
                whole += part["text"]
            assert whole.startswith("x" * count) and len(whole) == part["totalChars"] == result["outputChars"]

            for wrong in ("0000000000000000", "../log", "event-1"):
                error = await found.refused("output", session_id, outputRef=wrong)
                assert error.data["kind"] == "unknown_output"
