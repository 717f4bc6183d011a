"""Undo of a turn over real stdio: the changes of later turns and the user's typing stay (H6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.loopback.script import Answer, Item
from tests.support.editor import new_key
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

TEXT = "".join(f"line {at}\n" for at in range(12))


def edit(at: int, new: str, path: str = "a.txt") -> ToolCall:
    return ToolCall("edit_file", {"file_path": path, "old_string": f"line {at}\n", "new_string": f"{new}\n"})


READ: list[Item] = [
    ToolCall("read_file", {"file_path": "a.txt"}),
    ToolCall("read_file", {"file_path": "b.txt"}),
]
FIRST: list[Answer] = [READ, [edit(1, "first"), edit(8, "first too"), edit(1, "first", "b.txt")], "done"]


async def turn(found: Served, session_id: str, words: str) -> str:
    """Send a message, wait for the end of the turn, and return its id. The turn must need no approval."""
    seen = len(found.client.received)
    turn_id: str = (await found.editor.submit(session_id, words))["turnId"]
    await found.editor.turn_end(session_id, seen)
    return turn_id


async def review(found: Served, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = await found.client.request("agent/review", {"clientKey": new_key(), **params})
    return result


def prepare(tmp_path: Path) -> tuple[Path, Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    a, b = folder / "a.txt", folder / "b.txt"
    a.write_text(TEXT)
    b.write_text(TEXT)
    return a, b


@pytest.mark.req("H6", "H4")
@pytest.mark.parametrize("restarted", [False, True], ids=["same process", "after a restart"])
async def test_undo_of_a_turn_keeps_changes_of_later_turns_and_text_typed_by_the_user(
    restarted: bool, tmp_path: Path
) -> None:
    a, b = prepare(tmp_path)
    script: list[Answer] = [
        *FIRST,
        [edit(4, "second"), edit(10, "second too")],
        "done",
        [edit(11, "third", "b.txt")],
        "done",
    ]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            document = await found.editor.open(a)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            first = await turn(found, session_id, "first")
            await found.editor.type(a, 0, "mine\n")
            await turn(found, session_id, "second")
            await found.editor.type(a, 7, "mine too\n")
            await turn(found, session_id, "third")
            text = document.source
            if restarted:
                await found.editor.save(a)
                await found.client.shut_down()
            else:
                await check_first_undone(found, document, b, first, session_id)
        if restarted:
            async with served(tmp_path, provider=provider) as found:
                document = await found.editor.open(a, text)
                await found.editor.subscribe(session_id)
                async with found.editor.doing_as_asked():
                    await check_first_undone(found, document, b, first, session_id)


async def check_first_undone(found: Served, document: Any, b: Path, first: str, session_id: str) -> None:
    result = await review(found, turnId=first, verdict="undo")
    assert result["refused"] == [] and {hunk["state"] for hunk in result["changed"]} == {"undone"}
    lines = document.source.splitlines()
    assert "first" not in document.source
    expected = TEXT.replace("line 4", "second").replace("line 10", "second too").splitlines()
    assert [line for line in lines if not line.startswith("mine")] == expected
    assert [line for line in lines if line.startswith("mine")] == ["mine", "mine too"]
    assert await anyio.Path(b).read_text() == TEXT.replace("line 11", "third")
    left = (await found.client.request("agent/hunks", {"sessionId": session_id}))["files"]
    assert {hunk["turnId"] for file in left for hunk in file["hunks"]}.isdisjoint({first})
    assert sum(len(file["hunks"]) for file in left) == 3


@pytest.mark.req("H6")
async def test_undo_of_a_turn_reports_lines_that_a_later_turn_rewrote(
    tmp_path: Path,
) -> None:
    a, b = prepare(tmp_path)
    rewrite = ToolCall("edit_file", {"file_path": "a.txt", "old_string": "first\n", "new_string": "second\n"})
    with AnthropicServer([*FIRST, [rewrite], "done"]) as provider:
        async with served(tmp_path, provider=provider) as found:
            document = await found.editor.open(a)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            first = await turn(found, session_id, "first")
            second = await turn(found, session_id, "second")
            for turn_id in (first, second):
                result = await review(found, turnId=turn_id, verdict="undo")
                (reason,) = [it["reason"] for it in result["refused"]]
                assert "another turn" in reason
            assert document.source == TEXT.replace("line 1\n", "second\n")
            assert await anyio.Path(b).read_text() == TEXT
            (file,) = (await found.client.request("agent/hunks", {"turnId": second}))["files"]
            (hunk,) = file["hunks"]
            assert (hunk["turnId"], hunk["laterTurnIds"]) == (first, [second])
            assert (await review(found, hunkIds=[hunk["id"]], verdict="undo"))["refused"] == []
            assert document.source == TEXT


@pytest.mark.req("H6")
async def test_undo_of_a_turn_with_review_before_rejects_pending_proposals_and_keeps_accepted_hunks(
    tmp_path: Path,
) -> None:
    a, _ = prepare(tmp_path)
    whole = TEXT.replace("line 1\n", "first\n").replace("line 8", "first too")
    script: list[Answer] = [READ, [ToolCall("write_file", {"file_path": "a.txt", "content": whole})], "done"]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            document = await found.editor.open(a)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits", review="before")
            await found.editor.submit(session_id, "first")
            published = await found.client.event("hunk_state")
            kept, _ = published["data"]["hunks"]
            assert (await review(found, hunkIds=[kept["id"]], verdict="keep"))["refused"] == []
            await found.editor.type(a, 0, "mine\n")
            result = await review(found, turnId=published["turnId"], verdict="undo")
            assert [hunk["state"] for hunk in result["changed"]] == ["undone"] and result["refused"] == []
            await found.client.event("processing_end")
            assert document.source == "mine\n" + TEXT.replace("line 1\n", "first\n")
            assert "-line 1" in str(provider.requests[-1].body["messages"][-1])
