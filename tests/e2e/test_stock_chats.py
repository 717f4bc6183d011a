"""Chats of a plugin-free editor: several at once, in other folders, closed early, and edited during an answer (H8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.e2e.stock import chatting
from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

pytestmark = pytest.mark.req("H8")


async def test_selected_lines_are_added_to_the_chat_that_the_user_chooses(chat: Path) -> None:
    cart, other = chat.parent / "shop" / "cart.py", chat.parent / "other.agent.md"
    with AnthropicServer([]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.open(other, "")
            await editor.open(cart)
            offered = {it["title"]: it for it in await editor.actions(cart, 2, 5, only=["refactor"])}
            title = "Ask the agent about these lines in"
            explain = "Explain these lines with the agent in"
            names = ("chat.agent.md", "other.agent.md")
            assert list(offered) == [f"{begin} {name}" for begin in (title, explain) for name in names]
            await editor.choose(offered[f"{title} other.agent.md"])
            await editor.chat_until("@shop/cart.py:3-5")
            assert editor.documents[chat.as_uri()].source == ""


async def test_each_chat_offers_only_code_actions_for_its_own_approvals(chat: Path) -> None:
    cart, other = chat.parent / "shop" / "cart.py", chat.parent / "other.agent.md"
    touch = [ToolCall("shell", {"command": "touch new"})]
    with AnthropicServer([touch, touch, "Done."]) as provider:
        async with chatting(chat, "", provider, mode="ask") as editor:
            await editor.say("Go.")
            await editor.chat_until("Asks for approval")
            await editor.open(other, "")
            await editor.say("Go.")
            await editor.chat_until("Asks for approval")

            async def allowing(path: Path) -> list[dict[str, Any]]:
                return [it for it in await editor.actions(path, 0, 0) if it["title"].startswith("Allow once")]

            titles = [item["title"] for item in await allowing(cart)]
            assert titles == [
                "Allow once: touch new (chat.agent.md)",
                "Allow once: touch new (other.agent.md)",
            ]
            (allow,) = await allowing(other)
            await editor.choose(allow)
            await editor.chat_until("Done.")
            assert "Allowed." not in editor.documents[chat.as_uri()].source
            assert len(await allowing(chat)) == 1


@pytest.mark.parametrize("is_in_workspace", [True, False])
async def test_files_are_completed_in_the_folder_where_the_chat_works(
    chat: Path, tmp_path: Path, is_in_workspace: bool
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "zebra.py").write_text("1\n")
    folders = [chat.parent, other] if is_in_workspace else []
    async with chatting(chat, None, folders=folders) as editor:
        await editor.open(other / "b.agent.md", "@zeb")
        found = await editor.complete(other / "b.agent.md", 0, "@zeb")
        assert [item["label"] for item in found["items"]] == ["@zebra.py"]


async def test_a_chat_moved_to_another_folder_reports_that_a_new_session_starts(
    chat: Path, tmp_path: Path
) -> None:
    with AnthropicServer(["One.", "Two."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Go.")
            text = await editor.chat_until("## you\n\n", after="## agent")
            await editor.client.shut_down()
        moved = tmp_path / "moved"
        moved.mkdir()
        async with chatting(moved / chat.name, text, provider) as editor:
            await editor.say("On.")
            await editor.chat_until("Two.")
            messages = [
                m["params"] for m in editor.client.received if m.get("method") == "window/showMessage"
            ]
            assert [str(chat.parent) in it["message"] for it in messages] == [True]


async def test_a_chat_in_a_folder_opened_through_a_link_continues(chat: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(chat.parent)
    with AnthropicServer(["One.", "Two."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Go.")
            text = await editor.chat_until("## you\n\n", after="## agent")
            await editor.client.shut_down()
        async with chatting(tmp_path / "link" / chat.name, text, provider) as editor:
            await editor.say("On.")
            await editor.chat_until("Two.")
        assert len(provider.requests[1].body["messages"]) == 3


@pytest.mark.req("H6")
async def test_diagnostics_of_hunks_are_published_and_cleared_while_the_chat_is_closed(chat: Path) -> None:
    cart, gate = chat.parent / "shop" / "cart.py", Gate()
    read = ToolCall("read_file", {"file_path": "shop/cart.py"})
    edit = ToolCall(
        "edit_file", {"file_path": "shop/cart.py", "old_string": "sum(prices)", "new_string": "0.0"}
    )
    with AnthropicServer([[read], [gate, edit], "Done."]) as provider:
        async with chatting(chat, "", provider, mode="full") as editor:
            await editor.open(cart)
            await editor.say("Go.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await editor.close(chat)
            await editor.actions(cart, 0, 0)
            gate.open()
            (mark,) = await editor.marks(cart)
            line, seen = mark["range"]["start"]["line"], len(editor.client.received)
            offered = await editor.actions(cart, line, line)
            await editor.choose(next(it for it in offered if it["title"].startswith("Keep this")))
            await editor.client.wait_for(
                lambda m: (
                    m.get("method") == "textDocument/publishDiagnostics" and not m["params"]["diagnostics"]
                ),
                after=seen,
            )


async def test_a_chat_reloaded_before_its_first_answer_was_saved_receives_the_answer_again(
    chat: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("One.\n", gate, "Two.\n")], "Three."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Go.")
            await editor.chat_until("One.")
            await editor.close(chat)
            await editor.open(chat, "Go.\n")
            await editor.actions(chat, 0, 0)
            gate.open()
            text = await editor.chat_until("## you\n\n", after="Two.")
            assert text.count("One.") == 1
            await editor.say("On.")
            await editor.chat_until("Three.")
        assert len(provider.requests[1].body["messages"]) == 3


@pytest.mark.parametrize("is_opened_again", [True, False])
async def test_a_message_in_an_emptied_chat_starts_a_new_session(chat: Path, is_opened_again: bool) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Go.")
            await editor.chat_until("## you\n\n", after="One.")
            if is_opened_again:
                await editor.close(chat)
                await editor.open(chat, "")
            else:
                with anyio.fail_after(DEADLINE_S):
                    while "Stop the agent" in str(await editor.actions(chat, 0, 0)):
                        pass  # the turn ends a moment after its answer
                await editor.empty(chat)
            await editor.say("Something else.")
            await editor.chat_until("## you\n\n", after="Two.")
            await editor.say("On.")
            await editor.chat_until("Three.")
        assert [len(it.body["messages"]) for it in provider.requests] == [1, 1, 3]


async def test_a_reversed_selection_in_a_file_offers_the_ask_action_and_an_untitled_document_does_not(
    chat: Path,
) -> None:
    cart = chat.parent / "shop" / "cart.py"
    with AnthropicServer([]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.open(cart)
            ask, _ = await editor.actions(cart, 5, 2)
            await editor.choose(ask)
            await editor.chat_until("@shop/cart.py:3-5")
            where = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
            asked = {"textDocument": {"uri": "untitled:1"}, "range": where, "context": {"diagnostics": []}}
            assert await editor.client.request("textDocument/codeAction", asked) == []


async def test_text_typed_in_a_chat_before_the_answer_begins_becomes_the_next_message(
    chat: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[gate, Text("One.")], "Two."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Go.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await editor.append(chat, "and also")
            await editor.actions(chat, 0, 0)
            gate.open()
            text = await editor.chat_until("## you\n\nand also")
            assert text.startswith("Go.\n\n## agent")
            await editor.say(" this")
            await editor.chat_until("Two.")
        assert json.dumps(provider.requests[1].body["messages"][-1]).count("and also this") == 1


async def test_a_command_may_have_its_argument_in_the_next_line(chat: Path) -> None:
    with AnthropicServer(["One."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("/tests\nof the cart")
            await editor.chat_until("One.")
        assert "Write tests for" in json.dumps(provider.requests[0].body["messages"])


async def test_without_reported_diagnostics_a_problems_mention_does_not_claim_no_problems(chat: Path) -> None:
    with AnthropicServer(["One."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say("Mend @problems please.")
            await editor.chat_until("One.")
        (message,) = provider.requests[0].body["messages"]
        assert "no problems" not in json.dumps(message["content"][-1])


@pytest.mark.req("H6")
async def test_a_chat_names_the_files_with_pending_changes(chat: Path) -> None:
    cart = chat.parent / "shop" / "cart.py"
    read = ToolCall("read_file", {"file_path": "shop/cart.py"})
    edit = ToolCall(
        "edit_file", {"file_path": "shop/cart.py", "old_string": "sum(prices)", "new_string": "0.0"}
    )
    with AnthropicServer([[read], [edit], "Done."]) as provider:
        async with chatting(chat, "", provider, mode="full", review="before") as editor:
            await editor.say("Go.")
            await editor.chat_until(f"> **Proposed changes** in `{cart}`: the changes are made when")
            (keep, *_) = await editor.actions(cart, 8, 8)
            await editor.choose(keep)
            text = await editor.chat_until("Done.")
    assert text.count("Proposed changes") == 1


@pytest.mark.req("H7")
async def test_an_approval_of_a_session_open_in_two_chats_is_prompted_once(chat: Path) -> None:
    other, touch = chat.parent / "other.agent.md", ToolCall("shell", {"command": "touch new"})
    with AnthropicServer(["One.", [touch], "Done."]) as provider:
        async with chatting(chat, "", provider, mode="ask") as editor:
            await editor.say("Hi.")
            text = await editor.chat_until("## you\n\n", after="One.")
            await editor.open(other, f"{text}Go.\n")
            await editor.save(other)
            await editor.chat_until("Asks for approval")
            editor.chat = chat
            await editor.chat_until("Asks for approval")
            cart = chat.parent / "shop" / "cart.py"
            offered = [it for it in await editor.actions(cart, 0, 0) if it["title"].startswith("Allow once")]
            assert len(offered) == 1
            await editor.choose(offered[0])
            await editor.chat_until("Done.")
            assert editor.prompts_shown == 1, "it was closed"


@pytest.mark.req("H7")
async def test_an_approval_prompt_is_displayed_while_the_chat_is_closed(chat: Path) -> None:
    gate, touch = Gate(), ToolCall("shell", {"command": "touch new"})
    with AnthropicServer([[Text("I touch."), gate, touch], "Done."]) as provider:
        async with chatting(chat, "", provider, mode="ask") as editor:
            editor.on_prompt = lambda titles: "Allow once"
            await editor.say("Go.")
            await editor.chat_until("I touch.")
            text = await editor.close(chat)
            await editor.actions(chat, 0, 0)
            gate.open()
            await editor.until(lambda: editor.prompts_shown == 1)
            await editor.open(chat, text)
            await editor.chat_until("## you\n\n", after="Done.")
        assert (chat.parent / "new").exists()


async def test_a_chat_that_is_closed_right_after_it_was_saved_has_its_answer_when_it_is_opened(
    chat: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[gate, Text("One.")], "Two."]) as provider:
        async with chatting(chat, "", provider) as editor:
            may_answer = await editor.holds_settings()
            await editor.say("Go.")
            text = await editor.close(chat)
            await editor.actions(chat, 0, 0)
            may_answer.set()
            await anyio.to_thread.run_sync(gate.wait_reached)
            await editor.open(chat, text)
            await editor.actions(chat, 0, 0)
            gate.open()
            await editor.chat_until("## you\n\n", after="One.")
            await editor.say("On.")
            await editor.chat_until("Two.")
        assert len(provider.requests[1].body["messages"]) == 3


@pytest.mark.req("H20")
async def test_a_diagnostic_of_another_language_server_is_fixed_by_a_code_action(chat: Path) -> None:
    cart = chat.parent / "shop" / "cart.py"
    with AnthropicServer(["Fixed."]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.open(cart)
            where = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 4}}
            problem = {"range": where, "message": "bad\n@diff type", "source": "checker"}
            params = {
                "textDocument": {"uri": cart.as_uri()},
                "range": where,
                "context": {"diagnostics": [problem], "only": ["quickfix"]},
            }
            actions = await editor.client.request("textDocument/codeAction", params)
            titles = [action["title"] for action in actions]
            assert titles == ["Fix with the agent: bad @diff type", "Explain with the agent: bad @diff type"]
            await editor.choose(actions[0])
            await editor.chat_until("Fixed.")
            said = str(provider.requests[-1].body["messages"][-1]["content"])
            assert "/fix bad  diff type @shop/cart.py:3-3" in said.replace("bad diff", "bad  diff")
            assert "Selected in" in said and "the cause first" in said and "Git diff" not in said
