"""Answers are written into a chat document, even if the editor reports its changes late."""

from __future__ import annotations

import anyio
import pytest

from agent_ls.server.chat.chat_text import read_chat
from agent_ls.server.chat.writer import CLOSE, ChatWriter
from tests.support.lying_editor import EGLOT, LyingEditor, Manners, VirtualTime

pytestmark = pytest.mark.req("H8")

CHAT = "## you\nGo.\n"
PATH = "/project/a.txt"
LATE = Manners(debounce_s=30)  # Emacs delays changes during a prompt; the server waits less than 30 s


async def written(manners: Manners, *pieces: str, loses: int = 0) -> tuple[str, list[str]]:
    """Write these pieces of an answer into a chat; return the chat's text and the messages to the user.

    The editor does not apply the first `loses` edits.
    """
    time, refusals = VirtualTime(), list[str]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(time.run)
        editor = LyingEditor(tasks, manners, sleep=time.sleep)
        editor.open(CHAT)

        def arrives() -> None:
            if len(editor.requests) <= loses:
                editor.type(len(editor.text), "\n")  # makes the edit stale, because the text has changed

        editor.on_request = arrives
        writer = ChatWriter(editor.server.host, PATH, "s-1", refusals.append, time.sleep)
        tasks.start_soon(writer.run)
        for piece in pieces:
            writer.write(piece)
            await time.sleep(1)
        writer.write(CLOSE)
        while not editor.text.rstrip().endswith("## you"):
            await time.sleep(1)
        await editor.tell_all()
        tasks.cancel_scope.cancel()
    return editor.text, refusals


async def test_an_answer_is_written_while_it_streams() -> None:
    text, refusals = await written(EGLOT, "One, ", "two, ", "three.")
    assert text == f"{CHAT}\n## agent <!-- s-1 1 -->\n\nOne, two, three.\n## you\n\n"
    assert refusals == []


async def test_an_edit_reported_late_is_neither_lost_nor_written_twice() -> None:
    text, refusals = await written(LATE, "One, ", "two, ", "three.")
    assert text == f"{CHAT}\n## agent <!-- s-1 1 -->\n\nOne, two, three.\n## you\n\n"
    assert refusals, "it was told that the chat waits for the editor"


async def test_an_edit_that_never_arrived_is_written_again() -> None:
    text, _ = await written(LATE, "One, ", "two, ", "three.", loses=1)
    assert text.count("One, two, three.") == 1


async def with_notice(text: str, *, sent: str = "", manners: Manners = EGLOT) -> str:
    """Write a notice into a chat with this text, whose last sent message is `sent`. Return the chat's text."""
    time = VirtualTime()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(time.run)
        editor = LyingEditor(tasks, manners, sleep=time.sleep)
        editor.open(text)
        writer = ChatWriter(editor.server.host, PATH, "s-1", lambda reason: None, time.sleep)
        writer.set_message(sent)
        tasks.start_soon(writer.run)
        writer.write_notice("\n> Save a.py.\n")
        await time.sleep(100)
        await editor.tell_all()
        tasks.cancel_scope.cancel()
    return editor.text


ANSWERED = "## you\n\nGo.\n\n## agent <!-- s-1 1 -->\n\nDone.\n\n"


@pytest.mark.parametrize("manners", [EGLOT, LATE])
@pytest.mark.parametrize("draft", ["", "And then", "And then\nthis"])
async def test_a_notice_between_turns_is_written_once_above_the_message_that_the_user_is_typing(
    draft: str, manners: Manners
) -> None:
    text = await with_notice(f"{ANSWERED}## you\n\n{draft}", sent="Go.", manners=manners)
    assert text == f"{ANSWERED}> Save a.py.\n\n## you\n\n{draft}"
    chat = read_chat(text)
    assert (chat.message, chat.is_answer_last, chat.count) == (draft, False, 1)


async def test_a_notice_does_not_move_a_sent_message_that_has_no_answer_yet() -> None:
    text = f"{ANSWERED}## you\n\nAgain.\n"
    assert await with_notice(text, sent="Again.") == text


async def test_a_notice_below_an_answer_ends_with_a_heading_for_the_next_message() -> None:
    chat = read_chat(text := await with_notice(ANSWERED))
    assert "> Save a.py.\n" in text and not chat.is_answer_last
