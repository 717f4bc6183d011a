"""Completions of the real server for mentions: open, ignored and outside files, problems, the selection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError, server_process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    for name in ("shop/cart.py", "shop/catalog.py", "tests/test_cart.py", "build/cart.o", ".env"):
        (made / name).parent.mkdir(exist_ok=True, parents=True)
        (made / name).write_text("one\ntwo\nthree\n")
    (made / ".gitignore").write_text("build/\n")
    (tmp_path / "cart outside.py").write_text("")
    return made


@asynccontextmanager
async def editing(project: Path) -> AsyncIterator[Editor]:
    async with server_process() as server:
        editor = Editor(server.client)
        await editor.start(project)
        yield editor
        assert "Traceback" not in server.log


async def offered(editor: Editor, query: str, trigger: str = "@", **params: Any) -> list[dict[str, Any]]:
    wanted = {"trigger": trigger, "query": query, **params}
    items: list[dict[str, Any]] = (await editor.client.request("agent/complete", wanted))["items"]
    return items


@pytest.mark.req("H9", "H12")
async def test_completion_lists_open_files_first_and_no_files_outside_the_workspace(project: Path) -> None:
    async with editing(project) as editor:
        cart = project / "tests" / "test_cart.py"
        await editor.open(cart)
        await editor.open(project.parent / "cart outside.py")
        found = await offered(editor, "cart")
        assert [item["label"] for item in found] == ["shop/cart.py", "tests/test_cart.py"]
        part = {"type": "file", "uri": cart.as_uri()}
        assert found[1] == {"kind": "file", "label": "tests/test_cart.py", "detail": "open", "part": part}
        assert (await offered(editor, "", limit=1))[0]["label"] == "tests/test_cart.py"
        folder = {"type": "folder", "uri": (project / "shop").as_uri()}
        assert (await offered(editor, "shop"))[0] == {"kind": "folder", "label": "shop/", "part": folder}
        everything = [item["label"] for item in await offered(editor, "", limit=200)]
        assert ".env" in everything
        assert not [label for label in everything if "build" in label or "outside" in label]


@pytest.mark.req("H9", "H12")
async def test_completion_lists_diagnostics_and_the_selection_if_they_exist(project: Path) -> None:
    async with editing(project) as editor:
        cart = project / "shop" / "cart.py"
        await editor.open(cart)
        assert {item["kind"] for item in await offered(editor, "")} == {"file", "folder"}
        problem = {"startLine": 1, "endLine": 1, "severity": 1, "message": "no such name"}
        await editor.client.notify("agent/diagnostics", {"uri": cart.as_uri(), "items": [problem]})
        selection = {"startLine": 0, "endLine": 2}
        state = {"activeUri": cart.as_uri(), "selection": selection}
        await editor.client.notify("agent/editorState", state)
        opened, problems, selected, *_ = await offered(editor, "")
        assert opened["label"] == "shop/cart.py"
        assert (problems["kind"], problems["detail"]) == ("problems", "1 in 1 file")
        assert problems["part"] == {"type": "diagnostics"}
        assert selected["detail"] == "shop/cart.py, lines 1 to 2"
        text = {"type": "selection", "uri": cart.as_uri(), "startLine": 0, "endLine": 2, "text": "one\ntwo\n"}
        assert selected["part"] == text
        assert [item["kind"] for item in await offered(editor, "sel")] == ["selection"]
        session_id = await editor.new_session()
        await editor.submit(session_id, "", input=[problems["part"], selected["part"]])
        message = (await editor.client.event("user_input"))["data"]["text"]
        assert f"{cart}:2: error: no such name" in message and "```\none\ntwo\n```" in message


@pytest.mark.req("H9", "T12")
async def test_slash_commands_are_listed_completed_and_expanded(project: Path) -> None:
    async with editing(project) as editor:
        listed = (await editor.client.request("agent/commands", {}))["commands"]
        offers = await offered(editor, "", "/")
        assert [item["label"] for item in offers] == [f"/{command['name']}" for command in listed]
        (tests,) = await offered(editor, "tst", "/")
        assert tests["part"] == {"type": "command", "name": "tests", "arguments": ""}
        session_id = await editor.new_session()
        await editor.submit(session_id, "", input=[{**tests["part"], "arguments": "of the cart"}])
        text = (await editor.client.event("user_input"))["data"]["text"]
        assert text.startswith("/tests of the cart\n\n")
        with pytest.raises(ResponseError, match="/dance") as unknown:
            await editor.submit(session_id, "", input=[{"type": "command", "name": "dance"}])
        assert unknown.value.data["kind"] == "bad_choice"


@pytest.mark.req("T12")
async def test_slash_commands_in_project_files_are_completed_and_expanded(project: Path) -> None:
    page = project / ".claude" / "commands" / "git" / "tidy.md"
    page.parent.mkdir(parents=True)
    page.write_text("---\ndescription: Tidies up\n---\nTidy $1, then show !`git status`.\n")
    async with editing(project) as editor:
        (offer,) = await offered(editor, "tidy", "/")
        assert (offer["label"], offer["detail"]) == ("/git:tidy", "Tidies up")
        session_id = await editor.new_session()
        await editor.submit(session_id, "", input=[{**offer["part"], "arguments": "shop tests"}])
        text = (await editor.client.event("user_input"))["data"]["text"]
        assert text.startswith(
            "/git:tidy shop tests\n\nTidy shop, then show (insert the output of the command `git status`"
        )


@pytest.mark.req("R5")
async def test_completion_in_a_folder_that_is_not_open_is_refused(project: Path) -> None:
    async with editing(project) as editor:
        for folder in (project.parent.as_uri(), "file:///"):
            with pytest.raises(ResponseError) as refused:
                await offered(editor, "", workspaceFolder=folder)
            assert "not open" in str(refused.value.data)
        with pytest.raises(ResponseError):
            await offered(editor, "", sessionId="s-none")
        made = await editor.client.request(
            "agent/newSession",
            {
                "clientKey": new_key(),
                "workspaceFolder": (project / "shop").as_uri(),
                "provider": "walkthrough",
            },
        )
        found = await offered(editor, "c", sessionId=made["session"]["id"])
        assert [item["label"] for item in found] == ["cart.py", "catalog.py"]
