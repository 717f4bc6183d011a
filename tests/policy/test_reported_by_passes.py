"""By-passes of command policies that users of other agents have reported: each line needs approval in mode ask."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Ask, Situation
from tests.policy.test_by_passes import PLACES

pytestmark = pytest.mark.req("X7", "T10")

RULES = frozenset(("words:git add", "words:git status", "words:ls", "words:touch …", "words:git show …"))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("cd sub && python3 script.py", marks=pytest.mark.report("anthropics/claude-code#28784")),
        pytest.param("cd sub && git push", marks=pytest.mark.report("anthropics/claude-code#59498")),
        pytest.param("cd .. && ls", marks=pytest.mark.report("anthropics/claude-code#37621")),
        pytest.param("rm -r a && ls -la", marks=pytest.mark.report("anthropics/claude-code#15763")),
        pytest.param("unlisted-wrapper git add -A", marks=pytest.mark.report("anthropics/claude-code#92542")),
        pytest.param("true && rm important.txt", marks=pytest.mark.report("google-gemini/gemini-cli#11766")),
        pytest.param("cat a.txt | tee b.txt", marks=pytest.mark.report("google-gemini/gemini-cli#11510")),
        pytest.param(
            'x=$(echo dG91Y2ggYQ== | base64 -d); eval "$x"', marks=pytest.mark.report("cline/cline#4084")
        ),
        pytest.param("find . -type f -fprintf out %p", marks=pytest.mark.report("openai/codex#482")),
        pytest.param("git --exec-path=. status", marks=pytest.mark.report("openai/codex#15796")),
        pytest.param("git --paginate show HEAD", marks=pytest.mark.report("openai/codex#18694")),
        pytest.param("git log --output=made", marks=pytest.mark.report("openai/codex#10258")),
        pytest.param("echo key >> ../authorized", marks=pytest.mark.report("anomalyco/opencode#32628")),
        pytest.param("git diff --no-index -- ../a b", marks=pytest.mark.report("anomalyco/opencode#39931")),
        pytest.param("git show > ../my_key", marks=pytest.mark.report("RooCodeInc/Roo-Code#11095")),
        pytest.param(
            "cat <<'EOF' | some-script\nx\nEOF", marks=pytest.mark.report("anthropics/claude-code#48518")
        ),
        pytest.param(
            "cat <<EOF\n`rm -r a`\nEOF",
            marks=pytest.mark.report("Dicklesworthstone/destructive_command_guard#377"),
        ),
        pytest.param("echo hi > $(rm x)", marks=pytest.mark.report("gotgenes/pi-packages#741")),
        pytest.param(
            "cat <<'A' <<B\nx\nA\n$(rm a)\nB", marks=pytest.mark.report("vybestack/llxprt-code#2922")
        ),
    ],
)
def test_a_reported_by_pass_needs_approval_also_with_rules(line: str) -> None:
    for grants in (frozenset[str](), RULES):
        assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES, grants=grants)), Ask)
