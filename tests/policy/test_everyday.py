"""Everyday read-only commands: at most 5 % need approval, because users do not read frequent questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Situation
from tests.support.reports import reported

PLACES = Places(("/w",), "/home/u")
LINES = [
    line.replace("⏎", "\n")
    for line in Path(__file__).with_name("everyday.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
MAX_ASKED = 0.05


@pytest.mark.req("X8", "H7")
def test_at_most_five_of_a_hundred_everyday_lines_are_asked_about() -> None:
    assert len(set(LINES)) >= 400
    judged = {line: judge(CommandEffect(line, "/w"), Situation("ask", PLACES)) for line in LINES}
    asked = [line for line, judgement in judged.items() if not isinstance(judgement, Allow)]

    assert len(asked) <= len(judged) * MAX_ASKED, asked


@pytest.mark.req("H7")
@pytest.mark.parametrize(
    "line",
    [
        reported(
            "anthropics/claude-code#94350",
            'echo "$(ls src; wc -l < a.txt)" | head -3',
        ),
        reported(
            "anthropics/claude-code#2983",
            "find . -type f -name '*.rst' | xargs grep -n anchor",
        ),
        reported(
            "anthropics/claude-code#1128",
            "find . -type d -name fixtures 2>/dev/null | head -1",
        ),
        reported(
            "github/copilot-cli#211",
            'for f in src/a.c src/b.c; do echo "= $f"; grep -n KEY "$f" 2>/dev/null | head -3; done',
        ),
        reported(
            "letta-ai/letta-code#1194",
            "rg -n 'alpha|beta store|notes/|git-backed' lib tests -S",
        ),
        reported(
            "agentforce314/clawcodex#622",
            """grep -rho '"[a-z]*"' src | tr '[:upper:]' '[:lower:]' | sort -u | tr -d '"'""",
        ),
        reported(
            "letta-ai/letta-code#1900",
            "git grep -n fetch src | sed -n '1,20p'",
        ),
    ],
)
def test_a_line_that_others_asked_about_needlessly_runs_without_a_question(line: str) -> None:
    assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES)), Allow)
