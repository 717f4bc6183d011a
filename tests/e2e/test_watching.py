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


@pytest.mark.req("H4", "H6")
@pytest.mark.parametrize("relative", [True, False])
async def test_the_client_watches_files_that_the_agent_used_and_its_reports_update_hunks(
    relative: bool, tmp_path: Path
) -> None:
    watching = {"dynamicRegistration": True, "relativePatternSupport": relative}
    async with editing(tmp_path, [[READ], [EDIT], "Done."], watching) as (editor, file, _):
        await editor.say(await editor.new_session(provider="anthropic", mode="full"), "Edit it.")
        asked = [m for m in editor.client.received if m.get("method") == "client/registerCapability"]
        ((registration,),) = (message["params"]["registrations"] for message in asked)
        pattern = {"baseUri": file.parent.as_uri(), "pattern": "a.txt"} if relative else str(file)
        assert registration["registerOptions"]["watchers"] == [{"globPattern": pattern}]
        file.write_text(OLD)
        changes = [{"uri": file.as_uri(), "type": 2}]
        await editor.client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        event = await editor.client.event("hunk_state")
        assert [hunk["state"] for hunk in event["data"]["hunks"]] == ["gone"]
