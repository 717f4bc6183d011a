"""Facts about the editor in the model's requests: the user's position, and new problems after its own edits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, RICH, server_process
from tests.support.loopback import Answer, AnthropicServer, ToolCall

EDIT: list[Answer] = [
    [ToolCall("read_file", {"file_path": "a.py"})],
    [ToolCall("edit_file", {"file_path": "a.py", "old_string": "two", "new_string": "2"})],
    "Done.",
]


@asynccontextmanager
async def editing(folder: Path, provider: AnthropicServer, **settings: Any) -> AsyncIterator[Editor]:
    """Run an editor that reports diagnostics, with `a.py` open."""
    env = {"ANTHROPIC_BASE_URL": provider.base_url, "ANTHROPIC_API_KEY": "sk-test-loopback"}
    capabilities = {**CAPABILITIES["vscode"], "experimental": {"agentLs": {**RICH, "diagnostics": True}}}
    options = {"agentLs": {"mode": "edits", **settings}}
    async with server_process(env=env) as server:
        editor = Editor(server.client)
        await server.client.initialize(
            folder=folder, capabilities=capabilities, initializationOptions=options
        )
        (folder / "a.py").write_text("one\ntwo\n")
        await editor.open(folder / "a.py")
        yield editor
        assert "Traceback" not in server.log


def user_texts(provider: AnthropicServer) -> list[str]:
    """Return the user messages of the last request."""
    messages = [m for m in provider.requests[-1].body["messages"] if m["role"] == "user"]
    parts = [part for message in messages for part in message["content"]]
    return [part["text"] for part in parts if part["type"] == "text"]


@pytest.mark.req("H12", "O6")
async def test_the_editor_position_is_sent_to_the_model_once_and_again_after_a_change(tmp_path: Path) -> None:
    with AnthropicServer(["Hm."] * 4) as provider:
        async with editing(tmp_path, provider) as editor:
            session_id = await editor.new_session(provider="anthropic")
            state: dict[str, Any] = {"activeUri": (tmp_path / "a.py").as_uri()}
            state["selection"] = {"startLine": 1, "endLine": 1}
            await editor.client.notify("agent/editorState", state)
            await editor.say(session_id, "What is this?")
            first = provider.requests[0].body
            assert user_texts(provider) == ["What is this?", "[Editor: a.py, cursor at line 2]"]
            await editor.say(session_id, "And now?")
            assert user_texts(provider)[2:] == ["And now?"]
            state["selection"] = {"startLine": 0, "endLine": 2}
            await editor.client.notify("agent/editorState", state)
            await editor.say(session_id, "And this?")
            assert user_texts(provider)[3:] == ["And this?", "[Editor: a.py, lines 1 to 2 selected]"]
            last = provider.requests[-1].body
            assert last["system"] == first["system"] and last["tools"] == first["tools"]
            shown = [event["data"]["text"] for event in editor.client.events if event["kind"] == "user_input"]
            assert shown == ["What is this?", "And now?", "And this?"]
        async with editing(tmp_path, provider) as editor:  # a resumed session has the same history
            assert (await editor.subscribe(session_id))["session"]["title"] == "What is this?"
            await editor.say(session_id, "Back.")
            assert user_texts(provider)[1] == "[Editor: a.py, cursor at line 2]"


@pytest.mark.req("H12")
async def test_new_diagnostics_after_an_edit_are_in_the_tool_result(tmp_path: Path) -> None:
    with AnthropicServer(EDIT) as provider:
        async with editing(tmp_path, provider, diagnosticsWaitMs=30_000) as editor:
            uri = (tmp_path / "a.py").as_uri()
            old = {"startLine": 0, "endLine": 0, "message": "one is odd"}
            await editor.client.notify("agent/diagnostics", {"uri": uri, "version": 1, "items": [old]})
            apply = editor.client.handlers["workspace/applyEdit"]

            async def apply_and_check(params: Any) -> Any:
                answer = await apply(params)
                new = {"startLine": 1, "endLine": 1, "message": "2 is a number", "source": "lint", "code": 17}
                report = {"uri": uri, "version": editor.documents[uri].version, "items": [old, new]}
                await editor.client.notify("agent/diagnostics", report)
                return answer

            editor.client.handlers["workspace/applyEdit"] = apply_and_check
            session_id = await editor.new_session(provider="anthropic")
            assert await editor.say(session_id, "Change it.") == "completed"
            ended = await editor.client.event("tool_call_end", name="edit_file")
            output = ended["data"]["output"]
            assert output.startswith("Edited a.py") and "a.py:2: error: 2 is a number (lint 17)" in output
            assert "one is odd" not in output
        assert "2 is a number" in json.dumps(provider.requests[-1].body)
