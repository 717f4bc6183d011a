"""Unsaved cells of a notebook that a command will read: a setting decides whether they are saved first (H8, H15)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.support.framed_client import DEADLINE_S
from tests.support.loopback import ToolCall
from tests.support.notebook_editor import READ, TEXT, NotebookEditor, edit, opened

pytestmark = pytest.mark.req("H8", "H15")

CAT = [ToolCall("shell", {"command": "cat a.ipynb"})]
EDIT = edit(action="replace", cell="2", source="y = 5")


async def cat_of(notebook: NotebookEditor, session_id: str) -> str:
    """Return the output of the turn's last command, as the model received it."""
    client = notebook.editor.client
    await notebook.editor.submit(session_id, "go")
    await client.event("processing_end", reason="completed")
    output: str = [e["data"]["output"] for e in client.events if e["kind"] == "tool_call_end"][-1]
    return output


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.mark.parametrize(
    ("policy", "is_edited", "does", "saved"),
    [
        ("agent", True, "", True),
        ("agent", True, "types", False),
        ("agent", True, "runs", False),
        ("agent", True, "ran before the last save", True),
        ("agent", False, "types", False),
        ("auto", False, "types", True),
        ("auto", True, "types", True),
        ("ask", True, "", True),
        ("ask", False, "types", True),
        ("never", True, "", False),
    ],
)
async def test_a_command_reads_saved_or_unsaved_cells_as_the_save_setting_selects(
    tmp_path: Path, policy: str, is_edited: bool, does: str, saved: bool
) -> None:
    script = (READ, EDIT, CAT) if is_edited else (CAT,)
    asked: list[Any] = []

    async def choose(params: Any) -> Any:
        asked.append(params["message"])
        return {"title": "Save"}

    async with opened(tmp_path, *script, save=policy) as (notebook, session_id, path, _):
        notebook.editor.client.handlers["window/showMessageRequest"] = choose
        if does == "types":
            await notebook.type(0, "# Typed")
        elif does == "runs":
            await notebook.run(1)
        elif does:
            await notebook.run(1)
            await notebook.save()
            await notebook.forget_run(1)
            await notebook.run(1)
        output = await cat_of(notebook, session_id)
        requested = [
            e["data"]["paths"] for e in notebook.editor.client.events if e["kind"] == "save_requested"
        ]

        shown = [cell["text"] for cell in notebook.cells]
        assert (sources(path) == shown) == saved and requested == ([[str(path)]] if saved else [])
        assert (shown[1] in output and shown[0] in output) == saved
        whose = "edited by you" if not does else "the user's unsaved changes"
        assert (
            f"Files with unsaved changes in the editor, of which commands see the older text on disk: {path} ({whose})"
            in output
        ) != saved
        assert len(asked) == (policy == "ask" and does == "types")


async def test_text_typed_during_the_save_request_is_not_saved(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, EDIT, CAT) as (notebook, session_id, path, _):

        async def type_more() -> None:
            await notebook.type(0, "# Typed")

        notebook.before_save = type_more
        output = await cat_of(notebook, session_id)

        assert "unsaved changes" in output and path.read_text() == TEXT


async def test_a_notebook_with_unchanged_cells_is_not_saved_whatever_its_json_layout(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, CAT, save="auto") as (notebook, session_id, path, _):
        path.write_text(json.dumps(json.loads(TEXT)))
        await notebook.type(0, "# Typed")
        await notebook.type(0, "# Title")
        output = await cat_of(notebook, session_id)

        assert "Not saved" not in output
        assert not [e for e in notebook.editor.client.events if e["kind"] == "save_requested"]


async def test_unsaved_cells_do_not_overwrite_a_notebook_file_that_changed_on_disk(tmp_path: Path) -> None:
    async with opened(tmp_path, CAT, save="auto") as (notebook, session_id, path, _):
        newer = TEXT.replace("x = 1", "x = 9")
        path.write_text(newer)
        await notebook.type(0, "# Typed")
        output = await cat_of(notebook, session_id)

        assert "changed too" in output and path.read_text() == newer


async def test_text_typed_after_a_save_is_a_user_change(tmp_path: Path) -> None:
    async with opened(tmp_path, READ, EDIT, CAT) as (notebook, session_id, path, _):
        await notebook.type(0, "# Typed")
        await notebook.save()
        output = await cat_of(notebook, session_id)

        assert "Not saved" not in output and sources(path) == ["# Typed", "y = 5", "as it is"]


async def test_a_save_by_the_user_during_a_background_process_is_not_reported_as_a_change_of_the_process(
    tmp_path: Path,
) -> None:
    start = [ToolCall("shell", {"command": "mkfifo go; cat go", "background": True})]
    async with opened(tmp_path, start, "Started.") as (notebook, session_id, path, _):
        client = notebook.editor.client
        await notebook.editor.submit(session_id, "go")
        await client.event("processing_end", reason="completed")
        await notebook.type(0, "# Typed")
        await notebook.save()
        with anyio.fail_after(DEADLINE_S):
            while not (path.parent / "go").is_fifo():
                await anyio.lowlevel.checkpoint()
            await anyio.Path(path.parent / "go").write_text("")
        await client.event("terminal_exit")

        assert sources(path)[0] == "# Typed"
        assert not [e for e in client.events if e["kind"] == "file_change"]
