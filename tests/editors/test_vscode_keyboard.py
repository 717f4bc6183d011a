"""A session in a real VS Code workbench by the keyboard alone, and random typing around the agent's changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acceptance.rig import WIRES
from tests.e2e.channel_client import channel_client
from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK, shell
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS

ANTHROPIC = WIRES[0]
NAMES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
)
PARTS = "".join(f"{name}\n" for name in NAMES)


def edit(name: str, old: str, new: str) -> ToolCall:
    return ToolCall("edit_file", {"file_path": name, "old_string": old, "new_string": new})


SCRIPT: list[Any] = [
    [ToolCall("read_file", {"file_path": name}) for name in ("stock.py", "parts.txt")],
    [
        ANTHROPIC.edit("stock.py", "    return sum(list(stock.values()))", "    return sum(stock.values())"),
        ANTHROPIC.edit("stock.py", "    return [name for name in stock]", "    return list(stock)"),
        edit("parts.txt", "four\n", "four\nfour b\n"),
        edit("parts.txt", "six\nseven\n", "6\n7\n7b\n"),
        edit("parts.txt", "nine\nten\n", ""),
        edit("parts.txt", "twelve\n", "12\n"),
        edit("parts.txt", "fifteen\n", "fifteen a\nfifteen b\nfifteen c\n"),
    ],
    [shell("mkdir checked")],
    "Tidy and checked.",
]


def read_ledger(state: Path, path: Path) -> dict[str, Any]:
    """Return the open hunks of a file in the server's ledger, with lines [first, last), and the version of the text."""

    async def ask() -> dict[str, Any]:
        (socket,) = (state / "channels").glob("*.sock")
        async with channel_client(state, int(socket.name.split("-")[1])) as client:
            result: dict[str, Any] = await client.request("agent/hunks", {"uri": path.as_uri()})
            return result

    files = anyio.run(ask)["files"]
    hunks = [{"id": hunk["id"], "lines": hunk["newRange"]} for file in files for hunk in file["hunks"]]
    return {"version": files[0]["version"] if files else None, "hunks": hunks}


@pytest.mark.req("H6", "H7", "H9")
def test_a_session_works_by_keyboard_alone_and_change_decorations_follow_random_typing(
    tmp_path: Path,
) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    (project / "parts.txt").write_text(PARTS)
    state = tmp_path / "state"
    with AnthropicServer(SCRIPT, key=vscode.KEY) as server:
        vscode.play(
            "keyboard.mjs",
            project,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(state),
            answers={"ledger": lambda: read_ledger(state, project / "parts.txt")},
        )
    assert (project / "checked").is_dir()
