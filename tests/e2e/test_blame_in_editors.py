"""Authors of lines, over real stdio: ranges for plugins, hover and code action for other editors."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import StockEditor, chatting
from tests.e2e.test_review import TASK, reviewing
from tests.support.framed_client import ResponseError

WHO = "Who wrote this line?"


async def test_ranges_name_the_author_of_unsaved_text(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, cart, hunk):
        first, last = hunk["newRange"]
        await editor.type(cart, 0, "# mine\n")
        result = await editor.client.request("agent/blame", {"uri": cart.as_uri()})

        (found,) = [each for each in result["ranges"] if each["range"] == [first + 1, last + 1]]
        origin = result["origins"][found["origin"]]
        assert (found["author"], origin["message"], origin["callId"]) == ("agent", TASK, hunk["callId"])
        ends = [each["range"] for each in result["ranges"]]
        assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]


async def test_what_cannot_be_blamed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1")
    async with reviewing(tmp_path) as (editor, _, _):
        for uri in ("untitled:one", f"{tmp_path.as_uri()}/missing.py", f"{tmp_path.as_uri()}/binary"):
            with pytest.raises(ResponseError):
                await editor.client.request("agent/blame", {"uri": uri})


async def test_other_editors_have_a_hover_and_a_code_action_at_lines_of_the_agent(tmp_path: Path) -> None:
    project = copy_sample_project(tmp_path / "project")
    cart, other = project / "shop" / "cart.py", project / "other.py"
    other.write_text("mine\n")
    chat, state = project / "chat.agent.md", tmp_path / "state"

    async def check(editor: StockEditor, line: int) -> None:
        async def hover(at: int) -> str | None:
            place = {"textDocument": {"uri": cart.as_uri()}, "position": {"line": at, "character": 0}}
            found = await editor.client.request("textDocument/hover", place)
            return found and str(found["contents"]["value"])

        assert TASK in (await hover(line) or "")
        assert await hover(0) is None and await hover(10_000) is None
        offered = await editor.actions(cart, line, line, only=["source"])
        (who,) = [item for item in offered if item["title"] == WHO]
        await editor.choose(who)
        shown = await editor.client.wait_for(lambda message: message.get("method") == "window/showMessage")
        assert TASK in shown["params"]["message"]
        await editor.open(other)
        assert WHO not in [item["title"] for item in await editor.actions(other, 0, 0, only=["source"])]

    async with chatting(chat, state=state) as editor:
        editor.on_prompt = lambda titles: "Allow once"
        await editor.say(TASK)
        await editor.chat_until("## you\n\n", after="## agent")
        line = (await editor.marks(cart))[0]["range"]["start"]["line"]
        await editor.open(cart)
        await check(editor, line)
        assert not editor.problems, editor.problems
    async with chatting(chat, None, state=state) as editor:  # a new server knows it from the stored sessions
        await editor.open(cart)
        await check(editor, line)
        assert not editor.problems, editor.problems
