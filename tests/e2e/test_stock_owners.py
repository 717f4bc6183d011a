"""Two plugin-free editors on one chat: the second one is read-only and takes the session over by a code action (H8)."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stock import StockEditor
from tests.support.framed_client import ServerProcess, server_process

TASK = "Please fix the discount."

pytestmark = pytest.mark.req("H8", "R4")


@asynccontextmanager
async def chatting(chat: Path, text: str = "") -> AsyncIterator[tuple[StockEditor, ServerProcess]]:
    async with server_process() as server:
        editor = StockEditor(server.client, "neovim")
        await editor.start(chat.parent, provider="walkthrough")
        await editor.open(chat, text)
        yield editor, server


async def is_marked(editor: StockEditor, chat: Path, *, read_only: bool, after: int = 0) -> dict[str, Any]:
    """Wait until the chat gets the "readOnly" diagnostic, or loses it."""

    def fits(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != chat.as_uri():
            return False
        return any(mark["code"] == "readOnly" for mark in params["diagnostics"]) is read_only

    return await editor.client.wait_for(fits, after=after)


async def wait_for_message(editor: StockEditor, words: str) -> None:
    await editor.client.wait_for(
        lambda m: m.get("method") == "window/showMessage" and words in m["params"]["message"]
    )


async def test_a_chat_that_another_editor_owns_is_read_only_until_a_take_over(chat: Path) -> None:
    async with chatting(chat) as (first, _):
        first.on_prompt = lambda titles: "Allow once"
        await first.say(TASK)
        written = await first.chat_until("## you\n\n", after="## agent")
        async with chatting(chat, written) as (second, _):
            published = await is_marked(second, chat, read_only=True)
            (mark,) = published["params"]["diagnostics"]
            assert "Neovim, process" in mark["message"] and mark["range"]["start"]["line"] == 0
            await second.say("Mine?")
            await wait_for_message(second, "This chat is read-only, because another editor (Neovim, process")
            offered = await second.actions(chat, 0, 0)
            assert [item["title"][:9] for item in offered] == ["Take over", "Do nothin"]
            assert second.documents[chat.as_uri()].source == f"{written}Mine?\n"

            seen = len(second.client.received)
            await second.choose(offered[0])
            await wait_for_message(first, "This chat is read-only, because another editor")
            await is_marked(first, chat, read_only=True)
            await is_marked(second, chat, read_only=False, after=seen)
            second.on_prompt = lambda titles: "Allow once"
            await second.say("And once more.")
            await second.until(lambda: second.documents[chat.as_uri()].source.count("## agent") == 2)
            await second.until(lambda: second.documents[chat.as_uri()].source.endswith("## you\n\n"))
            assert first.documents[chat.as_uri()].source.count("## agent") == 1
            assert not first.problems and not second.problems


async def test_take_over_from_a_silent_editor_needs_the_users_confirmation(chat: Path) -> None:
    async with chatting(chat) as (first, server):
        first.on_prompt = lambda titles: "Allow once"
        await first.say(TASK)
        written = await first.chat_until("## you\n\n", after="## agent")
        async with chatting(chat, written) as (second, _):
            await is_marked(second, chat, read_only=True)
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                for answer, is_left in ((None, True), ("Take It by Force", False)):
                    asked = second.prompts_shown
                    second.on_prompt = lambda titles, answer=answer: answer
                    seen = len(second.client.received)
                    await second.command("agentLs.takeOver", {"uri": chat.as_uri()})
                    await second.until(lambda asked=asked: second.prompts_shown > asked)  # type: ignore[misc]
                    if not is_left:
                        await is_marked(second, chat, read_only=False, after=seen)
                    else:
                        assert [it["title"][:9] for it in await second.actions(chat, 0, 0)] == [
                            "Take over",
                            "Do nothin",
                        ]
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            await wait_for_message(first, "This chat is read-only, because another editor")
