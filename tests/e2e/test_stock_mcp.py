"""MCP servers in the chat of a plugin-free editor: their list, switching them on and off, resources and prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import StockEditor, chatting
from tests.mcp.plans import raw_server, user_file
from tests.support.loopback import AnthropicServer

pytestmark = [pytest.mark.req("T11", "H8"), pytest.mark.usefixtures("mcp_sdk")]

LONG = "demo://rows/7:2"  # its end looks like the line numbers in a mention of a file
WAIT = {"firstWaitMs": 60_000}


@pytest.fixture
def mcp_sdk() -> None:
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    copy_sample_project(tmp_path / "project")
    prompts = [{"name": "explain", "description": "Explain a row", "arguments": [{"name": "row"}]}]
    resources = [{"uri": LONG, "name": "a row"}, {"uri": "demo://a b", "name": "cannot be typed"}]
    good = raw_server(tmp_path / "plans", "db", prompts=prompts, resources=resources)
    user_file(tmp_path / "state", db=good, gone={"command": "no-such-program-here"})
    return tmp_path / "project" / "chat.agent.md"


def last_prompt(provider: AnthropicServer) -> str:
    return str(provider.requests[-1].body["messages"][-1]["content"])


async def answered(editor: StockEditor, message: str, answer: str) -> None:
    await editor.say(message)
    await editor.chat_until(f"{answer}\n\n## you\n", after=message)


async def test_mcp_servers_are_listed_with_tools_and_errors_and_can_be_switched_off_and_on(
    chat: Path,
) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as provider:
        async with chatting(chat, "", provider, state=chat.parents[1] / "state", mcp=WAIT) as editor:
            await answered(editor, "/mcp", "> The MCP servers of a chat are started with its first message.")
            await answered(editor, "First.", "One.")
            await editor.say("/mcp")
            text = await editor.chat_until("> - db: running, 1 tool (")
            listed = text[text.index("One.") :]
            assert ">   Tools: echo" in listed and "> - gone: " in listed and "no-such-program-here" in listed
            await editor.say("/mcp off db")
            await editor.chat_until("> - db: off, ", after="/mcp off db")
            await answered(editor, "Second.", "Two.")
            await editor.say("/mcp on other")
            await editor.chat_until("> There is no MCP server other", after="/mcp on other")
            await editor.say("/mcp on db")
            await editor.chat_until("> - db: ", after="/mcp on db")
            await answered(editor, "Third.", "Three.")
    offered = [any(it["name"] == "db__echo" for it in request.body["tools"]) for request in provider.requests]
    assert offered == [True, False, True]
    assert "/mcp" not in str([request.body["messages"] for request in provider.requests])


async def test_a_mention_of_an_mcp_resource_is_completed_and_sends_the_text_of_the_resource(
    chat: Path,
) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as provider:
        async with chatting(chat, "", provider, state=chat.parents[1] / "state", mcp=WAIT) as editor:
            await answered(editor, "First.", "One.")

            async def labels(word: str) -> list[str]:
                await editor.append(chat, word)
                line = editor.documents[chat.as_uri()].source.count("\n")
                found: list[dict[str, Any]] = (await editor.complete(chat, line, word))["items"]
                await editor.append(chat, "\n")
                return [item["label"] for item in found]

            assert await labels("@db:de") == [f"@db:{LONG}"]
            await answered(editor, f"Look at @db:{LONG}.", "Two.")
            assert f"text of {LONG}" in last_prompt(provider) and "MCP server db" in last_prompt(provider)
            assert "/mcp" in await labels("/mc")


async def test_a_prompt_of_an_mcp_server_is_a_slash_command(chat: Path) -> None:
    with AnthropicServer(["One.", "Two."]) as provider:
        async with chatting(chat, "", provider, state=chat.parents[1] / "state", mcp=WAIT) as editor:
            await answered(editor, "First.", "One.")
            await answered(editor, "/db:explain seven", "Two.")
    assert "server db" in last_prompt(provider)
    assert 'explain {"row": "seven"}' in last_prompt(provider).replace("\\", "")


async def test_the_mcp_server_list_is_displayed_as_a_message_if_the_editor_refuses_the_edit(
    chat: Path,
) -> None:
    with AnthropicServer([]) as provider:
        async with chatting(chat, "", provider, name="kate", state=chat.parents[1] / "state") as editor:
            editor.takes_edits = False
            await editor.say("/mcp")
            shown = await editor.client.wait_for(
                lambda message: message.get("method") == "window/showMessage"
            )
    assert "servers of a" in shown["params"]["message"]
