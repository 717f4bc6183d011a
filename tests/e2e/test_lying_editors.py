"""Editors that report false results of edits, over real stdio, with review after and before: only the text counts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.store.layout import log_path
from tests.e2e.lying_client import LIES, REPORTED_AS_DONE, LyingClient
from tests.loopback.script import Answer
from tests.support.editor import new_key
from tests.support.framed_client import ServerProcess, server_process
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served

OLD = "one\nkeep\ntwo\nkeep\nthree\n"
NEW = "ONE\nkeep\ntwo\nkeep\nTHREE\n"


def answer(body: Mapping[str, Any]) -> Any:
    """Answer as a model that reads the file named in the user's message, writes the file, and ends its turn."""
    name = next(iter(re.findall(r"edit (\w+\.txt)", str(body["messages"]))))
    match sum(message["role"] == "assistant" for message in body["messages"]):
        case 0:
            return [ToolCall("read_file", {"file_path": name})]
        case 1:
            return [ToolCall("write_file", {"file_path": name, "content": NEW})]
        case _:
            return "done"


@asynccontextmanager
async def editing(
    folder: Path, review: str
) -> AsyncIterator[tuple[LyingClient, dict[str, str], ServerProcess]]:
    """Open all files; start a session for each one that edits it. Yields the sessions by file name."""
    for name in LIES:
        (folder / name).write_text(OLD)
    env = {"AGENT_LS_STATE_DIR": str(folder.parent / "state"), "ANTHROPIC_API_KEY": "sk-test-loopback"}
    with AnthropicServer(answer) as provider:
        env["ANTHROPIC_BASE_URL"] = provider.base_url
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = LyingClient(server.client, tasks)
            await editor.start(folder)
            tasks.start_soon(editor.do_as_asked)
            sessions = {}
            for name in LIES:
                await editor.open(folder / name, OLD)
                sessions[name] = await editor.new_session(provider="anthropic", mode="edits", review=review)
                await editor.submit(sessions[name], f"edit {name}")
            yield editor, sessions, server
            tasks.cancel_scope.cancel()


async def event(editor: LyingClient, session_id: str, kind: str, **fields: Any) -> dict[str, Any]:
    message = await editor.client.wait_for(
        lambda m: (
            m.get("method") == "agent/event"
            and (m["params"]["sessionId"], m["params"]["kind"]) == (session_id, kind)
            and all(m["params"]["data"].get(name) == value for name, value in fields.items())
        )
    )
    data: dict[str, Any] = message["params"]["data"]
    return data


async def hunks(editor: LyingClient, session_id: str) -> list[dict[str, Any]]:
    files = (await editor.client.request("agent/hunks", {"sessionId": session_id}))["files"]
    return [hunk for file in files for hunk in file["hunks"]]


def check_in_step(found: list[dict[str, Any]], text: str) -> None:
    """Check that each pending hunk is in the user's text at its reported position."""
    lines = text.splitlines(keepends=True)
    for hunk in found:
        if hunk["state"] == "pending":
            assert lines[slice(*hunk["newRange"])] == hunk["newLines"]


@pytest.mark.req("H4", "H6", "R5")
async def test_with_review_after_the_tool_result_matches_the_document_despite_false_editor_results(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with editing(folder, "after") as (editor, sessions, server):
        for name, session_id in sessions.items():
            ended = await event(editor, session_id, "tool_call_end", name="write_file")
            await event(editor, session_id, "processing_end")
            text = editor.documents[(folder / name).as_uri()].source
            is_done = LIES[name] in REPORTED_AS_DONE
            assert (text == NEW) == is_done, name
            assert ended["isError"] != is_done, name
            found = await hunks(editor, session_id)
            check_in_step(found, text)
            assert len(found) == (2 if is_done else 0), name
            assert is_done or "editor" in ended["output"].lower(), ended["output"]
            assert (folder / name).read_text() == OLD, "never behind an open document"
        assert server.process.returncode is None


@pytest.mark.req("H4", "H6", "R5")
async def test_with_review_before_a_hunk_becomes_kept_only_if_the_document_contains_the_change(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with editing(folder, "before") as (editor, sessions, server):

        async def keep_all(name: str, session_id: str) -> None:
            await event(editor, session_id, "hunk_state")
            uri = (folder / name).as_uri()
            assert editor.documents[uri].source == OLD and uri not in editor.asked
            ids = [hunk["id"] for hunk in await hunks(editor, session_id)]
            wanted = {"clientKey": new_key(), "hunkIds": ids, "verdict": "keep"}
            result = await editor.client.request("agent/review", wanted)
            text = editor.documents[uri].source
            left = await hunks(editor, session_id)
            if LIES[name] in REPORTED_AS_DONE:
                assert text == NEW and left == [] and result["refused"] == []
                assert {hunk["state"] for hunk in result["changed"]} == {"kept"}
                ended = await event(editor, session_id, "tool_call_end", name="write_file")
                assert not ended["isError"]
            else:
                assert text != NEW and result["refused"] and all(it["reason"] for it in result["refused"])
                assert left and {hunk["state"] for hunk in left} <= {"proposed", "stale"}
                undo = {"clientKey": new_key(), "sessionId": session_id, "verdict": "undo"}
                assert (await editor.client.request("agent/review", undo))["refused"] == []
                assert editor.documents[uri].source == text
            await event(editor, session_id, "processing_end")
            assert (folder / name).read_text() == OLD

        async with anyio.create_task_group() as tasks:
            for name, session_id in sessions.items():
                tasks.start_soon(keep_all, name, session_id)
        assert server.process.returncode is None


@pytest.mark.req("H4", "R3")
async def test_a_turn_ends_and_the_file_is_unchanged_if_the_editor_disconnects_before_answering_an_edit(
    tmp_path: Path,
) -> None:
    script: list[Answer] = [
        [ToolCall("read_file", {"file_path": "a.txt"})],
        [ToolCall("write_file", {"file_path": "a.txt", "content": NEW})],
    ]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            path = found.project / "a.txt"
            path.write_text(OLD)
            await found.editor.open(path)
            found.client.handlers["workspace/applyEdit"] = lambda params: anyio.sleep_forever()
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.submit(session_id, "go")
            await found.client.wait_for(lambda m: m.get("method") == "workspace/applyEdit")
            folder = found.folder(session_id)
            await found.client.hang_up()
            assert await found.server.exit_code() == 1
            # The server writes these events only after the call has ended by itself.
            lines = log_path(folder).read_text().splitlines()
            kinds = [json.loads(line)["event"]["kind"] for line in lines if line.startswith('{"event":')]
            assert kinds.count("tool_call_end") == 2 and kinds[-1] == "session_end"
            assert path.read_text() == OLD
