"""Everyday read-only commands: at most 5 % need approval, because users do not read frequent questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Situation

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
