"""agent-ls itself never starts a program of the project, also if a folder of the project is on PATH."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_ls
from agent_ls import program_lookup
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.features.git.reader import GitReader
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text

pytestmark = [
    pytest.mark.req("X4", "X6"),
    pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are POSIX scripts"),
]
PACKAGE = Path(agent_ls.__file__).parent
PROGRAMS = (
    "rg git setpriv true env bwrap ps ssh docker podman nvim sh bash python3 node rm cat ls id uname".split()
)


def plant(folder: Path, ran: Path, names: list[str] = PROGRAMS) -> Path:
    """Make programs that write their name into the file `ran`, and claim a high version."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(
            f'#!/bin/sh\necho {name} >> "{ran}"\necho "ripgrep 99.0.0 git version 99.0.0"\n'
        )
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository whose own folder of programs is first on PATH."""
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "a.txt").write_text("word\n")
    plant(folder / "node_modules/.bin", tmp_path / "ran")
    monkeypatch.setenv("PATH", f"{folder}/node_modules/.bin{os.pathsep}{os.environ['PATH']}")
    yield folder


@pytest.mark.report(
    "openai/codex-security#129",
    "git is started by its name with a PATH that may contain node_modules/.bin of the repository",
    area="safety",
    before="failed",
)
@pytest.mark.report(
    "openai/codex#30833",
    "helpers for worktrees start the first git on PATH, which the repository may own",
    area="safety",
    before="failed",
)
@pytest.mark.report(
    "GitGuardian/ggshield#24", "a git in the scanned repository is run", area="safety", before="passed"
)
async def test_a_session_starts_no_program_of_the_project(tmp_path: Path, project: Path) -> None:
    model = FakeProvider(
        [
            call("grep", pattern="word"),
            call("glob", pattern="*.txt"),
            call("shell", command="/bin/echo hi"),
            [text("Done.")],
        ]
    )
    async with agent_ls.open_session(**options(tmp_path, model, trusted=True, mode="full")) as session:
        await session.ask("Do it.")
    environment = LocalEnvironment(str(project))
    await environment.initialize()
    await GitReader(environment, str(project)).new_names()
    await environment.cleanup()
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


async def test_commands_of_the_model_keep_their_path(tmp_path: Path, project: Path) -> None:
    environment = LocalEnvironment(str(project))
    await environment.initialize()
    for given in (CommandOptions(), CommandOptions(argv=("git", "status"))):
        done = await environment.exec_command("git status", given)
        assert "99.0.0" in done.stdout
    await environment.cleanup()


@pytest.mark.report(
    "ilovepixelart/pi-code#235",
    "a shell planted in the project becomes the shell of the project's hooks where the project is on PATH",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "omercnet/vscode-acp#110",
    "empty and relative entries of PATH and links into the workspace lead to programs of the repository",
    area="safety",
    before="failed",
)
@pytest.mark.parametrize(
    "entry",
    [
        "{inside}",
        ".",
        "",
        "inside/bin",
        "{inside}/../bin",
        "{link}",
        "{outside}/../inside/bin",
        "{nested}",
        "{open}",
    ],
)
def test_an_unsafe_entry_of_path_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    inside, outside = tmp_path / "inside/bin", tmp_path / "outside"
    for folder in (inside, tmp_path / "inside", inside / "deeper", tmp_path / "open", outside):
        plant(folder, tmp_path / "ran", ["rg"])
    (tmp_path / "link").symlink_to(inside)
    (tmp_path / "open").chmod(0o1777)
    program_lookup.add_workspace(str(tmp_path / "inside"))
    monkeypatch.chdir(tmp_path / "inside")
    places = {name: str(tmp_path / name) for name in ("link", "open", "outside")}
    path = entry.format(inside=inside, nested=inside / "deeper", **places)
    assert program_lookup.find_program("rg", path) is None
    assert program_lookup.find_program("rg", f"{path}{os.pathsep}{outside}") == str(outside / "rg")


@pytest.mark.parametrize("kind", ["link into the workspace", "writable file", "writable parent"])
def test_a_program_that_others_can_replace_is_not_used(tmp_path: Path, kind: str) -> None:
    workspace, folder = tmp_path / "workspace", tmp_path / "tools/bin"
    plant(workspace, tmp_path / "ran", ["rg"])
    plant(folder, tmp_path / "ran", ["rg"])
    program_lookup.add_workspace(str(workspace))
    assert program_lookup.find_program("rg", str(folder)) == str(folder / "rg")
    match kind:
        case "link into the workspace":
            (folder / "rg").unlink()
            (folder / "rg").symlink_to(workspace / "rg")
        case "writable file":
            (folder / "rg").chmod(0o777)
        case _:
            folder.parent.chmod(0o777)
    assert program_lookup.find_program("rg", str(folder)) is None


@pytest.mark.parametrize("workspace", ["/", "/usr", os.path.expanduser("~")])
def test_programs_of_the_system_are_found_in_a_workspace_that_contains_them(
    workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_lookup, "_WORKSPACES", {workspace})
    assert program_lookup.find_program("sh", "/usr/bin:/bin")


def test_a_missing_program_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        program_lookup.require_program("no-such-program")


_STARTS = {
    "run", "Popen", "call", "check_call", "check_output", "open_process", "run_process", "run_program", "run_confined",
    "create_subprocess_exec", "create_subprocess_shell", "execvp", "execvpe", "execlp", "posix_spawnp", "system",
}  # fmt: skip


def _problems(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if name == "which" or (
            isinstance(node, ast.ImportFrom) and any(it.name == "which" for it in node.names)
        ):
            yield f"{path}:{getattr(node, 'lineno', 0)}: searches PATH; use program_lookup"
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        first = node.args[0]
        words = first.elts[0] if isinstance(first, ast.List | ast.Tuple) and first.elts else first
        is_bare = isinstance(words, ast.Constant) and isinstance(words.value, str) and "/" not in words.value
        if name in _STARTS and is_bare and _starts_process(called):
            yield f"{path}:{node.lineno}: starts {ast.unparse(words)} by its name; use program_lookup"


def _starts_process(called: ast.expr) -> bool:
    match called:
        case ast.Attribute(value=ast.Name(id="subprocess" | "anyio" | "asyncio" | "os")):
            return True
        case ast.Name(id="Popen" | "open_process" | "run_process" | "run_program" | "run_confined"):
            return True
    return False


def test_no_other_module_searches_programs() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "program_lookup.py"]
    assert not [problem for path in files for problem in _problems(path)]


def test_the_check_of_the_modules_finds_what_it_forbids(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("import shutil\nshutil.which('x')\nsubprocess.run(['git', 'x'])\nrun_program(('ps',))\n")
    assert len([*_problems(path)]) == 3
    path.write_text("subprocess.run(['/bin/x'])\nclient.run('git')\nsubprocess.run([sys.executable])\n")
    assert not [*_problems(path)]
