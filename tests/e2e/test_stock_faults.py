"""A plugin-free editor that reports false results, sends invalid messages, or stops reading: nothing is lost or
approved.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import StockEditor, chatting
from tests.support.framed_client import ResponseError, server_process

TASK = "Please fix the discount."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_sample_project(tmp_path / "project")


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"arguments": [value]}
    return value


NONSENSE: list[Any] = [
    None,
    7,
    [],
    {},
    {"textDocument": 7},
    {"textDocument": {"uri": 7}, "position": {"line": -1, "character": "x"}},
    {"textDocument": {"uri": "file:///none"}, "position": {"line": 10**9, "character": 10**9}, "range": None},
    {"textDocument": {"uri": "x" * 1_000_000}, "range": {"start": {}, "end": {}}, "context": {"only": 7}},
    {"command": "agentLs.approve", "arguments": [{"requestId": 7}]},
    {"command": "agentLs.approve", "arguments": [{"requestId": "a-guessed"}]},
    {"command": "agentLs.keep", "arguments": [{"hunkIds": "h1"}]},
    {"command": "agentLs.undo", "arguments": nested(200)},
    {"command": "agentLs.send", "arguments": "uri"},
]


@pytest.mark.req("R5", "H8", "H7")
async def test_requests_with_invalid_params_are_answered_and_approve_nothing(project: Path) -> None:
    chat = project / "chat.agent.md"
    async with chatting(chat, name="kate") as editor:
        editor.on_prompt = None
        await editor.say(TASK)
        await editor.chat_until("Asks for approval")
        for method in ("codeAction", "codeLens", "completion"):
            for params in NONSENSE:
                with anyio.move_on_after(30) as limit:
                    try:
                        await editor.client.request(f"textDocument/{method}", params)
                    except ResponseError as error:
                        assert "Traceback" not in json.dumps([error.message, error.data])
                assert not limit.cancelled_caught, (method, params)
        for params in NONSENSE:
            with pytest.raises(ResponseError):
                await editor.client.request("workspace/executeCommand", params)
            await editor.client.notify("window/workDoneProgress/cancel", params)
        assert "Allowed." not in editor.documents[chat.as_uri()].source
        assert editor.prompts_shown == 1
        (allowed,) = [one for one in await editor.actions(chat, 0, 0) if one["title"].startswith("Deny")]
        await editor.choose(allowed)
        await editor.chat_until("Denied")


@pytest.mark.req("H8", "H4")
async def test_a_chat_contains_the_answer_once_when_the_editor_drops_edits_but_reports_them_as_applied(
    project: Path,
) -> None:
    async with server_process() as server:
        editor = StockEditor(server.client, "neovim")
        editor.on_prompt = lambda titles: "Deny"
        apply, count = editor.client.handlers["workspace/applyEdit"], 0

        async def lie(params: Any) -> Any:
            nonlocal count
            count += 1
            if count % 3 == 1:
                assert editor.chat
                await editor.append(
                    editor.chat, "typed "
                )  # makes the edit of the server one for an old version
                return {"applied": True}
            return await apply(params)

        editor.client.handlers["workspace/applyEdit"] = lie
        await editor.start(project, provider="walkthrough")
        await editor.open(project / "chat.agent.md", "")
        await editor.say(TASK)
        text = await editor.chat_until("## you\n", after="## agent")
        assert text.count("Found it") == 1 and text.count("## agent <!--") == 1
        assert text.count("typed ") == len([n for n in range(1, count + 1) if n % 3 == 1])
        assert text.startswith(TASK)


@pytest.mark.req("H8", "E4", "R5")
async def test_a_client_that_stops_reading_finds_the_whole_answer_when_it_reads_again(project: Path) -> None:
    chat = project / "chat.agent.md"
    async with chatting(chat, name="helix") as editor:
        editor.on_prompt = lambda titles: "Deny"
        await editor.say(TASK)
        await editor.chat_until("## agent")
        editor.client.stop_reading()
        for _ in range(2_000):
            await editor.client.notify(
                "workspace/didChangeConfiguration", {"settings": {"agentLs": {"mood": 1}}}
            )
        editor.client.go_on_reading()
        await editor.chat_until("Denied")
        assert await editor.actions(chat, 0, 0) is not None
