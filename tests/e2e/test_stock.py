"""A plugin-free editor (H8): a whole session through a chat document, prompts, code actions, progress and
diagnostics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import chatting
from tests.support.framed_client import DEADLINE_S, ResponseError
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

TASK = "Please fix the discount."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    copy_sample_project(folder)
    return folder


@pytest.mark.req("H8")
async def test_code_lenses_are_refreshed_when_they_differ_and_not_at_every_step_of_a_turn(
    project: Path,
) -> None:
    cart, command = project / "shop" / "cart.py", ToolCall("shell", {"command": "touch made"})
    edit = ToolCall(
        "edit_file", {"file_path": "shop/cart.py", "old_string": "RATE = 0.1", "new_string": "RATE = 0.2"}
    )
    look = ToolCall("read_file", {"file_path": "shop/cart.py"})
    with AnthropicServer([*[[command]] * 4, [look], [edit], "All done."]) as provider:
        async with chatting(project / "chat.agent.md", "", provider, name="vscode") as editor:
            editor.on_prompt = lambda titles: "Allow once"
            await editor.open(cart)
            assert await editor.lenses(cart) == []
            await editor.say(TASK)
            await editor.chat_until("## you\n\n", after="All done.")
            while not (titles := await editor.lenses(cart)):
                seen = editor.lens_refreshes
                await editor.until(lambda seen=seen: editor.lens_refreshes > seen)  # type: ignore[misc]
            assert titles[0].startswith("Keep")
            assert editor.prompts_shown == 5
            assert editor.lens_refreshes <= 2


@pytest.mark.req("H8", "H7")
@pytest.mark.parametrize(
    "answer", [None, {}, {"title": ""}, {"title": "allow once"}, {"title": 7}, [], "error"]
)
async def test_a_prompt_answer_that_is_not_an_offered_title_approves_nothing(
    answer: Any, project: Path
) -> None:
    async with chatting(project / "chat.agent.md") as editor:
        editor.on_prompt = lambda titles: answer
        await editor.say(TASK)
        await editor.until(lambda: editor.prompts_shown == 1 and editor.open_prompts == 0)
        chat = project / "chat.agent.md"
        await editor.chat_until("Asks for approval")
        offered = await editor.actions(chat, 0, 0)
        titles = [item["title"] for item in offered if "Allow" in item["title"] or "Deny" in item["title"]]
        assert titles[0].startswith("Deny: ") and titles[1].startswith("Allow once: ")
        assert "Allowed." not in editor.documents[chat.as_uri()].source
        await editor.choose(next(item for item in offered if item["title"].startswith("Deny: ")))
        await editor.chat_until("Denied")


@pytest.mark.req("H8", "H7")
async def test_an_approval_prompt_is_displayed_only_after_the_chat_contains_the_request(
    project: Path,
) -> None:
    chat, seen = project / "chat.agent.md", list[str]()

    def looks(titles: list[str]) -> str:
        seen.append(editor.documents[chat.as_uri()].source)
        return "Allow once"

    async with chatting(project / "chat.agent.md") as editor:
        editor.on_prompt = looks
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")
    assert [text.rstrip().endswith("`agentLs.approve`.") for text in seen] == [True] * 4
    assert "```diff" in seen[0] and "python3 -m unittest" in seen[1]


@pytest.mark.req("H8", "H7")
async def test_an_unanswered_approval_prompt_is_cancelled_when_a_code_action_decides(project: Path) -> None:
    async with chatting(project / "chat.agent.md") as editor:
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
async def test_an_editor_that_refuses_unasked_edits_gets_the_answer_by_the_show_the_answer_action(
    project: Path,
) -> None:
    chat = project / "chat.agent.md"
    async with chatting(
        project / "chat.agent.md", name="kate"
    ) as editor:  # this editor delays its diagnostics by two seconds
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
async def test_the_cancel_button_of_the_work_done_progress_stops_the_turn(project: Path) -> None:
    async with chatting(project / "chat.agent.md", name="vscode") as editor:
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
async def test_a_message_reports_the_end_of_a_turn_once_to_an_editor_without_progress_display(
    project: Path, name: str, notify: str, expected: int
) -> None:
    async with chatting(project / "chat.agent.md", name=name, notify=notify) as editor:
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")

        messages = [m["params"] for m in editor.client.received if m.get("method") == "window/showMessage"]
        assert messages.count({"type": 3, "message": "agent-ls: done."}) == len(messages) == expected


@pytest.mark.req("H8")
async def test_text_typed_while_an_answer_streams_is_kept_and_not_sent(project: Path) -> None:
    async with chatting(project / "chat.agent.md") as editor:
        chat = project / "chat.agent.md"
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        await editor.chat_until("## agent")
        await editor.append(chat, "and then write a test")
        await editor.save(chat)
        text = await editor.chat_until("## you\n\nand then write a test")
        assert text.count("## agent <!--") == 1


@pytest.mark.req("H8", "R4")
async def test_a_chat_continues_its_session_after_a_restart(project: Path) -> None:
    chat = project / "chat.agent.md"
    async with chatting(project / "chat.agent.md") as editor:
        editor.on_prompt = None
        await editor.say(TASK)
        await editor.chat_until("Asks for approval")
        text = editor.documents[chat.as_uri()].source
        await editor.client.shut_down()
    async with chatting(chat, text) as editor:
        editor.on_prompt = lambda titles: "Allow once"
        whole = await editor.chat_until("## you\n\n", after="Asks for approval")
        assert whole.startswith(text.rstrip("\n")) and "Allowed." in whole
        assert whole.count("## agent <!--") == 1


@pytest.mark.req("H8", "R4")
async def test_a_chat_whose_answer_was_interrupted_by_the_editors_end_can_be_continued(
    project: Path,
) -> None:
    chat, halfway, gate = project / "chat.agent.md", Gate(), Gate()
    look = ToolCall("read_file", {"file_path": "shop/cart.py"})
    begun = Text("I begin by ", halfway, "reading the code and its tests.")
    with AnthropicServer([[begun, look], [Text("Found it", gate, ".")]]) as provider:
        async with chatting(project / "chat.agent.md", "", provider) as editor:
            await editor.say(TASK)
            text = await editor.chat_until("I begin by")
            halfway.open()
            await editor.chat_until("Found it")
            await editor.client.shut_down()
        async with chatting(chat, f"{text.rstrip()}\n\nAnd now?\n") as editor:
            whole = await editor.chat_until("## you\n", after="Found it")
            assert "> Stopped.\n\n## you\n" in whole and whole.rstrip().endswith("\n\nAnd now?")
            assert whole.count("I begin by") == whole.count("reading the code and its tests.") == 1
        gate.open()


@pytest.mark.req("H8", "R4")
async def test_an_answer_that_was_not_saved_in_the_chat_is_restored_when_the_chat_is_reopened(
    project: Path,
) -> None:
    chat = project / "chat.agent.md"
    async with chatting(project / "chat.agent.md", mode="full") as editor:
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")
        await editor.say("What else?")
        saved = editor.documents[chat.as_uri()].source
        whole = await editor.chat_until("## you\n\n", after="What else?")
        await editor.client.shut_down()
    async with chatting(chat, saved) as editor:
        assert await editor.chat_until("## you\n\n", after="What else?") == whole


@pytest.mark.req("H8")
async def test_a_chat_closed_while_its_answer_streams_contains_the_complete_answer_when_reopened(
    project: Path,
) -> None:
    chat, cart = project / "chat.agent.md", project / "shop" / "cart.py"
    async with chatting(project / "chat.agent.md", mode="full", walkthroughPauseMs=20) as editor:
        before = (await editor.open(cart)).source
        await editor.say(TASK)
        await editor.chat_until("I begin by")
        text = await editor.close(chat)
        await editor.until(lambda: editor.documents[cart.as_uri()].source != before)
        await editor.open(chat, text)
        whole = await editor.chat_until("## you\n\n", after="## agent")
        for words in (
            "I begin by reading the code and its tests.",
            "Found it: ",
            "One test is left",
            "## agent <!--",
        ):
            assert whole.count(words) == 1, whole


@pytest.mark.req("H8", "L15")
async def test_the_user_can_reply_in_the_chat_to_an_answer_that_ends_with_a_question(project: Path) -> None:
    with AnthropicServer(["Shall I?", "I did."]) as provider:
        async with chatting(project / "chat.agent.md", "", provider) as editor:
            await editor.say("Look.")
            await editor.chat_until("Shall I?")
            await editor.chat_until("## you\n\n", after="Shall I?")
            await editor.say("Yes.")
            await editor.chat_until("I did.")
            await editor.chat_until("## you\n\n", after="I did.")


@pytest.mark.req("H8", "T7", "L15")
@pytest.mark.parametrize("way", ["words", "action"])
async def test_a_question_of_the_agent_is_in_the_chat_and_answered_there(way: str, project: Path) -> None:
    chat = project / "chat.agent.md"
    ask = ToolCall("ask_user", {"question": "Which currency?", "choices": ["Euro", "US Dollar"]})
    with AnthropicServer([[Text("Let me see."), ask], "So be it."]) as provider:
        async with chatting(project / "chat.agent.md", "", provider) as editor:
            await editor.say("Go.")
            text = await editor.chat_until("## you\n\n", after="## agent")
            assert "Which currency?\n\n1. Euro\n2. US Dollar\n\n## you" in text
            if way == "words":
                await editor.say("us dollar.")
            else:
                offered = {it["title"]: it for it in await editor.actions(chat, 0, 0)}
                await editor.choose(offered["Answer: US Dollar"])
            await editor.chat_until("So be it.")
            text = await editor.chat_until("## you\n\n", after="So be it.")
        assert "US Dollar" in json.dumps(provider.requests[1].body["messages"][-1])
    assert text.count("## agent <!--") == 2


@pytest.mark.req("H8", "L6")
async def test_a_message_below_the_users_own_heading_steers_the_running_turn(project: Path) -> None:
    chat, gate = project / "chat.agent.md", Gate()
    look = ToolCall("read_file", {"file_path": "shop/cart.py"})
    with AnthropicServer([[Text("I look."), gate, look], "In Euro."]) as provider:
        async with chatting(project / "chat.agent.md", "", provider) as editor:
            await editor.say("Go.")
            await editor.chat_until("I look.")
            await editor.say("\n## you\n\nIn Euro, please.")
            await editor.save(chat)  # saving twice sends the message once
            gate.open()
            await editor.chat_until("sent to the model: In Euro, please.")
            text = await editor.chat_until("## you\n\n", after="sent to the model: In Euro, please.")
        assert json.dumps(provider.requests[1].body["messages"]).count("In Euro, please.") == 1
    assert (
        text.index("## you\n\nIn Euro, please.") < text.index("sent to the model") < text.index("In Euro.\n")
    )


@pytest.mark.req("H8")
async def test_mentions_and_commands_are_completed_and_a_slash_inside_a_word_is_not(project: Path) -> None:
    async with chatting(project / "chat.agent.md") as editor:
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
    async with chatting(project / "chat.agent.md") as editor:
        await editor.append(chat, "/te")
        found = await editor.complete(chat, 0, "/te")
        assert found["items"][0]["label"] == "/tests"
        await editor.append(chat, "\nsee a/te")
        assert (await editor.complete(chat, 1, "see a/te"))["items"] == []


@pytest.mark.req("H8", "R5")
async def test_commands_with_invalid_arguments_are_refused_with_a_hint(project: Path) -> None:
    async with chatting(project / "chat.agent.md") as editor:
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
        message = await editor.client.wait_for(lambda m: m.get("method") == "window/showMessage")
        assert "nothing to send" in message["params"]["message"]


@pytest.mark.req("H8")
async def test_a_code_action_asks_about_lines_of_a_file(project: Path) -> None:
    async with chatting(project / "chat.agent.md") as editor:
        cart, chat = project / "shop" / "cart.py", project / "chat.agent.md"
        await editor.open(cart)
        offered = {action["title"]: action for action in await editor.actions(cart, 2, 5, only=["refactor"])}
        assert len(offered) > 1, "a lone one is carried out unasked by some editors"
        ask = next(action for title, action in offered.items() if title.startswith("Ask the agent about"))
        await editor.choose(ask)
        with anyio.fail_after(DEADLINE_S):
            await editor.until(lambda: editor.documents[chat.as_uri()].source.startswith("@shop/cart.py:3-"))
