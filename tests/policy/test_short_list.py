"""The few commands that need no approval even if no sandbox can confine them."""

from __future__ import annotations

import pytest

from agent_ls.policy.shell.understand import understand

pytestmark = pytest.mark.req("X7")


@pytest.mark.parametrize(
    "command",
    ["ls -la", "cat a.txt | head -3", "git status", "git log --oneline -5", "cd src && grep -n x a.py"],
)
def test_a_plain_read_only_command_is_on_the_short_list(command: str) -> None:
    assert understand(command, working_dir="/w", home="/home/u").is_on_short_list


@pytest.mark.parametrize(
    "command",
    ["find . -name x", "touch a", "cat a > b", "sed -n 1p a", "git blame a", "jq . a.json", "ls; find ."],
)
def test_command_with_writes_or_unlisted_programs_is_not_on_the_short_list(command: str) -> None:
    assert not understand(command, working_dir="/w", home="/home/u").is_on_short_list
