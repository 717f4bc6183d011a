"""Open documents, files on disk and commands over real stdio: a command during unsaved typing, and changes by
others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, server_process
from tests.support.loopback import Answer, AnthropicServer, ToolCall

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
SHELL = ToolCall("shell", {"command": "sed -i s/two/TWO/ a.txt"})
EDIT = ToolCall("edit_file", {"file_path": "a.txt", "old_string": "five", "new_string": "FIVE"})
READ = ToolCall("read_file", {"file_path": "a.txt"})


@asynccontextmanager
async def editing(
    tmp_path: Path, answers: Sequence[Answer], watching: dict[str, bool] | None = None
) -> AsyncIterator[tuple[Editor, Path, AnthropicServer]]:
    file = tmp_path / "project" / "a.txt"
    file.parent.mkdir()
    file.write_text(OLD)
    with AnthropicServer(answers) as provider:
        env = {"ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = Editor(server.client)

            async def register(params: Any) -> None:
                return None

            server.client.handlers["client/registerCapability"] = register
            workspace = {**CAPABILITIES["vscode"]["workspace"], "didChangeWatchedFiles": watching or {}}
            await server.client.initialize(
                folder=file.parent, capabilities={**CAPABILITIES["vscode"], "workspace": workspace}
            )
            tasks.start_soon(editor.do_as_asked)
            yield editor, file, provider
            tasks.cancel_scope.cancel()


async def turn(editor: Editor, text: str, session_id: str = "") -> str:
    """Send a message, wait for the end of the turn, and return the session's id."""
    session_id = session_id or await editor.new_session(provider="anthropic", mode="full")
    start = len(editor.client.received)
    await editor.submit(session_id, text)
    await editor.client.wait_for(lambda m: m.get("params", {}).get("kind") == "processing_end", after=start)
    return session_id


async def warning(editor: Editor, code: str) -> str:
    message: str = (await editor.client.event("warning", code=code))["data"]["message"]
    return message


@pytest.mark.req("H4", "H6")
async def test_a_change_on_disk_by_a_command_is_merged_into_the_unsaved_document_and_reported(
    tmp_path: Path,
) -> None:
    async with editing(tmp_path, [[SHELL], "Done."]) as (editor, file, _):
        document = await editor.open(file)
        await editor.type(file, 6, "typed\n")
        session_id = await turn(editor, "Do it.")
        assert document.source == OLD.replace("two", "TWO").replace("seven", "typed\nseven")
        assert file.read_text() == OLD.replace("two", "TWO")
        assert "a.txt was changed on disk" in await warning(editor, "merged_change")
        ended = await editor.client.event("tool_call_end", name="shell")
        assert "merged into the user's unsaved changes" in ended["data"]["output"]
        (found,) = (await editor.client.request("agent/hunks", {"sessionId": session_id}))["files"]
        assert [hunk["newLines"] for hunk in found["hunks"]] == [["TWO\n"]]


@pytest.mark.req("H4", "H6")
async def test_a_change_by_a_command_of_a_line_that_the_user_edited_is_a_conflict_that_keeps_both_texts(
    tmp_path: Path,
) -> None:
    async with editing(tmp_path, [[SHELL], "Done."]) as (editor, file, _):
        document = await editor.open(file)
        await editor.type(file, 1, "my ")
        await turn(editor, "Do it.")
        assert document.source == OLD.replace("two", "my two")
        assert file.read_text() == OLD.replace("two", "TWO")
        assert "a.txt was changed on disk" in await warning(editor, "disk_conflict")
        ended = await editor.client.event("tool_call_end", name="shell")
        assert "which were kept: a.txt" in ended["data"]["output"]


@pytest.mark.req("H4", "H6")
@pytest.mark.parametrize("relative", [True, False])
async def test_the_client_watches_files_that_the_agent_used_and_its_reports_update_hunks(
    relative: bool, tmp_path: Path
) -> None:
    watching = {"dynamicRegistration": True, "relativePatternSupport": relative}
    async with editing(tmp_path, [[READ], [EDIT], "Done."], watching) as (editor, file, _):
        await turn(editor, "Edit it.")
        asked = [m for m in editor.client.received if m.get("method") == "client/registerCapability"]
        ((registration,),) = (message["params"]["registrations"] for message in asked)
        pattern = {"baseUri": file.parent.as_uri(), "pattern": "a.txt"} if relative else str(file)
        assert registration["registerOptions"]["watchers"] == [{"globPattern": pattern}]
        file.write_text(OLD)
        changes = [{"uri": file.as_uri(), "type": 2}]
        await editor.client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        event = await editor.client.event("hunk_state")
        assert [hunk["state"] for hunk in event["data"]["hunks"]] == ["gone"]


@pytest.mark.req("H4", "X9")
async def test_without_a_watching_client_a_changed_file_is_reported_to_the_model_once(
    tmp_path: Path,
) -> None:
    async with editing(tmp_path, [[READ], "Done.", "Hm.", "Hm."]) as (editor, file, provider):
        session_id = await turn(editor, "Read it.")
        file.write_text("another\n")
        await turn(editor, "And now?", session_id)
        await turn(editor, "And now?", session_id)
        told = str(provider.requests[-1].body["messages"])
        assert told.count("Changed since you last read them, by the user or another program: a.txt.") == 1
        methods = {message.get("method") for message in editor.client.received}
        assert "client/registerCapability" not in methods
