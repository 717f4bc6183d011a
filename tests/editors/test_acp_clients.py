"""Third-party ACP clients play a whole scenario: edit, approval, denial, command, stop, load and resume."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.acp.client import process_environment
from tests.editors.acp_rig import (
    CLIENTS,
    NEOVIM,
    RIG,
    STORIES,
    missing_client,
    missing_rig,
    play,
    rig_node,
    script,
)
from tests.support.commands import command
from tests.support.loopback import Answer, AnthropicServer, Gate, LoopbackProvider, ToolCall

pytestmark = [pytest.mark.req("H11", "H13"), pytest.mark.timeout(300)]

UNSAVED = "hello world\ntyped\n"
"""The unsaved text of the scenario's file after the agent's edit."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "note.txt").write_text("hello there\n")
    (tmp_path / "home").mkdir(exist_ok=True)
    return folder


@pytest.fixture
def server() -> Iterator[LoopbackProvider]:
    gate = Gate()
    with AnthropicServer(script(gate)) as found:
        yield found
        gate.open()


def check_files(project: Path) -> None:
    assert not (project / "denied").exists()
    assert (project / "ran").read_text() == "yes\n"


@pytest.mark.skipif(bool(missing_rig()), reason=missing_rig() or "-")
def test_the_official_typescript_acp_client_completes_the_whole_scenario(
    project: Path, server: LoopbackProvider
) -> None:
    environ = process_environment(project.parent / "home", server)
    seen = play([rig_node(), str(STORIES / "story.mjs"), str(RIG), *command("acp")], project, environ)
    assert seen["problems"] == [] and seen["checked"] > 50
    assert seen["stops"] == ["end_turn"] * 3 + ["cancelled"] + ["end_turn"] * 2
    assert seen["buffer"] == UNSAVED
    assert seen["loaded"] == "Edited.Denied.Ran.Working" and seen["back"] == "Back."
    assert seen["resumed"] == "" and seen["again"] == "Again."
    assert seen["ends"] == [0, 0, 0] and seen["stderr"] == ""
    check_files(project)


@pytest.mark.skipif(bool(missing_rig()), reason=missing_rig() or "-")
def test_the_official_client_of_the_preview_plays_a_session(project: Path, server: LoopbackProvider) -> None:
    environ = process_environment(project.parent / "home", server)
    argv = [rig_node(), str(STORIES / "preview.mjs"), str(RIG), *command("acp", "--preview-v2")]
    seen = play(argv, project, environ)
    assert seen["problems"] == [] and seen["checked"] > 30 and seen["protocolVersion"] == 2
    assert seen["stops"] == ["end_turn"] * 3 + ["cancelled"]
    assert seen["text"] == "Edited.Denied.Ran.Working"
    assert {"running", "requires_action", "idle"} == set(seen["states"])
    assert {"user_message", "tool_call_update", "state_update"} <= set(seen["updates"])
    assert (project / "note.txt").read_text() == "hello world\n"
    check_files(project)


@pytest.mark.skipif(
    not shutil.which("emacs"), reason="needs Emacs (make test-editors installs it where it may)"
)
@pytest.mark.skipif(bool(missing_client("acp.el")), reason=missing_client("acp.el") or "-")
def test_acp_el_in_emacs_completes_the_whole_scenario(project: Path, server: LoopbackProvider) -> None:
    environ = process_environment(project.parent / "home", server)
    argv = ["emacs", "-Q", "--batch", "-l", str(STORIES / "story.el")]
    seen = play(argv, project, environ, ACP_EL=str(CLIENTS / "acp.el"))
    stops = [it[2] for it in seen if it[0] == "prompt"]
    assert stops == ["end_turn"] * 3 + ["cancelled"] + ["end_turn"] * 2
    reported = {(it[0], it[1]) for it in seen}
    assert ("buffer", UNSAVED) in reported
    assert ("loaded", "Edited.Denied.Ran.Working") in reported and ("resumed", "") in reported
    assert ("said", "Back.") in reported and ("said", "Again.") in reported
    assert not [it for it in seen if it[0] == "stderr"]
    check_files(project)


@pytest.mark.neovim
@pytest.mark.skipif(
    bool(missing_client("codecompanion.nvim")), reason=missing_client("codecompanion.nvim") or "-"
)
def test_codecompanion_in_neovim_completes_the_whole_scenario(
    project: Path, server: LoopbackProvider
) -> None:
    environ = process_environment(project.parent / "home", server)
    argv = [str(NEOVIM), "--headless", "--clean", "-n", "-l", str(STORIES / "codecompanion.lua")]
    seen = play(argv, project, environ)
    assert "problem" not in seen, seen
    assert (project / "note.txt").read_text() == "hello world\n"
    assert seen["note"] == "hello world"
    for words in ("Edited.", "Denied.", "Ran.", "Back."):
        assert words in seen["chat"]
    check_files(project)


@pytest.mark.neovim
@pytest.mark.skipif(bool(missing_client("agentic.nvim")), reason=missing_client("agentic.nvim") or "-")
def test_agentic_in_neovim_completes_a_scenario(project: Path, server: LoopbackProvider) -> None:
    environ = process_environment(project.parent / "home", server)
    argv = [str(NEOVIM), "--headless", "--clean", "-n", "-l", str(STORIES / "agentic.lua")]
    seen = play(argv, project, environ)
    assert "problem" not in seen, seen
    assert (project / "note.txt").read_text() == "hello world\n"
    check_files(project)


def acpx(project: Path, server: LoopbackProvider, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = process_environment(project.parent / "home", server)
    argv = [rig_node(), str(RIG / "node_modules/acpx/dist/cli.js"), "--cwd", str(project)]
    agent = ["--agent", " ".join(command("acp"))]
    return subprocess.run(
        [*argv, *agent, *arguments], env=environ, capture_output=True, text=True, timeout=240, check=False
    )


EDITING: Sequence[Answer] = [
    [ToolCall("read_file", {"file_path": "note.txt"})],
    [ToolCall("edit_file", {"file_path": "note.txt", "old_string": "there", "new_string": "world"})],
    "Told.",
]


@pytest.mark.skipif(bool(missing_rig()), reason=missing_rig() or "-")
def test_acpx_edits_with_approval(project: Path) -> None:
    with AnthropicServer(EDITING) as server:
        done = acpx(project, server, "--approve-all", "--format", "quiet", "exec", "edit it")
    assert done.returncode == 0, done
    assert "Told." in done.stdout
    assert (project / "note.txt").read_text() == "hello world\n"


@pytest.mark.skipif(bool(missing_rig()), reason=missing_rig() or "-")
def test_the_exit_code_of_acpx_reports_a_denial(project: Path) -> None:
    options = ("--approve-reads", "--non-interactive-permissions", "deny", "--format", "quiet")
    with AnthropicServer(EDITING) as server:
        done = acpx(project, server, *options, "exec", "edit it")
    assert done.returncode == 5, done
    assert (project / "note.txt").read_text() == "hello there\n"
