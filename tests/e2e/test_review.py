"""Review over real stdio: decisions about lines, replacement texts, and the virtual documents for diff editors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.support.editor import Editor, new_key
from tests.support.framed_client import CAPABILITIES, ResponseError, server_process

TASK = "Please fix the discount."
REFRESH = "workspace/textDocumentContent/refresh"


@asynccontextmanager
async def reviewing(tmp_path: Path) -> AsyncIterator[tuple[Editor, Path, dict[str, Any]]]:
    """Yield an editor in which the walkthrough has changed an open file, with the first hunk."""
    project = copy_sample_project(tmp_path / "project")
    cart = project / "shop" / "cart.py"
    async with server_process() as server, anyio.create_task_group() as tasks:
        editor = Editor(server.client)
        workspace = {**CAPABILITIES["vscode"]["workspace"], "textDocumentContent": {}}
        said = await server.client.initialize(
            folder=project,
            capabilities={**CAPABILITIES["vscode"], "workspace": workspace},
            initializationOptions={"agentLs": {"walkthroughPauseMs": 0}},
        )
        assert said["capabilities"]["workspace"]["textDocumentContent"] == {"schemes": ["agent-ls"]}
        tasks.start_soon(editor.approve_all)
        tasks.start_soon(editor.do_as_asked)
        await editor.open(cart)
        await editor.submit(await editor.new_session(), TASK)
        await server.client.event("processing_end")
        (file,) = (await server.client.request("agent/hunks", {"uri": cart.as_uri()}))["files"]
        yield editor, cart, file["hunks"][0]
        tasks.cancel_scope.cancel()


def document(kind: str, path: Path) -> dict[str, str]:
    return {"uri": f"agent-ls:/{kind}/{path.as_posix().lstrip('/')}?{quote(path.as_uri(), safe='')}"}


async def content(editor: Editor, kind: str, path: Path) -> str:
    result = await editor.client.request("workspace/textDocumentContent", document(kind, path))
    text: str = result["text"]
    return text


@pytest.mark.req("H6", "H7")
async def test_a_decision_on_a_hunk_updates_the_virtual_document_of_accepted_text(tmp_path: Path) -> None:
    async with reviewing(tmp_path) as (editor, cart, hunk):

        async def refresh(params: Any) -> None:
            return None

        editor.client.handlers[REFRESH] = refresh
        on_disk = copy_sample_project(tmp_path / "untouched") / "shop" / "cart.py"
        assert await content(editor, "base", cart) == await anyio.Path(on_disk).read_text()
        assert await content(editor, "proposed", cart) == editor.documents[cart.as_uri()].source
        review = {"clientKey": new_key(), "hunkIds": [hunk["id"]], "verdict": "keep"}
        await editor.client.request("agent/review", review)
        uri = document("base", cart)["uri"]
        await editor.client.wait_for(lambda m: m.get("method") == REFRESH and m["params"]["uri"] == uri)
        assert "".join(hunk["newLines"]) in await content(editor, "base", cart)


@pytest.mark.req("H6")
async def test_a_replacement_text_in_a_review_request_replaces_the_selected_lines_of_a_hunk(
    tmp_path: Path,
) -> None:
    async with reviewing(tmp_path) as (editor, cart, hunk):
        wanted = {"clientKey": new_key(), "hunkIds": [hunk["id"]], "verdict": "keep", "lines": [0, 1]}
        result = await editor.client.request("agent/review", {**wanted, "replacement": "# mine\n"})
        assert result["refused"] == [] and "kept" in {changed["state"] for changed in result["changed"]}
        lines = editor.documents[cart.as_uri()].source.splitlines()
        assert lines[hunk["newRange"][0]] == "# mine"


CONTENT = "workspace/textDocumentContent"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("agent/review", {"verdict": "undo", "hunkIds": ["h1"], "replacement": "x"}, "invalid_params"),
    ("agent/review", {"verdict": "keep", "hunkIds": ["h1", "h2"], "lines": [0, 1]}, "invalid_params"),
    ("agent/review", {"verdict": "keep", "sessionId": "s1", "replacement": "x"}, "invalid_params"),
    (CONTENT, {"uri": "agent-ls:/base/nowhere?file%3A%2F%2F%2Fnowhere"}, "nothing_pending"),
    (CONTENT, {"uri": "agent-ls:/other/nowhere?file%3A%2F%2F%2Fnowhere"}, "invalid_params"),
    (CONTENT, {"uri": "agent-ls:/base/nowhere"}, "invalid_params"),
    (CONTENT, {"uri": "file:///nowhere"}, "invalid_params"),
]


async def test_an_invalid_review_request_and_an_unknown_virtual_document_are_refused(tmp_path: Path) -> None:
    async with server_process() as server:
        await server.client.initialize(folder=tmp_path)
        for method, params, kind in REFUSED:
            key = {"clientKey": new_key()} if method == "agent/review" else {}
            with pytest.raises(ResponseError) as refused:
                await server.client.request(method, {**key, **params})
            assert refused.value.data["kind"] == kind and refused.value.data["hint"], params


@pytest.mark.req("H6", "H7", "T4")
@pytest.mark.parametrize("name", ["vscode", "neovim"])
async def test_with_review_before_only_decisions_change_the_file(name: str, tmp_path: Path) -> None:
    project = copy_sample_project(tmp_path / "project")
    cart = project / "shop" / "cart.py"
    async with server_process() as server, anyio.create_task_group() as tasks:
        editor = Editor(server.client, name)
        await editor.start(project)
        tasks.start_soon(editor.approve_all)
        tasks.start_soon(editor.do_as_asked)
        document = await editor.open(cart)
        before = document.source
        session_id = await editor.new_session(review="before")
        await editor.submit(session_id, TASK)
        published = await server.client.event("hunk_state")
        assert {hunk["state"] for hunk in published["data"]["hunks"]} == {"proposed"}
        assert document.source == before and published["data"]["uri"] == cart.as_uri()

        await editor.type(cart, 0, "# mine\n")
        (pending,) = (await editor.subscribe(session_id))["pending"]["hunks"]
        hunk = pending["hunks"][0]
        assert document.source.splitlines(keepends=True)[slice(*hunk["newRange"])] == hunk["oldLines"]
        proposed = await content(editor, "proposed", cart)
        assert proposed != document.source and proposed.startswith("# mine\n")

        while not any(event["kind"] == "processing_end" for event in server.client.events):
            files = (await server.client.request("agent/hunks", {"sessionId": session_id}))["files"]
            for file in files:
                ids = [hunk["id"] for hunk in file["hunks"]]
                review = {"clientKey": new_key(), "hunkIds": ids, "verdict": "keep"}
                await server.client.request("agent/review", review)
        assert document.source.startswith("# mine\n") and "".join(hunk["newLines"]) in document.source
        changes = [event["data"] for event in server.client.events if event["kind"] == "file_change"]
        assert changes and all(change["hunks"] == [] for change in changes)
        asked = [event for event in server.client.events if event["kind"] == "approval_requested"]
        assert {event["data"]["tool"] for event in asked} <= {"shell"}
        tasks.cancel_scope.cancel()


@pytest.mark.req("R4", "R5", "H6")
async def test_proposed_hunks_survive_a_kill_of_the_server(tmp_path: Path) -> None:
    project = copy_sample_project(tmp_path / "project")
    env = {"AGENT_LS_STATE_DIR": str(tmp_path / "state")}
    async with server_process(env=env) as server, anyio.create_task_group() as tasks:
        editor = Editor(server.client)
        await editor.start(project)
        tasks.start_soon(editor.approve_all)
        session_id = await editor.new_session(review="before")
        await editor.submit(session_id, TASK)
        published = await server.client.event("hunk_state")
        server.process.kill()
        tasks.cancel_scope.cancel()
    async with server_process(env=env) as server:
        editor = Editor(server.client)
        await editor.start(project)
        again = await editor.subscribe(session_id)
        (file,) = again["pending"]["hunks"]
        assert again["session"]["review"] == "before"
        ids = [hunk["id"] for hunk in file["hunks"]]
        assert ids == [hunk["id"] for hunk in published["data"]["hunks"]]
        result = await server.client.request(
            "agent/review", {"clientKey": new_key(), "hunkIds": ids, "verdict": "keep"}
        )
        assert result["refused"] == []
        assert {hunk["state"] for hunk in result["changed"]} == {"kept"}
        written = await anyio.Path(project / "shop" / "cart.py").read_text()
        assert "".join(file["hunks"][0]["newLines"]) in written


@pytest.mark.req("X8", "H7")
async def test_an_approval_with_a_replacement_command_runs_the_replacement(tmp_path: Path) -> None:
    project = copy_sample_project(tmp_path / "project")
    async with server_process() as server:
        editor = Editor(server.client)
        await editor.start(project)
        session_id = await editor.new_session(mode="edits")
        await editor.submit(session_id, TASK)
        asked = await server.client.event("approval_requested", tool="shell")
        with pytest.raises(ResponseError) as refused:
            await editor.approve(asked, replacement={"command": " "})
        assert refused.value.data["kind"] == "invalid_params" and refused.value.data["hint"]
        with pytest.raises(ResponseError) as refused:
            await editor.approve(asked, "deny", replacement={"command": "true"})
        assert refused.value.data["kind"] == "invalid_params" and refused.value.data["hint"]
        await editor.approve(asked, replacement={"command": "echo mine"})
        resolved = await server.client.event("approval_resolved")
        assert resolved["data"]["command"] == "echo mine" and resolved["data"]["decidedBy"]
        ended = await server.client.event("tool_call_end", name="shell")
        assert "mine" in ended["data"]["output"] and "changed this command" in ended["data"]["output"]
        await server.client.event("processing_end")
