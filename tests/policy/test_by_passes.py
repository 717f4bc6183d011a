"""Commands that an earlier policy ran without approval (by_passes.txt), and similar ones (hostile.txt), need it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Ask, Mode, Situation

pytestmark = pytest.mark.req("X7", "X8")

PLACES = Places(("/w",), "/home/u")
MODES: tuple[Mode, ...] = ("ask", "edits")


def lines_of(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [line.replace("⏎", "\n") for line in text.splitlines() if line and not line.startswith("# ")]


def judged(command: str, mode: Mode) -> object:
    return judge(CommandEffect(command, "/w"), Situation(mode, PLACES))


@pytest.mark.parametrize("name", ["by_passes.txt", "hostile.txt"])
def test_every_line_that_is_not_read_only_needs_approval(name: str) -> None:
    silent = [
        command
        for command in lines_of(name)
        if not all(isinstance(judged(command, mode), Ask) for mode in MODES)
    ]
    assert silent == []


@pytest.mark.parametrize(
    "command",
    [
        "sed '1e touch x' a.txt",
        "sed -n 's/x/y/w out' a.txt",
        "tar -I ./x -xf a.tar",
        "tar xIf ./x a.tar",
        "tar -xzI./x -f a.tar",
        "git checkout -f",
        "git checkout -b topic -f",
        "git fetch origin +main:main",
        "git fetch origin main:main",
        "git pull origin +main",
        "git merge --abort",
        "taskset 1 rm a.txt",
        "toybox rm a.txt",
        "bash <(ls)",
        "python3 /dev/stdin < a.py",
        "find . -type f -print0 | xargs -0 -I% sh -c 'wc %'",
        "cat <<'EOF' > ~/.bashrc\nx\nEOF",
        "cat <<EOF\n\\\"'$(rm a)'\nEOF",
    ],
)
def test_dangerous_option_in_another_syntax_needs_approval_in_every_mode(command: str) -> None:
    found = judged(command, "full")
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode


@pytest.mark.parametrize(
    "command",
    [
        "ls " + "a" * 60_000,
        "a" * 60_000 + "(",
        "echo " + "$(" * 2_000 + ")" * 2_000,
        "(" * 4_000,
        "ls " + "> " * 2_000,
        "for a in 1 2 3; do " * 30 + "ls" + "; done" * 30,
        "cat " + "<<a " * 900,
        "bash -c '" * 400,
        "uvx --a " * 400,
        "npx -c 'x' --b " * 200,
    ],
    ids=lambda text: f"{text[:12]!r}…",
)
def test_long_or_deep_line_is_asked_about(command: str) -> None:
    """Without limits on length and depth, the policy took minutes for some of these, and the server was blocked."""
    assert isinstance(judged(command, "full"), Ask)
