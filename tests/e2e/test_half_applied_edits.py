"""An edit of several files fails after the first was edited: edited files are restored, or the result names them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.framed_client import is_event
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import Served, served

pytestmark = pytest.mark.req("X9", "T4", "H4")

OPEN, LEFT, ON_DISK = "open.txt", "left.txt", "disk.txt"
OLD, NEW = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
PATCH = "".join(f"*** Update File: {name}\n@@\n-two\n+TWO\n" for name in (OPEN, LEFT, ON_DISK))
COMMAND = f"apply_patch <<'EOF'\n*** Begin Patch\n{PATCH}*** End Patch\nEOF"


@asynccontextmanager
async def patched(
    tmp_path: Path, before_closing: Callable[[Served], Awaitable[None]]
) -> AsyncIterator[tuple[Served, str, dict[str, Any]]]:
    """Apply the patch; the user closes the second document after the first one was edited.

    Yields the session's id and the end of the call.
    """
    with AnthropicServer([[ToolCall("shell", {"command": COMMAND})], "Done."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            for name in (OPEN, LEFT, ON_DISK):
                (found.project / name).write_text(OLD)
            for name in (OPEN, LEFT):
                await found.editor.open(found.project / name)
            apply = found.editor._apply_edit

            async def answer(params: Any) -> dict[str, Any]:
                (change,) = params["edit"]["documentChanges"]
                uri = change["textDocument"]["uri"]
                if not uri.endswith(LEFT):
                    return await apply(params)
                await before_closing(found)
                await found.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
                return {"applied": False}

            found.client.handlers["workspace/applyEdit"] = answer
            session_id = await found.editor.new_session(provider="anthropic", mode="full")
            await found.editor.submit(session_id, "go")
            await found.client.wait_for(is_event("processing_end"))
            (end,) = [e["data"] for e in found.recorded(session_id) if e["kind"] == "tool_call_end"]
            yield found, session_id, end


def text_of(found: Served, name: str) -> str:
    return found.editor.documents[(found.project / name).as_uri()].source


async def hunks(found: Served, session_id: str) -> list[dict[str, Any]]:
    files = (await found.client.request("agent/hunks", {"sessionId": session_id}))["files"]
    return [hunk | {"uri": file["uri"]} for file in files for hunk in file["hunks"]]


async def nothing(found: Served) -> None: ...


async def test_all_files_of_a_patch_are_restored_if_one_document_is_closed_during_the_edit(
    tmp_path: Path,
) -> None:
    async with patched(tmp_path, nothing) as (found, session_id, end):
        assert end["isError"] and LEFT in end["output"] and "closed" in end["output"]
        assert text_of(found, OPEN) == OLD
        assert [(found.project / name).read_text() for name in (OPEN, LEFT, ON_DISK)] == [OLD] * 3
        assert await hunks(found, session_id) == []


async def test_a_file_that_cannot_be_restored_is_reported_and_the_hunk_remains_open(tmp_path: Path) -> None:
    async def type_into_the_change(found: Served) -> None:
        await found.editor.type(found.project / OPEN, 1, "typed ")

    async with patched(tmp_path, type_into_the_change) as (found, session_id, end):
        assert end["isError"] and "closed" in end["output"]
        assert "Could not restore" in end["output"] and OPEN in end["output"]
        assert text_of(found, OPEN) == "one\ntyped TWO\nthree\n"
        (left,) = await hunks(found, session_id)
        assert left["uri"].endswith(OPEN) and left["state"] == "edited" and left["oldLines"] == ["two\n"]
        assert [(found.project / name).read_text() for name in (OPEN, LEFT, ON_DISK)] == [OLD] * 3
