"""Positions of hunks over real stdio: after any typing, the client is sent the new position of each hunk."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.server.lsp.documents import SyncedDocument
from tests.support.editor import Editor
from tests.support.framed_client import CAPABILITIES, server_process
from tests.support.loopback import AnthropicServer, ToolCall

MOVED = "agent/hunksMoved"
TEXT = "".join(f"line {number}\n" for number in range(40))
EDITS = [
    ("line 5\n", "line five\nline five and a half\n"),
    ("line 15\n", ""),
    ("line 20\n", "line 20\nmore\nand more\n"),
    ("line 30\nline 31\n", "thirty\n"),
]


def calls(edits: list[tuple[str, str]]) -> list[Any]:
    """Return one edit call for each pair of old and new text."""
    texts = ({"file_path": "a.txt", "old_string": old, "new_string": new} for old, new in edits)
    return [[ToolCall("edit_file", arguments)] for arguments in texts]


@asynccontextmanager
async def edited(tmp_path: Path, script: list[Any], **initialize: Any) -> AsyncIterator[tuple[Editor, Path]]:
    """Run an editor with an open file that the agent has edited."""
    path = tmp_path / "project/a.txt"
    path.parent.mkdir()
    await anyio.Path(path).write_text(TEXT)
    read = [ToolCall("read_file", {"file_path": "a.txt"})]
    with AnthropicServer([read, *script], key="sk-test") as model:
        env = {"ANTHROPIC_API_KEY": "sk-test"}
        settings = {
            "provider": "anthropic",
            "mode": "edits",
            "providers": {"anthropic": {"baseUrl": model.base_url}},
        }
        async with server_process(env=env) as server:
            editor = Editor(server.client)
            await server.client.initialize(
                folder=path.parent, initializationOptions={"agentLs": settings}, **initialize
            )
            await editor.open(path)
            session = await editor.new_session(provider="anthropic")
            await editor.submit(session, "Edit it.")
            await server.client.event("processing_end")
            yield editor, path


async def ledger(editor: Editor, path: Path) -> dict[str, list[int]]:
    """Return the server's position of each open hunk."""
    files = (await editor.client.request("agent/hunks", {"uri": path.as_uri()}))["files"]
    return {hunk["id"]: hunk["newRange"] for file in files for hunk in file["hunks"]}


async def sent(editor: Editor, path: Path) -> dict[str, Any]:
    """Wait for the hunk positions that the server sends for the current version of the document; return them."""
    document = editor.documents[path.as_uri()]
    message = await editor.client.wait_for(
        lambda m: m.get("method") == MOVED and m["params"].get("version") == document.version
    )
    params: dict[str, Any] = message["params"]
    return params


@pytest.mark.req("H6")
async def test_a_line_typed_above_a_hunk_sends_the_new_hunk_position_to_the_client(tmp_path: Path) -> None:
    async with edited(tmp_path, [*calls(EDITS[:1]), "Done."]) as (editor, path):
        before = await ledger(editor, path)
        await editor.type(path, 0, "one\ntwo\n")
        params = await sent(editor, path)

        assert params["uri"] == path.as_uri()
        (hunk,) = params["hunks"]
        assert before == {hunk["id"]: [5, 7]}
        assert hunk["newRange"] == [7, 9] and hunk["oldRange"] == [7, 8]


@pytest.mark.req("H6")
async def test_an_agent_edit_above_a_hunk_sends_the_new_hunk_positions_to_the_client(tmp_path: Path) -> None:
    async with edited(tmp_path, [*calls(EDITS[3:]), *calls(EDITS[:1]), "Done."]) as (editor, path):
        params = await sent(editor, path)

        assert {hunk["id"]: hunk["newRange"] for hunk in params["hunks"]} == await ledger(editor, path)
        assert [hunk["newRange"] for hunk in params["hunks"]] == [[5, 7], [31, 32]]


def random_change(dice: random.Random, document: SyncedDocument) -> tuple[Any, Any, str]:
    """Return a random edit: letters, lines, deletions and replacements, anywhere in the document."""
    lines = document.lines
    first = dice.randrange(len(lines))
    last = min(first + dice.choice([0, 0, 0, 1, 2]), len(lines) - 1)
    column = dice.randrange(len(lines[first]))
    end = dice.randrange(column if last == first else 0, len(lines[last]))
    text = dice.choice(["x", "new line\n", "two\nlines\n", "", "\n", "line 5\n"])
    if text == "" and (first, column) == (last, end):
        text = "y"
    return (first, column), (last, end), text


@pytest.mark.req("H6")
@pytest.mark.parametrize("seed", range(4))
async def test_after_random_typing_the_client_has_the_same_hunk_positions_as_the_server(
    tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    compared = 0
    async with edited(tmp_path, [*calls(EDITS), "Done."]) as (editor, path):
        document = editor.documents[path.as_uri()]
        for _ in range(10):  # the server sends positions at most every 0.2 s
            if len(document.lines) < 5:
                break
            before = document.source
            while document.source == before:
                await editor.replace(path, *random_change(dice, document))
            expected = await ledger(editor, path)
            if not expected:
                break
            params = await sent(editor, path)
            assert {hunk["id"]: hunk["newRange"] for hunk in params["hunks"]} == expected
            for hunk in params["hunks"]:
                first, end = hunk["newRange"]
                assert list(document.lines[first:end]) == hunk["newLines"]
            compared += 1
    assert compared > 3


async def test_a_client_without_hunk_display_gets_no_positions(tmp_path: Path) -> None:
    abilities = {**CAPABILITIES["vscode"]["experimental"]["agentLs"], "review": False}
    capabilities = {**CAPABILITIES["vscode"], "experimental": {"agentLs": abilities}}
    async with edited(tmp_path, [*calls(EDITS[:1]), "Done."], capabilities=capabilities) as (editor, path):
        await editor.type(path, 0, "one\n")
        await ledger(editor, path)
        await editor.client.shut_down()

        assert not [message for message in editor.client.received if message.get("method") == MOVED]
