"""Lines by which other agents were made to act without approval: none is allowed in mode ask or edits."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Mode, Situation

pytestmark = pytest.mark.req("X4")
PLACES = Places(("/w",), "/home/ada")
RULES = frozenset(("words:ls", "words:echo", "words:cat"))


@pytest.mark.report(
    "anomalyco/opencode#42979",
    "anomalyco/opencode#44728",
    "anthropics/claude-code#70369",
    "agentclientprotocol/claude-agent-acp#303",
    "charmbracelet/crush#3425",
    "google-gemini/gemini-cli#5495",
)
@pytest.mark.parametrize("mode", ["ask", "edits"])
@pytest.mark.parametrize(
    "line",
    [
        "echo x > /var/x", "head -1 /etc/hostname", "ls /etc", "{ cat ../foo.txt; }",
        "cat <(ls) ../foo.txt", "echo >> ../foo.txt", "ls\rrm -rf x", "ls\x0brm -rf x", "ls\u2028rm x",
        "echo ok > >(sh -c 'touch x')", "ls | sh", "ls;\nrm x", "ls & rm x", "ls $(rm x)", "ls `rm x`",
        "cat <<< $(touch x)", "$'r\\155' x", "eval ls", "ls && rm -rf /", "ls #\nrm x", "[[ -v a[$(touch x)] ]]",
    ],
)  # fmt: skip
def test_a_reported_line_is_not_allowed_by_a_rule_for_its_first_word(line: str, mode: Mode) -> None:
    assert not isinstance(judge(CommandEffect(line, "/w"), Situation(mode, PLACES, RULES)), Allow)
