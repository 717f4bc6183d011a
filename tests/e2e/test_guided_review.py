"""The guided review over real stdio: reasons, states and rows, what is looked at, and that it survives a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_review import reviewing
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError


async def guide(editor: Editor, session_id: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows, and the hunks of all files."""
    result = await editor.client.request("agent/hunks", {"sessionId": session_id, "guide": True})
    return result["guide"], [hunk for file in result["files"] for hunk in file["hunks"]]


async def test_each_hunk_has_a_reason_a_state_and_facts(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, _, hunk):
        rows, hunks = await guide(editor, hunk["sessionId"])
        row = next(row for row in rows if row["hunkIds"] == [hunk["id"]])

        assert row["state"] == "notLooked"
        assert row["title"] == next(it for it in hunks if it["id"] == hunk["id"])["reason"] != ""
        assert "sensitive" not in row["unknown"]
        assert {it["id"] for it in hunks} == {id_ for row in rows for id_ in row["hunkIds"]}


async def test_a_hunk_that_changes_after_the_user_looked_counts_as_not_looked_at(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, cart, hunk):

        async def state() -> str:
            rows, _ = await guide(editor, hunk["sessionId"])
            found: str = next(row["state"] for row in rows if hunk["id"] in row["hunkIds"])
            return found

        await editor.client.request("agent/looked", {"hunkIds": [hunk["id"], "unknown"]})
        event = await editor.client.event("hunk_state", by="look")
        assert event["data"]["hunks"][0]["looked"]
        assert await state() == "looked"
        (file,) = (await editor.client.request("agent/hunks", {"uri": cart.as_uri()}))["files"]
        assert next(it for it in file["hunks"] if it["id"] == hunk["id"])["looked"]

        await editor.type(cart, hunk["newRange"][0], "# mine ")
        event = await editor.client.event("hunk_state", by="editor")
        assert not event["data"]["hunks"][0]["looked"]
        assert await state() == "notLooked"


async def test_decided_hunks_stay_in_the_guide(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, _, hunk):
        wanted = {"clientKey": new_key(), "hunkIds": [hunk["id"]], "verdict": "keep"}
        await editor.client.request("agent/review", wanted)
        rows, hunks = await guide(editor, hunk["sessionId"])

        assert next(row["state"] for row in rows if hunk["id"] in row["hunkIds"]) == "kept"
        assert next(it["state"] for it in hunks if it["id"] == hunk["id"]) == "kept"


async def test_a_guide_needs_a_session(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, _, _):
        with pytest.raises(ResponseError) as refused:
            await editor.client.request("agent/hunks", {"guide": True})

        assert refused.value.code == -32602
