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
    "a redirection writes outside the workspace, because only some programs are looked at",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "anomalyco/opencode#44728",
    "cat of an outside file is refused, while head and ls of it run",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "anthropics/claude-code#70369",
    "braces and process substitutions hide a command from the rules",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "agentclientprotocol/claude-agent-acp#303",
    "carriage returns and other spaces may join a second command to an allowed one",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "charmbracelet/crush#3425",
    "an allowed command is compared as a prefix of the line, so anything may follow",
    area="safety",
    before="passed",
)
@pytest.mark.report(
    "google-gemini/gemini-cli#5495",
    "eval runs text that the check of the first word does not see",
    area="safety",
    before="passed",
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
