"""By-passes of command policies that users of other agents have reported: each line needs approval in mode ask."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Ask, Situation
from tests.policy.test_by_passes import PLACES
from tests.support.reports import reported

pytestmark = pytest.mark.req("X7", "T10")

RULES = frozenset(
    ("words:git add", "words:git status", "words:ls", "words:touch …", "words:git show …", "words:echo")
)


@pytest.mark.parametrize(
    "line",
    [
        reported("anthropics/claude-code#28784", "cd sub && python3 script.py"),
        reported("anthropics/claude-code#59498", "cd sub && git push"),
        reported("anthropics/claude-code#37621", "cd .. && ls"),
        reported("anthropics/claude-code#15763", "rm -r a && ls -la"),
        reported("anthropics/claude-code#92542", "unlisted-wrapper git add -A"),
        reported("google-gemini/gemini-cli#11766", "true && rm important.txt"),
        reported("google-gemini/gemini-cli#11510", "cat a.txt | tee b.txt"),
        reported("cline/cline#4084", 'x=$(echo dG91Y2ggYQ== | base64 -d); eval "$x"'),
        reported("openai/codex#482", "find . -type f -fprintf out %p"),
        reported("openai/codex#15796", "git --exec-path=. status"),
        reported("openai/codex#18694", "git --paginate show HEAD"),
        reported("openai/codex#10258", "git log --output=made"),
        reported("anomalyco/opencode#32628", "echo key >> ../authorized"),
        reported("anomalyco/opencode#39931", "git diff --no-index -- ../a b"),
        reported("RooCodeInc/Roo-Code#11095", "git show > ../my_key"),
        reported("anthropics/claude-code#48518", "cat <<'EOF' | some-script\nx\nEOF"),
        reported("Dicklesworthstone/destructive_command_guard#377", "cat <<EOF\n`rm -r a`\nEOF"),
        reported("gotgenes/pi-packages#741", "echo hi > $(rm x)"),
        reported("vybestack/llxprt-code#2922", "cat <<'A' <<B\nx\nA\n$(rm a)\nB"),
        pytest.param(
            "base64 -d -o made a.txt",
            marks=pytest.mark.report(
                "openai/codex#7728",
                "base64 counts as safe, and its option -o writes a file",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "CI=true git commit -m x",
            marks=pytest.mark.report(
                "anomalyco/opencode#16075",
                "an assignment before the command hides it from the rules",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            'f=.env && cat "$f"',
            marks=pytest.mark.report(
                "anomalyco/opencode#26042",
                "a variable hides the name of a secret file",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "X=`touch${IFS}made` npm --version",
            marks=pytest.mark.report(
                "QwenLM/qwen-code#10192",
                "a substitution in an assignment runs before the allowed command",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            'printf x >"$PWD/../kept"',
            marks=pytest.mark.report(
                "QwenLM/qwen-code#10196",
                "the target of a redirection begins with a variable, so no rule sees it",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "echo x >(tee made)",
            marks=pytest.mark.report(
                "google-gemini/gemini-cli#6010",
                "a process substitution that is written to is not looked at",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "javac -version -processorpath e.jar -processor E P.java",
            marks=pytest.mark.report(
                "kirodotdev/KiroCrew#5342",
                "the version option of a compiler hides a processor that it runs",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "PAGER='/bin/sh -c \"touch made\"' git help config",
            marks=pytest.mark.report(
                "manuelschipper/nah#6",
                "a variable names the pager that git help runs",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git -C sub --no-pager commit -m x",
            marks=pytest.mark.report(
                "anthropics/claude-code#13371",
                "an option between git and its command hides the command",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            'echo "a\\\\"; rm b; echo "c"',
            marks=pytest.mark.report(
                "Gitlawb/openclaude#787",
                "a backslash before the last quote hides the second command",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "bash -c 'echo x >> .agent-ls/settings.json'",
            marks=pytest.mark.report(
                "anthropics/claude-code#43085",
                "bash -c hides a change of the agent's own settings",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git status --short --branch > b.txt",
            marks=pytest.mark.report(
                "anthropics/claude-code#81667",
                "a redirection makes an allowed command write",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "diff <(rm a) b && true",
            marks=pytest.mark.report(
                "Tracer-Cloud/opensre#5840",
                "a command in a process substitution counts as a redirection",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat < <(sh x)",
            marks=pytest.mark.report(
                "openonion/connectonion#155",
                "a redirection from a process substitution hides what it runs",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat /e??/shadow",
            marks=pytest.mark.report(
                "gptme/gptme#3495",
                "a pattern becomes the name of a forbidden file",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "find . -exec rm {} +",
            marks=pytest.mark.report(
                "yonatangross/orchestkit#4216",
                "find with -exec … + has no semicolon, so nothing looks at its command",
                area="safety",
                before="passed",
            ),
        ),
    ],
)
def test_a_reported_by_pass_needs_approval_also_with_rules(line: str) -> None:
    for grants in (frozenset[str](), RULES):
        assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES, grants=grants)), Ask)
