"""An editor without a plugin (H8): a whole session by a chat document, prompts, code actions, progress and marks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.app.sample import copy_sample_project
from tests.support.framed_client import DEADLINE_S, ResponseError, server_process
from tests.support.stock import StockEditor, stock_editors

TASK = "Please fix the discount."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    copy_sample_project(folder)
    return folder


@asynccontextmanager
async def chatting(project: Path, name: str = "neovim", **settings: Any) -> AsyncIterator[StockEditor]:
    async with server_process() as server:
        editor = StockEditor(server.client, name)
        await editor.start(project, provider="walkthrough", **settings)
        await editor.open(project / "chat.agent.md", "")
        yield editor


@pytest.mark.req("H8", "H6", "H7")
@pytest.mark.parametrize("name", stock_editors())
async def test_a_scripted_conversation_completes_with_only_the_server(name: str, project: Path) -> None:
    async with chatting(project, name) as editor:
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        text = await editor.chat_until("## you\n\n", after="## agent")
        assert text.startswith(f"{TASK}\n\n## agent <!-- s-")
        assert "✓ " in text and "Allowed." in text
        assert editor.open_prompts == 0 and editor.most_prompts == 1
        cart = project / "shop" / "cart.py"
        changed = await anyio.Path(cart).read_text()
        marks = await editor.marks(cart)  # all of them announce that they show diagnostics
        assert marks[0]["source"] == "agent-ls" and marks[0]["severity"] == 3
        await editor.open(cart)
        line = marks[0]["range"]["start"]["line"]
        offered = await editor.actions(cart, line, line, only=["quickfix"])
        undo = next(item for item in offered if item["title"].startswith("Undo this change"))
        await editor.choose(undo)
        await editor.until(lambda: editor.documents[cart.as_uri()].source != changed)
        assert not editor.problems, editor.problems


@pytest.mark.req("H8", "H7")
@pytest.mark.parametrize(
    "answer", [None, {}, {"title": ""}, {"title": "allow once"}, {"title": 7}, [], "error"]
)
async def test_an_answer_that_is_no_offered_title_approves_nothing(answer: Any, project: Path) -> None:
    async with chatting(project) as editor:
        editor.on_prompt = lambda titles: answer
        await editor.say(TASK)
        await editor.until(lambda: editor.prompts_shown == 1 and editor.open_prompts == 0)
        chat = project / "chat.agent.md"
        await editor.chat_until("Waiting for you")
        offered = await editor.actions(chat, 0, 0)
        titles = [item["title"] for item in offered if "Allow" in item["title"] or "Deny" in item["title"]]
        assert titles[0].startswith("Deny: ") and titles[1].startswith("Allow once: ")
        assert "Allowed." not in editor.documents[chat.as_uri()].source
        await editor.choose(next(item for item in offered if item["title"].startswith("Deny: ")))
        await editor.chat_until("Denied")


@pytest.mark.req("H8", "H7")
async def test_a_prompt_that_is_never_answered_is_taken_back_when_an_action_answers(project: Path) -> None:
    async with chatting(project) as editor:
        editor.on_prompt = None
        await editor.say(TASK)
        await editor.until(lambda: editor.prompts_shown == 1)
        offered = await editor.actions(project / "chat.agent.md", 0, 0)
        await editor.choose(next(item for item in offered if item["title"].startswith("Deny: ")))
        await editor.chat_until("Denied")
        await editor.client.wait_for(lambda m: m.get("method") == "$/cancelRequest")
        await editor.chat_until("## you\n\n", after="## agent")
        assert editor.most_prompts == 1


@pytest.mark.req("H8", "H11")
async def test_an_editor_that_takes_edits_after_commands_only_gets_the_answer_with_the_next_one(
    project: Path,
) -> None:
    chat = project / "chat.agent.md"
    async with chatting(project, "kate") as editor:  # it takes them for two seconds
        editor.takes_edits = False
        editor.on_prompt = lambda titles: "Allow once"
        assert not [it for it in await editor.actions(chat, 0, 0) if it["title"] == "Show the answer"]
        await editor.say(TASK)
        await editor.client.wait_for(lambda m: "'Show the answer'" in str(m.get("params", {}).get("message")))
        await editor.progress("end")
        assert editor.documents[chat.as_uri()].source == f"{TASK}\n" and editor.refused_edits == 1
        await editor.save(chat)
        offered = {it["title"]: it for it in await editor.actions(chat, 0, 0)}
        show = offered.pop("Show the answer")
        assert not offered, "what was answered is not sent again"
        editor.takes_edits = True
        await editor.choose(show)
        text = await editor.chat_until("## you\n\n", after="## agent")
        assert text.startswith(f"{TASK}\n\n## agent <!-- s-")
        assert text.count("All tests pass.") == 1 and text.count("## agent") == 1
        assert not [it for it in await editor.actions(chat, 0, 0) if it["title"] == "Show the answer"]


@pytest.mark.req("H8")
async def test_progress_shows_a_turn_and_its_button_stops_it(project: Path) -> None:
    async with chatting(project, "vscode") as editor:
        editor.on_prompt = None
        await editor.say(TASK)
        begin = await editor.progress("begin")
        assert begin["value"]["cancellable"] is True
        await editor.until(lambda: editor.prompts_shown == 1)
        await editor.client.notify("window/workDoneProgress/cancel", {"token": begin["token"]})
        await editor.chat_until("Stopped.")
        assert (await editor.progress("end"))["token"] == begin["token"]


@pytest.mark.req("H8", "H17")
@pytest.mark.parametrize(
    ("name", "notify", "expected"), [("eglot", "unseen", 1), ("eglot", "off", 0), ("vscode", "unseen", 0)]
)
async def test_the_end_of_a_turn_is_told_once_where_no_progress_tells_it(
    project: Path, name: str, notify: str, expected: int
) -> None:
    async with chatting(project, name, notify=notify) as editor:
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")

        told = [m["params"] for m in editor.client.received if m.get("method") == "window/showMessage"]
        assert told.count({"type": 3, "message": "agent-ls: done."}) == len(told) == expected


@pytest.mark.req("H8")
async def test_what_the_user_types_while_an_answer_streams_stays_and_is_not_sent(project: Path) -> None:
    async with chatting(project) as editor:
        chat = project / "chat.agent.md"
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        await editor.chat_until("## agent")
        await editor.append(chat, "and then write a test")
        await editor.save(chat)
        text = await editor.chat_until("## you\n\nand then write a test")
        assert text.count("## agent <!--") == 1


@pytest.mark.req("H8", "R4")
async def test_a_chat_goes_on_in_its_session_after_a_restart(project: Path) -> None:
    chat = project / "chat.agent.md"
    async with chatting(project) as editor:
        editor.on_prompt = None
        await editor.say(TASK)
        await editor.chat_until("Waiting for you")
        text = editor.documents[chat.as_uri()].source
        await editor.client.shut_down()
    async with server_process() as server:
        editor = StockEditor(server.client, "neovim")
        editor.on_prompt = lambda titles: "Allow once"
        await editor.start(project, provider="walkthrough")
        await editor.open(chat, text)
        whole = await editor.chat_until("## you\n\n", after="Waiting for you")
        assert whole.startswith(text.rstrip("\n")) and "Allowed." in whole
        assert whole.count("## agent <!--") == 1


@pytest.mark.req("H8")
async def test_at_and_slash_are_completed_where_they_mean_something(project: Path) -> None:
    async with chatting(project) as editor:
        chat = project / "chat.agent.md"
        await editor.append(chat, "ü look at @car")
        found = await editor.complete(chat, 0, "ü look at @car")
        (item,) = [item for item in found["items"] if item["label"] == "@shop/cart.py"]
        assert item["textEdit"]["newText"] == "@shop/cart.py"
        start, end = item["textEdit"]["range"]["start"], item["textEdit"]["range"]["end"]
        assert (start["character"], end["character"]) == (
            len("ü look at ".encode()),
            len("ü look at @car".encode()),
        )
        assert found["isIncomplete"]
    async with chatting(project) as editor:
        await editor.append(chat, "/te")
        found = await editor.complete(chat, 0, "/te")
        assert found["items"][0]["label"] == "/tests"
        await editor.append(chat, "\nsee a/te")
        assert (await editor.complete(chat, 1, "see a/te"))["items"] == []


@pytest.mark.req("H8", "R5")
async def test_commands_that_make_no_sense_say_why(project: Path) -> None:
    async with chatting(project) as editor:
        senseless: list[tuple[str, list[Any]]] = [
            ("agentLs.send", [{"uri": "file:///elsewhere.agent.md"}]),
            ("agentLs.approve", []),
            ("agentLs.approve", [{"requestId": "a-none"}]),
            ("agentLs.keep", [{}]),
            ("agentLs.keep", [7]),
            ("agentLs.nothing", []),
            ("agentLs.ask", [{"uri": "untitled:1", "first": 0, "end": 1}]),
        ]
        for command, arguments in senseless:
            with pytest.raises(ResponseError) as refused:
                await editor.command(command, *arguments)
            assert refused.value.data["hint"], command
        await editor.command("agentLs.deny")
        await editor.command("agentLs.send")
        told = await editor.client.wait_for(lambda m: m.get("method") == "window/showMessage")
        assert "nothing to send" in told["params"]["message"]


@pytest.mark.req("H8")
async def test_lines_of_a_file_are_asked_about_by_an_action(project: Path) -> None:
    async with chatting(project) as editor:
        cart, chat = project / "shop" / "cart.py", project / "chat.agent.md"
        await editor.open(cart)
        (ask,) = await editor.actions(cart, 2, 5, only=["refactor"])
        await editor.choose(ask)
        with anyio.fail_after(DEADLINE_S):
            await editor.until(lambda: editor.documents[chat.as_uri()].source.startswith("@shop/cart.py:3-"))
