"""Plugin-free editors: a session in a git worktree, and the list of running sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import StockEditor, chatting
from tests.e2e.worktree_project import commit_all
from tests.support.loopback import AnthropicServer, Gate, Text, ToolCall

pytestmark = pytest.mark.req("H8", "H23")


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    copy_sample_project(tmp_path / "project")
    commit_all(tmp_path / "project")
    return tmp_path / "project" / "chat.agent.md"


async def act(editor: StockEditor, chat: Path, title: str) -> None:
    """Choose the code action with this title at the last line of the chat."""
    last = editor.documents[chat.as_uri()].source.count("\n")
    actions = {it["title"]: it for it in await editor.actions(chat, last, last)}
    await editor.choose(actions[title])


async def test_a_chat_works_in_a_worktree_and_a_code_action_applies_the_changes_to_the_folder(
    chat: Path,
) -> None:
    made = chat.parent / "made.txt"
    call = ToolCall("write_file", {"file_path": "made.txt", "content": "made\n"})
    with AnthropicServer([[call], "Done."]) as provider:
        async with chatting(chat, None, provider, state=chat.parents[1] / "state", mode="ask") as editor:
            editor.on_prompt = lambda titles: next(it for it in titles if it.startswith("Allow"))
            await editor.open(chat, "Make a file.\n")
            await act(editor, chat, "Send to the agent, which works in a new git worktree")
            await editor.chat_until(
                "> The worktree has changes that wait for you to apply them to your folder: made.txt.\n"
                "> Since the last change nothing was run.\n\n## you"
            )
            assert not made.exists(), "it is in the folder before it was asked for"

            await act(editor, chat, "Apply the changes of the worktree to this folder")

            await editor.until(made.exists)
            assert made.read_text() == "made\n"
            await editor.open(made)
            assert [it["severity"] for it in await editor.marks(made)] == [3]


async def test_running_sessions_are_listed_in_the_chat_and_not_sent_to_the_model(chat: Path) -> None:
    gate = Gate()
    with AnthropicServer(["One.", [Text("Two", gate)]]) as provider:
        async with chatting(chat, None, provider, state=chat.parents[1] / "state") as editor:
            await editor.open(chat, "")
            await editor.say("/running")
            await editor.chat_until("> No session is open in any editor or process.\n\n## you\n")
            await editor.say("First of all.")
            await editor.chat_until("One.\n\n## you\n")
            async with chatting(chat, None, provider, state=chat.parents[1] / "state") as other:
                second = chat.with_name("other.agent.md")
                await other.open(second, "")
                await other.say("Another one.")
                await other.chat_until("Two")

                await editor.say("/running")

                await editor.chat_until("> Running sessions:")
                text = await editor.chat_until("\n\n## you\n", after="> Running sessions:")
                gate.open()
                await other.chat_until("Two\n\n## you\n")
    listed = [row for row in text.splitlines() if row.startswith("> - ")]
    assert [row.partition(": ")[0] for row in listed] in (
        ["> - working", "> - idle"],
        ["> - idle", "> - working"],
    )
    assert sum("this chat" in row for row in listed) == 1 and sum("process" in row for row in listed) == 1
    assert "/running" not in str([request.body["messages"] for request in provider.requests])
