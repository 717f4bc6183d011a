"""Typographic quotes in a command are letters, as for the shell: they quote nothing."""

from __future__ import annotations

import pytest

from agent_ls.policy.shell.understand import understand

pytestmark = pytest.mark.req("X7")


@pytest.mark.report("mattn/go-shellwords#2")
@pytest.mark.report("koalaman/shellcheck#689")
@pytest.mark.parametrize(
    ("line", "runs"),
    [
        ("echo “a; touch x”", [("echo", "“a"), ("touch", "x”")]),
        ("git commit -m “fix && touch x”", [("git", "commit", "-m", "“fix"), ("touch", "x”")]),
        ("echo ‘$(touch x)’", [("touch", "x"), ("echo", "‘$(touch x)’")]),
        ('echo "a “b; c” d"', [("echo", "a “b; c” d")]),
        ("rm —rf x", [("rm", "—rf", "x")]),
    ],
)
def test_typographic_quotes_quote_nothing(line: str, runs: list[tuple[str, ...]]) -> None:
    assert [argv for argv, _ in understand(line, working_dir="/w", home="/h").runs] == runs
