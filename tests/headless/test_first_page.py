"""`agent-ls` alone, an unknown command, completions and colours."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from agent_ls.cli.completions import SHELLS
from agent_ls.cli.first_page import FIRST_DAY, GROUPS
from agent_ls.cli.main import COMMANDS, build_parser
from agent_ls.headless.style import COLOURED, PLAIN, style_for
from tests.support.commands import environment, run

pytestmark = pytest.mark.req("H13")


def test_groups_of_the_page_have_every_command_once() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    for command, _ in FIRST_DAY:
        build_parser(lambda name: True).parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_without_a_command_a_page_is_printed_that_names_all_commands(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 0 and not done.err
    assert all(name in done.out for name in COMMANDS)
    assert [line for line in done.out.splitlines() if len(line) > 120] == []
    assert not (tmp_path / "home").exists() or not [*(tmp_path / "home").rglob("log.jsonl")]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("exce", "agent-ls exec"),
        ("session", "agent-ls sessions"),
        ("completion", "agent-ls completions"),
        ("zzzz", "lists the commands"),
        ("foo", "lists the commands"),
        ("chat", "agent-ls exec --ask"),
        ("fix the failing test", "agent-ls exec"),
    ],
)
def test_unknown_command_is_refused_with_the_nearest_one(name: str, hint: str, tmp_path: Path) -> None:
    done = run(name, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 2 and not done.out
    first, second = done.err.splitlines()
    assert name in first and hint in second


def test_help_pages_break_no_command_and_no_path_in_two(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", COLUMNS="40")
    for words in (("completions", "--help"), ("models", "--help"), ("demo", "--help")):
        done = run(*words, cwd=tmp_path, environ=environ)
        assert not [line for line in done.out.splitlines() if line.endswith("-")], done.out


@pytest.mark.parametrize("shell", SHELLS)
def test_completions_name_commands_and_options_and_are_valid_scripts(shell: str, tmp_path: Path) -> None:
    done = run("completions", shell, cwd=tmp_path, environ=environment(tmp_path / "home"))
    assert done.code == 0, done
    assert all(name in done.out for name in COMMANDS)
    assert "--mode" in done.out or "-l mode" in done.out
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(done.out)
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True)


@pytest.mark.parametrize(
    ("environ", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_follow_the_usual_variables(
    environ: dict[str, str], on_terminal: bool, elsewhere: bool
) -> None:
    for is_terminal, expected in ((True, on_terminal), (False, elsewhere)):
        style = style_for(is_terminal=is_terminal, environ=environ)
        assert style == (COLOURED if expected else PLAIN)
