"""A plan that the user edits and accepts, over real stdio: by a request, and by a code action in the chat document
(H22).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stock import chatting
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H22")

WRITE = [ToolCall("write_file", {"file_path": "made.txt", "content": "made\n"})]


def last_message(request: Any) -> str:
    return str(request.body["messages"][-1])


async def plan_made(found: Served, mode: str = "plan") -> str:
    session_id = await found.editor.new_session(provider="anthropic", mode=mode)
    await found.editor.say(session_id, "What would you do?")
    return session_id


async def test_accepting_a_plan_sends_the_edited_text_and_starts_work_in_the_chosen_mode(
    tmp_path: Path,
) -> None:
    script: list[Answer] = ["1. Read.\n2. Write.", WRITE, "Done."]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await plan_made(found)
            seen = len(found.client.received)
            answer = await found.change("acceptPlan", session_id, text="1. Only write.\n", mode="edits")
            assert answer["session"]["mode"] == "edits" and answer["turnId"]
            await found.editor.turn_end(session_id, seen)
            assert (found.project / "made.txt").read_text() == "made\n"
            kinds = [
                m["params"]["kind"] for m in found.client.received[seen:] if m.get("method") == "agent/event"
            ]
            assert "approval_requested" not in kinds
    accepted = last_message(provider.requests[1])
    assert "1. Only write." in accepted and "2. Write." not in accepted and "accept this plan" in accepted


async def test_accepting_a_plan_is_refused_if_it_is_empty_or_the_session_is_not_in_plan_mode(
    tmp_path: Path,
) -> None:
    with AnthropicServer(["1. Read."] * 2) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await plan_made(found)
            empty = await found.refused("acceptPlan", session_id, text=" \n", mode="ask")
            assert "is empty" in str(empty)
            other = await plan_made(found, "ask")
            refused = await found.refused("acceptPlan", other, text="1. Read.", mode="edits")
            assert "in mode ask" in str(refused) and refused.data["kind"] == "nothing_pending"
    assert len(provider.requests) == 2


async def test_a_plan_in_a_chat_document_is_edited_there_and_accepted_by_a_code_action(chat: Path) -> None:
    look = [ToolCall("glob", {"pattern": "*.md"})]
    with AnthropicServer([look, "1. Read.\n2. Write.", WRITE, "Done."]) as provider:
        async with chatting(chat, "", provider, mode="plan") as editor:
            await editor.say("What would you do?")
            text = await editor.chat_until("## you", after="2. Write.")
            edited = text.replace("2. Write.", "2. Write only made.txt.")
            await editor.empty(chat)
            await editor.append(chat, edited)
            offered = {it["title"]: it for it in await editor.actions(chat, 0, 0)}
            assert [title for title in offered if "plan" in title] == [
                "Accept the plan: ask before commands, and once before edits",
                "Accept the plan: ask before commands only",
            ]
            await editor.choose(offered["Accept the plan: ask before commands only"])
            await editor.chat_until("Done.")
            assert (chat.parent / "made.txt").read_text() == "made\n"
            assert not any("plan" in it["title"] for it in await editor.actions(chat, 0, 0))
    accepted = last_message(provider.requests[2])
    assert "Write only made.txt." in accepted and "✓" not in accepted
