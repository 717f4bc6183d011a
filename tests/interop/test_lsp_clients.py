"""A client made of Microsoft's protocol library plays a story; the library's types check each received message."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.rig import HERE, NODE, RIG, needs_rig
from tests.support import REPOSITORY
from tests.support.loopback import Answer, AnthropicServer, ToolCall

TYPESCRIPT = REPOSITORY / "vscode-extension" / "node_modules" / "typescript" / "bin" / "tsc"
OLD, NEW = "one\ntwo\n", "ONE\ntwo\n"
ANSWERS: list[Answer] = [
    [ToolCall("read_file", {"file_path": "a.txt"})],
    [ToolCall("edit_file", {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"})],
    [ToolCall("shell", {"command": "touch made"})],
    "All done.",
]
SERVER = (sys.executable, "-m", "agent_ls", "serve", "--stdio")

PARAMS = {
    "client/registerCapability": "RegistrationParams",
    "textDocument/publishDiagnostics": "PublishDiagnosticsParams",
    "window/logMessage": "LogMessageParams",
    "window/showMessage": "ShowMessageParams",
    "window/showMessageRequest": "ShowMessageRequestParams",
    "window/workDoneProgress/create": "WorkDoneProgressCreateParams",
    "workspace/applyEdit": "ApplyWorkspaceEditParams",
    "workspace/codeLens/refresh": "undefined",
    "workspace/configuration": "ConfigurationParams",
}
RESULTS = {
    "initialize": "InitializeResult",
    "textDocument/codeAction": "(Command | CodeAction)[]",
    "textDocument/codeLens": "CodeLens[]",
    "shutdown": "null",
}
PROGRESS = {
    "begin": "WorkDoneProgressBegin",
    "report": "WorkDoneProgressReport",
    "end": "WorkDoneProgressEnd",
}

pytestmark = [needs_rig, pytest.mark.req("H1", "H8")]


def run_story(project: Path, *client: str | Path) -> dict[str, Any]:
    """Run a client's story in `project` with a scripted model. Returns what it printed."""
    project.mkdir()
    (project / "a.txt").write_text(OLD)
    with AnthropicServer(ANSWERS) as model:
        done = subprocess.run(
            [*map(str, client), RIG, project, *SERVER],
            env={
                **os.environ,
                "PYTHONPATH": str(REPOSITORY),
                "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_BASE_URL": model.base_url,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def check_story(project: Path, found: dict[str, Any]) -> None:
    assert "All done." in found["chat"]
    assert found["file"] == NEW
    assert (project / "made").exists()
    assert found["code"] == 0


def typed(message: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the type and the value that a message has to fit; None for an answer whose result has any type."""
    method = message["method"]
    if "params" not in message:
        return (RESULTS[method], message["result"]) if method in RESULTS else None
    if method == "$/progress":
        return PROGRESS[message["params"]["value"]["kind"]], message["params"]["value"]
    return PARAMS[method], message["params"]


def test_scripted_session_with_the_vscode_protocol_library_sends_only_messages_of_valid_types(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    found = run_story(project, NODE, HERE / "lsp_story.mjs")
    check_story(project, found)
    assert all(not message.get("error") for message in found["received"])
    checked = [it for message in found["received"] if (it := typed(message))]
    assert {"PublishDiagnosticsParams", "ApplyWorkspaceEditParams", "InitializeResult"} <= {
        it[0] for it in checked
    }
    check_types(tmp_path, checked)


def check_types(folder: Path, values: list[tuple[str, Any]]) -> None:
    """Compile the values as literals of the library's types: a missing, wrong or additional member is an error."""
    names = sorted({name for kind, _ in values for name in re.findall(r"[A-Z]\w+", kind)})
    lines = [f"import type {{ {', '.join(names)} }} from 'vscode-languageserver-protocol'"]
    for number, (kind, value) in enumerate(values):
        text = "undefined" if kind == "undefined" else json.dumps(value)
        lines.append(f"export const value{number}: {kind} = {text}")
    (folder / "messages.ts").write_text("\n".join(lines))
    (folder / "node_modules").symlink_to(RIG / "node_modules")
    flags = ("--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext")
    done = subprocess.run(
        [NODE, TYPESCRIPT, *flags, "messages.ts"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
