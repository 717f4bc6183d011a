"""Command lines of cmd.exe: lines with special characters need approval, and no command counts as read-only."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.commands import analyse_command, judge_command
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, Situation

pytestmark = pytest.mark.req("H19", "X7", "X1")

ROOT = "C:\\code\\shop"


def judged(command: str, mode: Mode = "full", *grants: str) -> Judgement:
    # Paths are checked by the rules of this machine's system, so "/" is a root too.
    situation = Situation(mode, Places([ROOT, "/"], "/users/me"), grants=frozenset(grants))
    return judge_command(CommandEffect(command, ROOT), situation)


@pytest.mark.parametrize(
    "command", ["npm test", "python -m unittest", "git status", "dotnet build src/app.csproj"]
)
def test_cmd_line_without_special_characters_is_allowed_or_needs_approval_by_mode(command: str) -> None:
    assert isinstance(judged(command), Allow)
    assert isinstance(judged(command, "ask"), Ask)


def test_user_rule_covers_a_cmd_line_only_without_special_characters() -> None:
    assert isinstance(judged("npm test", "ask", "words:npm test"), Allow)
    assert isinstance(judged("npm test & del x", "ask", "words:npm test"), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a & del /q x'",  # one word in single quotes to a POSIX shell, two commands to cmd.exe
        "echo a ^& b",
        "echo %PATH%",
        "type a.txt > b.txt",
        "for %f in (*) do del %f",
        'echo "a" & del b',
        "dir C:\\Users",
        "echo a\ndel b",
        "echo !x!",
    ],
)
def test_cmd_line_with_special_characters_or_expansion_is_never_allowed_without_approval(
    command: str,
) -> None:
    found = judged(command)
    assert isinstance(found, Ask | Refuse)
    assert not isinstance(found, Ask) or found.needs_approval_in_every_mode


@pytest.mark.parametrize(
    "command",
    [
        "del /q x", "DEL x", "del/q x", "@del x", "del:x", "rd /s /q build", "format d:", "C:/Windows/FORMAT.COM d:",
        "cmd /c del x", "powershell -c x", "start del x", "reg delete HKCU", "taskkill /f /im code.exe",
    ],
)  # fmt: skip
def test_cmd_line_that_deletes_or_runs_another_program_needs_approval_in_every_mode(command: str) -> None:
    found = judged(command)
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode


@pytest.mark.parametrize("command", ["sort a.txt", "find a", "ls", "cat a.txt"])
def test_no_command_of_cmd_counts_as_read_only(command: str) -> None:
    assert not analyse_command(CommandEffect(command, ROOT), "/users/me").is_read_only
    assert analyse_command(CommandEffect(command, "/srv/shop"), "/users/me").is_read_only
    assert isinstance(judged(command, "ask"), Ask)
