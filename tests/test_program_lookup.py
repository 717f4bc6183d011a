"""agent-ls itself never starts a program of the project, also if a folder of the project is on PATH."""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import agent_ls
from agent_ls import program_lookup
from agent_ls.cli.browser import open_browser
from agent_ls.environments.base import CommandOptions, GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.timed_search import grep_texts, run_timed
from agent_ls.features.git.reader import GitReader
from tests.docs.pages import ROOT, nodes
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


@pytest.mark.report("openai/codex-security#129", "openai/codex#30833", "GitGuardian/ggshield#24")
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


@pytest.mark.report("ilovepixelart/pi-code#235", "omercnet/vscode-acp#110")
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


_STARTERS = {
    "run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "open_process", "run_process",
    "run_program", "run_confined", "create_subprocess_exec", "create_subprocess_shell", "execvp", "execvpe", "execlp",
    "execlpe", "posix_spawnp", "spawnlp", "spawnlpe", "spawnvp", "spawnvpe", "system", "popen", "StartRequest",
}  # fmt: skip
_MODULES = {"subprocess", "anyio", "asyncio", "os", "pty", "ending", "starting"}
_SEARCHERS = {"which", "find_executable", "startfile"}
_FORBIDDEN_MODULES = {"webbrowser", "multiprocessing", "anyio.to_process", "distutils", "pexpect"}
_ALLOWED = {("cli/browser.py", "startfile")}
"""`startfile` opens an address with the program that Windows has registered for it."""


def _problems(path: Path) -> Iterator[str]:
    inner = nodes(os.path.relpath(path, ROOT))
    values = _assigned(inner)
    taken = {
        it.asname or it.name
        for node in inner
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in _MODULES
        for it in node.names
    }
    for node in inner:
        where = f"{path}:{getattr(node, 'lineno', 0)}"
        for name in _names_of(node):
            if name in _FORBIDDEN_MODULES or name == "concurrent.futures.ProcessPoolExecutor":
                yield f"{where}: {name} starts programs by their names, or Python in the user's folder"
            searcher = name.rpartition(".")[2]
            if searcher in _SEARCHERS and (str(path.relative_to(PACKAGE)), searcher) not in _ALLOWED:
                yield f"{where}: searches PATH; use program_lookup"
        if isinstance(node, ast.Call) and _starts_process(node.func, taken):
            for words in _first_arguments(node, values):
                if (
                    isinstance(words, ast.Constant)
                    and isinstance(words.value, str)
                    and "/" not in words.value
                ):
                    yield f"{where}: starts {words.value} by its name; use program_lookup"
        if isinstance(node, ast.List | ast.Tuple) and _begins_with_python(node.elts):
            options = [it.value for it in node.elts if isinstance(it, ast.Constant)]
            if {"-m", "-c"} & {*options} and not {"-P", "-I"} & {*options} and "pip" not in options:
                yield f"{where}: Python imports modules from the folder in which it starts; add -P"


def _names_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (it.name for it in node.names)
        case ast.ImportFrom(module=str(module)):
            yield module
            yield from (f"{module}.{it.name}" for it in node.names)
        case ast.Attribute(value=ast.Name(id=str(module)), attr=str(name)):
            yield f"{module}.{name}"


def _begins_with_python(words: list[ast.expr]) -> bool:
    match words:
        case [ast.Attribute(value=ast.Name(id="sys"), attr="executable"), *_]:
            return True
    return False


