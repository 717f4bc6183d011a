"""`agent-ls tools` lists and checks packs, `exec --tools` selects them, and `doctor` reports missing programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.support.commands import command, environment, provider_variables, run
from tests.support.loopback import AnthropicServer, Script, ToolCall

pytestmark = pytest.mark.req("T8", "H13")


def fake_installer(folder: Path, name: str, script: str) -> dict[str, str]:
    """Write a fake program and return an environment with only its folder on PATH."""
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return environment(folder.parent / "home") | {"PATH": str(folder)}


def test_packs_are_listed_with_presets_tools_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--packs"]) == 0
    out = capsys.readouterr().out
    assert "standard   execution process" in out and "\ngit: look at history" in out
    assert "  pytest  (write)  Run Python tests with pytest.  [pytest]" in out


def test_tools_check_lists_missing_programs_and_exits_with_code_1(tmp_path: Path) -> None:
    (tmp_path / "package.json").touch()
    environ = fake_installer(tmp_path / "bin", "git", "exit 0")
    done = run("tools", "--check", "git,testing", cwd=tmp_path, environ=environ)
    assert done.code == 1 and done.err == ""
    assert "11 of 17 tools" in done.out
    assert (
        "✗ pytest is not on PATH; tools that need it: pytest\n  → python3 -m pip install pytest" in done.out
    )
    assert ": execution, file_read" in done.out and "✗ testing: none" in done.out
    assert "the pack javascript" in done.out
    assert run("tools", "--check", "git", cwd=tmp_path, environ=environ).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--check", "gitt"], "'gitt' is neither a preset nor a pack"),
        (["--check", "minimal,full"], "give one preset only"),
        (["--check"], "no tool packs are chosen in your settings"),
    ],
)
def test_a_wrong_argument_of_the_tools_command_prints_one_error_line_and_one_hint(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tools", *words]) == 2
    first, hint, *rest = capsys.readouterr().err.splitlines()
    assert message in first and "standard" in hint and not rest


def test_tools_check_without_a_pack_name_checks_the_packs_of_the_user_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"toolPacks": {"packs": ["file_read"]}}))
    monkeypatch.setenv("AGENT_LS_SETTINGS", str(tmp_path / "s.json"))
    assert main(["tools", "--check"]) == 0
    assert "3 of 3 tools" in capsys.readouterr().out


def test_tools_install_refuses_to_run_without_a_terminal(tmp_path: Path) -> None:
    environ = fake_installer(tmp_path / "bin", "npm", 'echo "$@" > installed')
    done = run("tools", "--install", "testing", cwd=tmp_path, environ=environ)
    assert done.code == 2 and "in a terminal" in done.err
    assert not (tmp_path / "installed").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(("answer", "installed"), [("y", ["install --global eslint"]), ("", []), ("no", [])])
def test_tools_install_installs_a_program_only_if_the_user_confirms(
    answer: str, installed: list[str], tmp_path: Path
) -> None:
    from tests.support.pseudo_terminal import PseudoTerminal

    environ = fake_installer(tmp_path / "bin", "npm", f'echo "$@" >> {tmp_path}/installed')
    with PseudoTerminal(
        command("tools", "--install", "javascript"), cwd=tmp_path, environ=environ
    ) as terminal:
        terminal.until("run `npm install --global eslint`? [y/N] ")
        assert not (tmp_path / "installed").exists()
        terminal.type(f"{answer}\n")
        terminal.until("run `npm install --global prettier`? [y/N] ")
        found = (tmp_path / "installed").read_text().splitlines() if installed else []
        assert found == installed and (tmp_path / "installed").exists() is bool(installed)
        terminal.type("n\n")
        assert terminal.process.wait(60) == 1, "something is still missing"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(
    ("script", "words"), [("exit 3", "it failed with exit code 3"), (None, "cannot be started")]
)
def test_tools_install_reports_a_failed_installation_and_continues(
    script: str | None, words: str, tmp_path: Path
) -> None:
    from tests.support.pseudo_terminal import PseudoTerminal

    environ = fake_installer(tmp_path / "bin", "npm" if script else "other", script or "exit 0")
    with PseudoTerminal(
        command("tools", "--install", "javascript"), cwd=tmp_path, environ=environ
    ) as terminal:
        terminal.until("eslint`? [y/N] ")
        terminal.type("y\n")
        terminal.until(words)
        terminal.until("prettier`? [y/N] ")
        terminal.type("n\n")
        assert terminal.process.wait(60) == 1


def test_tools_check_advises_to_install_a_system_package_for_a_missing_program(tmp_path: Path) -> None:
    environ = fake_installer(tmp_path / "bin", "git", "exit 0")
    done = run("tools", "--check", "directory", cwd=tmp_path, environ=environ)
    assert "the package tree" in done.out


def test_exec_offers_the_tools_of_the_given_packs(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").touch()
    with AnthropicServer(["Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--tools", "minimal,git,detected", "go", cwd=tmp_path, environ=environ)
    assert done.code == 0, done
    (request,) = server.requests
    assert isinstance(request.body, dict)
    names = {tool["name"] for tool in request.body["tools"]}
    assert {"copy_file", "git_status", "reflect"} <= names and "pytest" not in names


def test_exec_prints_missing_programs_before_the_models_answer(tmp_path: Path) -> None:
    with AnthropicServer(["Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server)) | {
            "PATH": str(tmp_path),
            "AGENT_LS_TRUSTED_FOLDERS": "",
        }
        done = run("exec", "--tools", "git", "go", cwd=tmp_path, environ=environ)
    assert done.code == 0, done
    said = f"{done.out}{done.err}"
    assert "Missing programs: git" in said
    assert "not trusted" in said
    assert done.out.index("Tool packs: 0 of 11") < done.out.index("Done.")


@pytest.mark.parametrize(
    ("allowed", "runs"), [([], False), (["copy_file"], True), (["git_branch"], False), (["git"], False)]
)
def test_exec_allows_an_editing_tool_of_a_pack_by_its_name(
    allowed: list[str], runs: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    words = [word for name in allowed for word in ("--allow", name)]
    script: Script = [[ToolCall("copy_file", {"source": "a.txt", "target": "b.txt"})], "Done."]
    with AnthropicServer(script) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--trust", "--tools", "minimal,git", *words, "go", cwd=tmp_path, environ=environ)
    assert (done.code, (tmp_path / "b.txt").exists()) == ((0, True) if runs else (3, False)), done


def test_exec_allows_a_program_of_a_pack_by_the_name_of_its_tool(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("hello:\n\t@echo made > b.txt\n")
    script: Script = [[ToolCall("make_target", {"target": "hello"})], "Done."]
    with AnthropicServer(script) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        words = ["--trust", "--tools", "execution", "--allow", "make_target"]
        done = run("exec", *words, "go", cwd=tmp_path, environ=environ)
    assert done.code == 0 and (tmp_path / "b.txt").read_text() == "made\n", done


def test_a_recorded_run_with_detected_packs_replays_without_differences(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").touch()
    calls = [ToolCall("pytest", {}), ToolCall("head", {"file_path": "pyproject.toml"})]
    script: Script = [calls[:1], calls[1:], "Done."]
    tape = str(tmp_path / "run.jsonl")
    with AnthropicServer(script) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        words = ["--trust", "--tools", "full,file_read,detected", "--record", tape]
        done = run("exec", *words, "go", cwd=tmp_path / "project", environ=environ)
    assert done.code == 3 and "Missing programs" in done.out, done  # nobody may allow pytest
    again = run("replay", tape, cwd=tmp_path, environ=environ)
    assert again.code == 0 and "as recorded" in again.out, again


def test_exec_refuses_an_unknown_pack(tmp_path: Path) -> None:
    done = run("exec", "--tools", "everything", "go", cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and "--tools: 'everything'" in done.err


def test_doctor_names_missing_programs_of_the_chosen_packs_only(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"toolPacks": {"packs": ["testing"]}}))
    environ = fake_installer(tmp_path / "bin", "pytest", "exit 0")

    def found_by(*words: str) -> list[dict[str, str]]:
        done = run("doctor", "--offline", "--json", *words, cwd=tmp_path, environ=environ)
        return [one for one in json.loads(done.out) if one["subject"] == "tool packs"]

    assert found_by() == []
    found = found_by("--settings", "s.json")
    assert len(found) == 6 and all(one["grade"] == "note" for one in found)
    assert found[0]["text"] == "1 of 6 tools can be used (16%)"
    assert {"npm install --global jest", "install Rust from https://rustup.rs"} <= {
        one["hint"] for one in found
    }
