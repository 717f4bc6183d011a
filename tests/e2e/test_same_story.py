"""The same scenario in every plugin-free editor (H8), played by pytest-lsp's client with the editor's capabilities."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.e2e.pytest_lsp_client import pytest_lsp_server
from tests.e2e.stock import StockEditor, stock_editors
from tests.support.loopback import Answer, AnthropicServer, Gate, Text, ToolCall

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
NEW = OLD.replace("one", "ONE").replace("seven", "SEVEN")


def edit(old: str, new: str) -> ToolCall:
    return ToolCall("edit_file", {"file_path": "a.txt", "old_string": old, "new_string": new})


async def session(editor: StockEditor, chat: Path, text: str, project: Path) -> None:
    editor.on_prompt = lambda titles: "Allow once"
    await editor.start(project, provider="anthropic", mode="ask")
    await editor.open(chat, text)


async def turn_is_over(editor: StockEditor, last: str) -> str:
    """Wait until the chat has an empty user heading after these words; return its text."""
    await editor.chat_until(last)
    return await editor.chat_until("## you\n\n", after=last)


async def reached(gate: Gate, editor: StockEditor, provider: AnthropicServer) -> None:
    """Wait until the stream is at the gate. A failure shows how many requests were sent, and the chat."""
    try:
        await anyio.to_thread.run_sync(gate.wait_reached)
    except AssertionError as error:
        assert editor.chat
        text = editor.documents[editor.chat.as_uri()].source
        raise AssertionError(f"{error}; {len(provider.requests)} requests; the chat:\n{text}") from None


@pytest.mark.req("H8", "H6", "H7", "H5", "R4", "L6")
@pytest.mark.parametrize("name", stock_editors())
async def test_the_same_session_scenario_completes_in_each_editor_without_a_plugin(
    name: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file, chat = project / "a.txt", project / "chat.agent.md"
    file.write_text(OLD)
    talking, working = Gate(), Gate()
    answers: list[Answer] = [
        [ToolCall("read_file", {"file_path": "a.txt"})],
        [edit("one", "ONE")],
        [edit("seven", "SEVEN")],
        [ToolCall("shell", {"command": "touch made"})],
        [Text("First ", talking, "done.")],
        "Second done.",
        [Text("I begin", working, " and end.")],
        "I remember.",
    ]
    with AnthropicServer(answers) as provider:
        env = {**os.environ, "ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with pytest_lsp_server(env) as client:
            editor = StockEditor(client, name)  # type: ignore[arg-type]  # as far as it needs one
            await session(editor, chat, "", project)
            # An edit and a command, each approved; a second message while the answer streams.
            await editor.say("Change it.")
            await reached(talking, editor, provider)
            assert await anyio.Path(file).read_text() == NEW and (project / "made").exists()
            assert editor.prompts_shown == 3 and editor.most_prompts == 1
            await editor.append(chat, "And then?\n")
            talking.open()
            await editor.chat_until("First done.")
            await editor.chat_until("## you\n\nAnd then?", after="First done.")
            await editor.save(chat)
            await turn_is_over(editor, "Second done.")
            # The review by code actions: one change is kept, one is undone.
            marks = await editor.marks(file)
            assert {mark["source"] for mark in marks} == {"agent-ls"}
            await editor.open(file)
            for line, wanted in ((0, "Keep this change"), (6, "Undo this change")):
                offered = await editor.actions(file, line, line, only=["quickfix"])
                await editor.choose(next(item for item in offered if item["title"].startswith(wanted)))
            document = editor.documents[file.as_uri()]
            await editor.until(lambda: document.source == OLD.replace("one", "ONE"))
            # The user stops a turn.
            await editor.say("Go on for long.")
            await reached(working, editor, provider)
            await editor.command("agentLs.stop")
            text = await turn_is_over(editor, "Stopped.")
            assert not editor.problems, editor.problems
            await editor.save(file)
            await editor.client.shut_down()
        working.open()
        async with pytest_lsp_server(env) as client:
            editor = StockEditor(client, name)  # type: ignore[arg-type]  # as above
            await session(editor, chat, text, project)
            await editor.say("What was it?")
            whole = await editor.chat_until("I remember.")
            assert whole.startswith(text.rstrip("\n"))
            messages = str(provider.requests[-1].body["messages"])
            assert "Change it." in messages and "And then?" in messages and "Second done." in messages
            assert not editor.problems, editor.problems


@pytest.mark.req("H8", "H6")
async def test_a_message_typed_after_a_notice_between_turns_is_sent(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file, chat = project / "a.txt", project / "chat.agent.md"
    file.write_text(OLD)
    answers: list[Answer] = [
        [ToolCall("read_file", {"file_path": "a.txt"})],
        [edit("one", "ONE")],
        "First done.",
        "Second done.",
    ]
    with AnthropicServer(answers) as provider:
        env = {**os.environ, "ANTHROPIC_API_KEY": "sk-test-loopback", "ANTHROPIC_BASE_URL": provider.base_url}
        async with pytest_lsp_server(env) as client:
            editor = StockEditor(client, "helix")  # type: ignore[arg-type]  # as above
            await session(editor, chat, "", project)
            await editor.say("Change it.")
            await turn_is_over(editor, "First done.")
            await editor.open(file)
            offered = await editor.actions(file, 0, 0, only=["quickfix"])
            await editor.choose(
                next(item for item in offered if item["title"].startswith("Undo this change"))
            )
            await editor.chat_until("The changes in a.txt are undone in the editor.", after="First done.")
            await editor.say("And then?")
            text = await turn_is_over(editor, "Second done.")
    assert text.count("## agent") == 2 and text.count("undone in the editor") == 1
