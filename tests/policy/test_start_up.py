from __future__ import annotations

import subprocess
import sys

import pytest

LATE = (
    "tree_sitter",
    "agent_ls.policy.commands",
    "agent_ls.policy.shell.node",
    "agent_ls.policy.shell.python",
    "agent_ls.policy.shell.read_only",
    "agent_ls.llm.schema_check",
    "pathspec",
    "agent_ls.server.chat.ui",
)


@pytest.mark.req("X7")
def test_grammar_of_the_shell_is_not_loaded_before_a_command_is_judged() -> None:
    program = "import sys, agent_ls.sessions.manager, agent_ls.server.assembly; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True
    )
    assert not set(LATE) & set(done.stdout.split())