def _assigned(inner: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return what is assigned to each name anywhere in the module."""
    found: dict[str, list[ast.expr]] = {}
    for node in inner:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                found.setdefault(target.id, []).append(value)
    return found


def _first_arguments(call: ast.Call, values: dict[str, list[ast.expr]]) -> Iterator[ast.expr]:
    """Yield the expressions that may be the program of a call, through variables and sums of lists."""
    waiting = [
        *call.args[:1],
        *(it.value for it in call.keywords if it.arg in ("args", "command", "argv", "program")),
    ]
    seen: set[str] = set()
    while waiting:
        match waiting.pop():
            case ast.Name(id=name) if name not in seen:
                seen.add(name)
                waiting += values.get(name, [])
            case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
                waiting.append(first)
            case ast.BinOp(left=left) | ast.Starred(value=left) | ast.Subscript(value=left):
                waiting.append(left)
            case ast.IfExp(body=one, orelse=other):
                waiting += [one, other]
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                waiting.append(inner)
            case ast.JoinedStr(values=[first, *_]):
                waiting.append(first)
            case other:
                yield other


def _starts_process(called: ast.expr, taken: set[str]) -> bool:
    match called:
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module in _MODULES and name in _STARTERS) or (module, name) == ("pty", "spawn")
        case ast.Name(id=name):
            return name in _STARTERS and (name in taken)
    return False


def test_no_other_module_searches_programs() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "program_lookup.py"]
    assert not [problem for path in files for problem in _problems(path)]


@pytest.mark.parametrize(
    ("line", "is_forbidden"),
    [
        ("shutil.which('x')", True),
        ("from shutil import which", True),
        ("subprocess.run(['git', 'x'])", True),
        ("subprocess.run('git x', shell=True)", True),
        ("from subprocess import Popen\nPopen(args=('ps',))", True),
        ("from a.ending import run_program\nrun_program(('ps',))", True),
        ("import webbrowser", True),
        ("from anyio import to_process", True),
        ("import multiprocessing", True),
        ("from concurrent.futures import ProcessPoolExecutor", True),
        ("asyncio.create_subprocess_exec('git', 'x')", True),
        ("asyncio.create_subprocess_shell('git x')", True),
        ("anyio.open_process(['git'])", True),
        ("os.execvp('git', ['git'])", True),
        ("os.popen('git x')", True),
        ("pty.spawn(['bash'])", True),
        ("words = ['git', 'x']\nsubprocess.run(words)", True),
        ("words = ['git'] + more\nsubprocess.run([*words, 'x'])", True),
        ("GIT = 'git'\nsubprocess.run([GIT, 'x'])", True),
        ("subprocess.run([sys.executable, '-m', 'agent_ls'])", True),
        ("x = (sys.executable, '-c', 'import re')", True),
        ("subprocess.run(['/bin/x'])", False),
        ("client.run('git')", False),
        ("subprocess.run([sys.executable])", False),
        ("subprocess.run([sys.executable, '-P', '-m', 'agent_ls'])", False),
        ("program = require_program('git')\nsubprocess.run([program, 'x'])", False),
    ],
)
def test_the_check_of_the_modules_finds_what_it_forbids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, is_forbidden: bool
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "x.py").write_text(line)
    assert bool([*_problems(tmp_path / "x.py")]) is is_forbidden


@pytest.fixture
def hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with modules of the names that a Python of agent-ls imports first."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("anyio", "agent_ls", "pickle", "json", "encodings", "pydantic", "runpy"):
        (folder / name).mkdir()
        for file in ("__init__.py", "to_process.py", "__main__.py"):
            (folder / name / file).write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')")
    return folder


@pytest.mark.report("aristocratos/bashtop#167")
async def test_a_search_imports_nothing_from_the_current_folder(tmp_path: Path, hostile_folder: Path) -> None:
    """A pattern that may backtrack is matched by a separate process, which starts in the folder of the project."""
    pattern, limits = "(a+)!", GrepOptions()
    (found,) = await run_timed(pattern, limits, grep_texts, [("a", b"aa!")], re.compile(pattern), limits)
    assert [it.line for it in found] == [1] and not (tmp_path / "ran").exists()


def test_a_server_for_a_connection_imports_nothing_from_the_current_folder(
    tmp_path: Path, hostile_folder: Path
) -> None:
    argv = [
        sys.executable,
        "-P",
        "-m",
        "agent_ls",
        "serve",
        "--tcp",
        "0",
        "--token-file",
        str(tmp_path / "token"),
    ]
    with subprocess.Popen(argv, cwd=hostile_folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            port = re.search(r":(\d+)", process.stderr.readline())
            assert port
            with socket.create_connection(("127.0.0.1", int(port[1]))) as connection:
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass  # until the server of this connection has ended
        finally:
            process.terminate()
    assert not (tmp_path / "ran").exists()


async def test_a_browser_of_the_project_is_not_started(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not by a program such as xdg-open, which searches PATH itself."""
    browsers = [
        "xdg-open",
        "firefox",
        "google-chrome",
        "www-browser",
        "w3m",
        "gio",
        "wslview",
        "open",
        "sensible-browser",
    ]
    plant(project / "node_modules/.bin", tmp_path / "ran", browsers)
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o755)
    (tools / "opener").write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\nexec firefox "$1"\n')
    (tools / "opener").chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{tools}")
    program_lookup.add_workspace(str(project))
    for browser in ("firefox", "opener %s"):
        monkeypatch.setenv("BROWSER", browser)
        await anyio.to_thread.run_sync(open_browser, "https://example.com/login?a=%22")
    assert (tmp_path / "opened").read_text() == "https://example.com/login?a=%22\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "--version", "javascript:alert(1)", "vscode://x", ""]
)
def test_only_web_addresses_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    plant(tmp_path / "tools", tmp_path / "ran", ["opener"])
    monkeypatch.setenv("BROWSER", "opener")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    assert not open_browser(address) and not (tmp_path / "ran").exists()
