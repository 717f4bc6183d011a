"""The editor renames and deletes open files, so its tabs follow. If it fails, the server changes the files on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from tests.loopback.script import Answer, Item
from tests.support.editor import Editor, new_key
from tests.support.framed_client import ResponseError
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("H4")

Manner = Literal["does it", "says so", "refuses", "fails"]
every_manner = pytest.mark.parametrize("manner", ["does it", "says so", "refuses", "fails"])

MOVE = "*** Update File: a.txt\n*** Move to: sub/b.txt\n"
DELETE = "*** Delete File: a.txt\n"
MORE = "*** Update File: c.txt\n@@\n-c\n+C\n"


@asynccontextmanager
async def patched(
    tmp_path: Path, manner: Manner, patch: str, name: str = "vscode"
) -> AsyncIterator[tuple[Served, list[Any], str]]:
    """Apply a patch; yield the file operations that the editor was asked for, and the output of the call."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    (folder / "c.txt").write_text("c\n")
    command = f"apply_patch <<'EOF'\n*** Begin Patch\n{patch}*** End Patch\nEOF"
    reads: list[Item] = [
        ToolCall("read_file", {"file_path": "a.txt"}),
        ToolCall("read_file", {"file_path": "c.txt"}),
    ]
    script: list[Answer] = [reads, [ToolCall("shell", {"command": command})], "done"]
    with AnthropicServer(script) as provider:
        async with served(tmp_path, name, provider=provider) as found, anyio.create_task_group() as tasks:
            operations = with_manner(found.editor, manner)
            tasks.start_soon(found.editor.approve_all)
            await found.editor.open(folder / "a.txt")
            await found.editor.open(folder / "c.txt")
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.submit(session_id, "go")
            ended = await found.client.event("tool_call_end", name="shell")
            await found.client.event("processing_end")
            yield found, operations, ended["data"]["output"]
            tasks.cancel_scope.cancel()


def with_manner(editor: Editor, manner: Manner) -> list[Any]:
    operations: list[Any] = []
    edit = editor.client.handlers["workspace/applyEdit"]

    async def apply(params: Any) -> Any:
        changes = params["edit"]["documentChanges"]
        if len(changes) == 1:
            return await edit(params)
        operations.append(changes[1])
        if manner == "fails":
            raise ResponseError({"code": -32603, "message": "it broke"})
        return await edit(params) if manner == "does it" else {"applied": manner == "says so"}

    editor.client.handlers["workspace/applyEdit"] = apply
    return operations


def texts(found: Served) -> dict[str, str]:
    """Return the texts in the editor by file name."""
    return {Path(uri).name: document.source for uri, document in found.editor.documents.items()}


async def hunks(found: Served) -> list[tuple[str, str]]:
    files = (await found.client.request("agent/hunks", {}))["files"]
    return sorted((Path(file["uri"]).name, hunk["what"]) for file in files for hunk in file["hunks"])


@every_manner
async def test_an_open_file_is_moved_by_the_editor_or_on_disk(tmp_path: Path, manner: Manner) -> None:
    async with patched(tmp_path, manner, MOVE) as (found, operations, output):
        assert [it["kind"] for it in operations] == ["rename"], output
        assert not (found.project / "a.txt").exists()
        assert (found.project / "sub" / "b.txt").read_text() == "a\n"
        expected = (
            {"b.txt": "a\n", "c.txt": "c\n"} if manner == "does it" else {"a.txt": "a\n", "c.txt": "c\n"}
        )
        assert texts(found) == expected
        if manner != "does it":
            return  # the review keeps a file while an editor has its text open
        assert await hunks(found) == [("a.txt", "delete"), ("b.txt", "create")]
        wanted = {"clientKey": new_key(), "uri": (found.project / "a.txt").as_uri(), "verdict": "undo"}
        result = await found.client.request("agent/review", wanted)
        assert result["refused"] == [] and len(result["changed"]) == 2
        assert (found.project / "a.txt").read_text() == "a\n"
        assert not (found.project / "sub" / "b.txt").exists()


@every_manner
async def test_an_open_file_that_is_moved_and_changed_is_moved_on_disk(
    tmp_path: Path, manner: Manner
) -> None:
    async with patched(tmp_path, manner, f"{MOVE}@@\n-a\n+A\n") as (found, operations, output):
        assert operations == [], output
        assert not (found.project / "a.txt").exists()
        assert (found.project / "sub" / "b.txt").read_text() == "A\n"


@every_manner
async def test_an_open_file_is_deleted_through_the_editor_if_it_can_and_else_on_disk(
    tmp_path: Path, manner: Manner
) -> None:
    async with patched(tmp_path, manner, DELETE + MORE) as (found, operations, output):
        assert [it["kind"] for it in operations] == ["delete"], output
        assert not (found.project / "a.txt").exists()
        assert texts(found)["c.txt"] == "C\n" and ("a.txt" in texts(found)) == (manner != "does it")
        if manner != "does it":
            return
        assert await hunks(found) == [("a.txt", "delete"), ("c.txt", "content")]
        wanted = {"clientKey": new_key(), "uri": (found.project / "a.txt").as_uri(), "verdict": "undo"}
        assert (await found.client.request("agent/review", wanted))["refused"] == []
        assert (found.project / "a.txt").read_text() == "a\n"


async def test_an_editor_without_file_operation_support_gets_no_file_operation_request(
    tmp_path: Path,
) -> None:
    async with patched(tmp_path, "does it", DELETE, "neovim") as (found, operations, _):
        assert operations == [] and not (found.project / "a.txt").exists()


@pytest.mark.parametrize("is_dropped", [True, False], ids=["dropped by the editor", "only its file deleted"])
async def test_text_typed_during_a_file_deletion_is_preserved_and_the_whole_patch_fails(
    tmp_path: Path, is_dropped: bool
) -> None:
    """The editor checks no version, so it deletes the file together with the text typed a moment before."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in "ac":
        (folder / f"{name}.txt").write_text(f"{name}\n")
    command = f"apply_patch <<'EOF'\n*** Begin Patch\n{DELETE}{MORE}*** End Patch\nEOF"
    reads: list[Item] = [
        ToolCall("read_file", {"file_path": "a.txt"}),
        ToolCall("read_file", {"file_path": "c.txt"}),
    ]
    with AnthropicServer([reads, [ToolCall("shell", {"command": command})], "done"]) as provider:
        async with served(tmp_path, provider=provider) as found, anyio.create_task_group() as tasks:
            edit = found.client.handlers["workspace/applyEdit"]

            async def apply(params: Any) -> Any:
                guard, *operations = params["edit"]["documentChanges"]
                if operations:
                    await found.editor.type(folder / "a.txt", 0, "mine ")
                    guard["textDocument"]["version"] = found.editor.documents[operations[0]["uri"]].version
                    if not is_dropped:
                        (folder / "a.txt").unlink()
                        return {"applied": True}
                return await edit(params)

            found.client.handlers["workspace/applyEdit"] = apply
            tasks.start_soon(found.editor.approve_all)
            await found.editor.open(folder / "a.txt")
            await found.editor.open(folder / "c.txt")
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.submit(session_id, "go")
            ended = await found.client.event("tool_call_end", name="shell")
            assert ended["data"]["isError"] and "user typed" in ended["data"]["output"]
            assert (folder / "a.txt").read_text() == "mine a\n"
            assert texts(found)["c.txt"] == "c\n" and (folder / "c.txt").read_text() == "c\n"
            assert await hunks(found) == []
            tasks.cancel_scope.cancel()
