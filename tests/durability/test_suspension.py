"""The editor ends while an approval is pending: the next server repeats it, and the answer continues the turn (R4)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.durability.story import SERVERS, edit, environment
from tests.durability.test_kill import die
from tests.durability.test_orderly_end import Ending, hang_up, shut_down, terminate
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ServerProcess, server_process
from tests.support.loopback import Answer, LoopbackProvider, Text, ToolCall

pytestmark = pytest.mark.req("R4", "H7", "L3", "R3")

IS_WHOLE = os.environ.get("AGENT_LS_SWEEPS") == "whole"


async def kill(editor: Editor, server: ServerProcess) -> None:
    await die(server)


ENDINGS = (shut_down, hang_up, terminate, kill)
all_endings = pytest.mark.parametrize(
    ("wire", "end"),
    [(wire, end) for wire in SERVERS for end in ENDINGS]
    if IS_WHOLE
    else list(zip(["openai", "anthropic"] * 2, ENDINGS, strict=True)),
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)


READ = ToolCall("read_file", {"file_path": "notes.txt"})
TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text(TEXT)
    return folder


@asynccontextmanager
async def editing(provider: LoopbackProvider, project: Path) -> AsyncIterator[tuple[Editor, ServerProcess]]:
    async with server_process(env=environment(provider, project.parent / "state")) as server:
        editor = Editor(server.client)
        await editor.start(project, mode="ask")
        yield editor, server


async def suspended(
    wire: str, provider: LoopbackProvider, project: Path, end: Ending, count: int = 1
) -> tuple[str, list[dict[str, Any]]]:
    """Run a server that ends while `count` approvals are pending. Return the session's id and the approval requests."""
    async with editing(provider, project) as (editor, server):
        session_id = await editor.new_session(provider=wire)
        await editor.submit(session_id, "Go.")
        await _asked(editor, count)
        asked = [event["data"] for event in editor.client.events if event["kind"] == "approval_requested"]
        await end(editor, server)
        await server.exit_code()
    return session_id, asked


async def _asked(editor: Editor, count: int) -> None:
    """Wait until this server has requested `count` approvals."""

    def is_last(message: dict[str, Any]) -> bool:
        events = [event["kind"] for event in editor.client.events]
        return events.count("approval_requested") >= count

    await editor.client.wait_for(is_last)


async def reopened(editor: Editor, session_id: str, asked: list[dict[str, Any]]) -> dict[str, Any]:
    resumed = await editor.subscribe(session_id)
    assert resumed["pending"]["approvals"] == asked
    assert resumed["session"]["state"] == "AWAITING_INPUT"
    assert [event["seq"] for event in resumed["events"]] == list(range(1, resumed["lastSeq"] + 1))
    kinds = [event["kind"] for event in resumed["events"]]
    assert "approval_resolved" not in kinds
    assert "processing_end" not in kinds
    return resumed


async def say(editor: Editor, session_id: str, request: dict[str, Any], decision: str, **params: Any) -> Any:
    return await editor.approve({"sessionId": session_id, "data": request}, decision, **params)


@pytest.mark.sweep
@all_endings
async def test_allowing_an_edit_after_a_restart_applies_the_displayed_edit(
    wire: str, end: Ending, project: Path
) -> None:
    calls: list[Answer] = [[Text("I look."), READ], [edit(wire, "notes.txt", "two\n", "TWO\n")], "All done."]
    with SERVERS[wire](calls) as provider:
        session_id, asked = await suspended(wire, provider, project, end)
        async with editing(provider, project) as (editor, _):
            resumed = await reopened(editor, session_id, asked)
            assert (project / "notes.txt").read_text() == TEXT
            assert len(provider.requests) == 2
            key = new_key()
            answers = [await say(editor, session_id, asked[0], "allow", clientKey=key)]
            ended = await editor.client.event("processing_end", reason="completed")
            assert (project / "notes.txt").read_text() == TEXT.replace("two", "TWO")
            started = next(event for event in resumed["events"] if event["kind"] == "user_input")
            assert ended["turnId"] == started["turnId"]
            (file,) = (await editor.client.request("agent/hunks", {"sessionId": session_id}))["files"]
            assert [hunk["newLines"] for hunk in file["hunks"]] == [["TWO\n"]]
            # the same answer is repeated, as after a lost response, and another client answers too late
            answers.append(await say(editor, session_id, asked[0], "allow", clientKey=key))
            answers.append(await say(editor, session_id, asked[0], "deny"))
        async with editing(provider, project) as (editor, _):
            resumed = await editor.subscribe(session_id)
            assert (resumed["session"]["state"], resumed["pending"]["approvals"]) == ("IDLE", [])
            answers.append(await say(editor, session_id, asked[0], "allow", clientKey=key))
        assert [answer["decision"] for answer in answers] == ["allow"] * 4
        assert len(provider.requests) == 3
