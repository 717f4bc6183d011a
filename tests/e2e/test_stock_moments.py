"""Races of a chat document: closed and reopened while its session is opened, and saved twice at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from agent_ls.store.layout import log_path
from tests.e2e.stock import chatting
from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import AnthropicServer, Gate, Text

TASK = "Please fix the discount."


async def opened(pipe: Path) -> int:
    """Wait until another process opens this pipe for reading; return the writing descriptor."""
    with anyio.fail_after(DEADLINE_S):
        while True:
            try:
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                await anyio.lowlevel.checkpoint()


@pytest.mark.req("H8", "R4")
async def test_a_chat_closed_and_reopened_while_its_session_loads_contains_each_answer_once(
    tmp_path: Path, chat: Path
) -> None:
    async with chatting(chat, state=tmp_path / "state", mode="full") as editor:
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")
        await editor.say("What else?")
        saved = editor.documents[chat.as_uri()].source
        whole = await editor.chat_until("## you\n\n", after="What else?")
        await editor.client.shut_down()
    (folder,) = (tmp_path / "state").glob("workspaces/*/sessions/*")
    log = await anyio.Path(log_path(folder)).read_bytes()
    os.unlink(log_path(folder))
    os.mkfifo(log_path(folder))
    async with chatting(chat, saved, state=tmp_path / "state", mode="full") as editor:
        reading = await opened(log_path(folder))
        await editor.close(chat)
        await editor.open(chat, saved)
        await editor.actions(chat, 0, 0)
        os.unlink(log_path(folder))
        await anyio.Path(log_path(folder)).write_bytes(log)
        os.set_blocking(reading, True)
        await anyio.to_thread.run_sync(os.write, reading, log)
        os.close(reading)
        assert await editor.chat_until("## you\n\n", after="What else?") == whole
        await editor.say("And then?")
        last = await editor.chat_until("## you\n\n", after="And then?")
        assert last.count("## agent <!--") == 3 and last.startswith(whole)
        begun = [m for m in editor.client.received if m.get("method") == "window/workDoneProgress/create"]
        assert len(begun) == 1, "one room follows the session"


@pytest.mark.req("H8")
async def test_a_chat_saved_twice_at_once_is_sent_once_without_an_error(
    chat: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[gate, Text("All done.")]]) as provider:
        async with chatting(chat, "", provider) as editor:
            await editor.say(TASK)
            await editor.save(chat)
            await anyio.to_thread.run_sync(gate.reached.wait)
            await editor.actions(chat, 0, 0)
            gate.open()
            await editor.chat_until("## you\n\n", after="All done.")
            assert "still working" not in str(editor.client.received)
        assert len(provider.requests) == 1


@pytest.mark.req("H8")
async def test_a_chat_saved_while_its_answer_is_being_written_is_not_sent_again(
    chat: Path,
) -> None:
    with AnthropicServer(["All done.", "Well then."]) as provider:
        async with chatting(chat, "", provider) as editor:
            apply_edit, may_apply = editor.client.handlers["workspace/applyEdit"], anyio.Event()

            async def apply_late(params: Any) -> Any:
                await may_apply.wait()
                return await apply_edit(params)

            editor.client.handlers["workspace/applyEdit"] = apply_late
            await editor.say(TASK)
            await editor.progress("end")
            await editor.save(chat)
            await editor.actions(chat, 0, 0)
            may_apply.set()
            await editor.chat_until("## you\n\n", after="All done.")
            await editor.say("And then?")
            await editor.chat_until("Well then.")
        assert len(provider.requests) == 2


@pytest.mark.req("H8")
async def test_a_chat_that_the_editor_saves_and_reloads_sends_its_message_and_gets_the_answer(
    chat: Path,
) -> None:
    with AnthropicServer(["All done.", "Well then."]) as provider:
        async with chatting(chat, "", provider) as editor:
            may_answer = await editor.holds_settings()
            await editor.say(TASK)
            text = await editor.close(chat)
            await editor.open(chat, text)
            await editor.actions(chat, 0, 0)
            may_answer.set()
            await editor.chat_until("## you\n\n", after="All done.")
            await editor.save(chat)
            await editor.say("And then?")
            await editor.chat_until("Well then.")
        assert len(provider.requests) == 2
