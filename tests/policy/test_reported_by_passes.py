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
        pytest.param(
            "cd sub && python3 script.py",
            marks=pytest.mark.report(
                "anthropics/claude-code#28784",
                "a rule for cd lets every command after it run",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cd sub && git push",
            marks=pytest.mark.report(
                "anthropics/claude-code#59498",
                "a cd before git push skips the question about pushing",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cd .. && ls",
            marks=pytest.mark.report(
                "anthropics/claude-code#37621",
                "after a cd out of the project, commands run without a question",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "rm -r a && ls -la",
            marks=pytest.mark.report(
                "anthropics/claude-code#15763",
                "the last command of a chain is allowed, so a deletion before it runs too",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "unlisted-wrapper git add -A",
            marks=pytest.mark.report(
                "anthropics/claude-code#92542",
                "a wrapper that is not in the list hides the command that it runs from the rules",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "true && rm important.txt",
            marks=pytest.mark.report(
                "google-gemini/gemini-cli#11766",
                "only the first command of a chain is compared with the allowed commands",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat a.txt | tee b.txt",
            marks=pytest.mark.report(
                "google-gemini/gemini-cli#11510",
                "commands after a pipe are not compared with the allowed commands",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            'x=$(echo dG91Y2ggYQ== | base64 -d); eval "$x"',
            marks=pytest.mark.report(
                "cline/cline#4084",
                "eval of decoded text counts as a safe command",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "find . -type f -fprintf out %p",
            marks=pytest.mark.report(
                "openai/codex#482",
                "find counts as harmless with options that write files or run commands",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git --exec-path=. status",
            marks=pytest.mark.report(
                "openai/codex#15796",
                "options of git before the subcommand select other programs and settings",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git --paginate show HEAD",
            marks=pytest.mark.report(
                "openai/codex#18694",
                "an option before the subcommand starts the configured pager",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git log --output=made",
            marks=pytest.mark.report(
                "openai/codex#10258",
                "git log writes a file with an option and counts as harmless",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "echo key >> ../authorized",
            marks=pytest.mark.report(
                "anomalyco/opencode#32628",
                "targets of redirections are not compared with the folders of the project",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git diff --no-index -- ../a b",
            marks=pytest.mark.report(
                "anomalyco/opencode#39931",
                "a double hyphen hides the words of a command from the policy",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "git show > ../my_key",
            marks=pytest.mark.report(
                "RooCodeInc/Roo-Code#11095",
                "a prefix rule for git show allows a redirection that overwrites any file",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat <<'EOF' | some-script\nx\nEOF",
            marks=pytest.mark.report(
                "anthropics/claude-code#48518",
                "a here-document as first word hides the command after the pipe",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat <<EOF\n`rm -r a`\nEOF",
            marks=pytest.mark.report(
                "Dicklesworthstone/destructive_command_guard#377",
                "backticks in a here-document are not seen as a command, `$(…)` is",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "echo hi > $(rm x)",
            marks=pytest.mark.report(
                "gotgenes/pi-packages#741",
                "commands in the target of a redirection are not compared with the rules",
                area="safety",
                before="passed",
            ),
        ),
        pytest.param(
            "cat <<'A' <<B\nx\nA\n$(rm a)\nB",
            marks=pytest.mark.report(
                "vybestack/llxprt-code#2922",
                "of two here-documents the second is read as text, but its commands run",
                area="safety",
                before="passed",
            ),
        ),
    ],
)
def test_a_reported_by_pass_needs_approval_also_with_rules(line: str) -> None:
    for grants in (frozenset[str](), RULES):
        assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES, grants=grants)), Ask)
