"""Several workspace folders in the real server: opened and closed while it runs, and the folder of a new session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, new_key
from tests.support.framed_client import server_process

pytestmark = pytest.mark.req("H1", "H12")


def folder(path: Path) -> dict[str, str]:
    return {"uri": path.as_uri(), "name": path.name}


@asynccontextmanager
async def editing(*folders: Path) -> AsyncIterator[Editor]:
    async with server_process() as server:
        editor = Editor(server.client)
        await editor.client.initialize(
            "vscode", folder=folders[0], workspaceFolders=[folder(path) for path in folders]
        )
        yield editor
        assert "Traceback" not in server.log


async def new_session(editor: Editor) -> str:
    made: dict[str, Any] = await editor.client.request("agent/newSession", {"clientKey": new_key()})
    return str(made["session"]["workspaceFolder"])


async def labels(editor: Editor, query: str) -> dict[str, str]:
    found = await editor.client.request("agent/complete", {"trigger": "@", "query": query})
    return {item["label"]: item["part"]["uri"] for item in found["items"]}


@pytest.fixture
def api(tmp_path: Path) -> Path:
    path = tmp_path / "api"
    (path / "packages" / "core").mkdir(parents=True)
    (path / "cart.py").write_text("")
    (path / "packages" / "core" / "deep.py").write_text("")
    return path


@pytest.fixture
def web(tmp_path: Path) -> Path:
    path = tmp_path / "web"
    path.mkdir()
    (path / "cart.ts").write_text("")
    return path


async def test_a_new_session_works_in_the_innermost_folder_of_the_active_file(api: Path, web: Path) -> None:
    core = api / "packages" / "core"
    async with editing(api, web, core) as editor:
        assert await new_session(editor) == api.as_uri(), "nothing is in front: the first"
        for file, place in ((web / "cart.ts", web), (core / "deep.py", core), (api / "cart.py", api)):
            await editor.client.notify("agent/editorState", {"activeUri": file.as_uri()})
            assert await new_session(editor) == place.as_uri()


async def test_files_of_all_open_folders_are_completed_with_their_folder_name(api: Path, web: Path) -> None:
    async with editing(api) as editor:
        assert await labels(editor, "cart") == {"cart.py": (api / "cart.py").as_uri()}
        event = {"added": [folder(web)], "removed": []}
        await editor.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert await labels(editor, "cart") == {
            "cart.py": (api / "cart.py").as_uri(),
            "web/cart.ts": (web / "cart.ts").as_uri(),
        }
        event = {"added": [], "removed": [folder(web)]}
        await editor.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert list(await labels(editor, "cart")) == ["cart.py"]
