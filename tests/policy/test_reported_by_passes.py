"""By-passes of command policies that users of other agents have reported: each line needs approval in mode ask."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Situation
from tests.policy.test_by_passes import PLACES
from tests.support.reports import reported

pytestmark = pytest.mark.req("X7", "T10")

RULES = frozenset(
    (
        "words:git add",
        "words:git status",
        "words:ls",
        "words:touch …",
        "words:git show …",
        "words:git grep …",
        "words:echo",
    )
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
        reported(
            "kirodotdev/KiroCrew#5037",
            "javac -version -processorpath out -processor Evil -d out src/A.java",
        ),
        reported(
            "AntSeed/antseed#660",
            "sed -n '1e id' a.txt",
        ),
        reported(
            "Kilo-Org/kilocode#11890",
            "echo x | sort -S 1b --compress-program sh",
        ),
        reported(
            "agentscope-ai/agentscope#2471",
            "PATH=../evil ls",
        ),
        "ag --pager ./x y",
        "rg --hostname-bin ./x y",
        "man -P./x ls",
        "sort --files0-from=../names",
        reported("openai/codex#18694", "git --paginate show HEAD"),
        reported("openai/codex#10258", "git log --output=made"),
        reported("anomalyco/opencode#32628", "echo key >> ../authorized"),
        reported("anomalyco/opencode#39931", "git diff --no-index -- ../a b"),
        reported("RooCodeInc/Roo-Code#11095", "git show > ../my_key"),
        reported("anthropics/claude-code#48518", "cat <<'EOF' | some-script\nx\nEOF"),
        reported("Dicklesworthstone/destructive_command_guard#377", "cat <<EOF\n`rm -r a`\nEOF"),
        reported("gotgenes/pi-packages#741", "echo hi > $(rm x)"),
        reported("vybestack/llxprt-code#2922", "cat <<'A' <<B\nx\nA\n$(rm a)\nB"),
        reported(
            "gke-labs/kube-agents#952",
            "git -c protocol.ext.allow=always clone 'ext::sh -c id'",
        ),
        "git grep -iO/usr/bin/id .",
        "git config --global alias.zz '!id'",
        "git help -m git",
        reported(
            "ikuwow/dotfiles#187",
            "git -c core.pager='id' status",
        ),
        "git config core.sshCommand id",
        reported(
            "DataDog/dd-sdk-android#3745",
            "git grep --open-files-in-pager=id x",
        ),
        pytest.param(
            "base64 -d -o made a.txt",
            marks=pytest.mark.report("openai/codex#7728"),
        ),
        pytest.param(
            "CI=true git commit -m x",
            marks=pytest.mark.report("anomalyco/opencode#16075"),
        ),
        pytest.param(
            'f=.env && cat "$f"',
            marks=pytest.mark.report("anomalyco/opencode#26042"),
        ),
        pytest.param(
            "X=`touch${IFS}made` npm --version",
            marks=pytest.mark.report("QwenLM/qwen-code#10192"),
        ),
        pytest.param(
            'printf x >"$PWD/../kept"',
            marks=pytest.mark.report("QwenLM/qwen-code#10196"),
        ),
        pytest.param(
            "echo x >(tee made)",
            marks=pytest.mark.report("google-gemini/gemini-cli#6010"),
        ),
        pytest.param(
            "javac -version -processorpath e.jar -processor E P.java",
            marks=pytest.mark.report("kirodotdev/KiroCrew#5342"),
        ),
        pytest.param(
            "PAGER='/bin/sh -c \"touch made\"' git help config",
            marks=pytest.mark.report("manuelschipper/nah#6"),
        ),
        pytest.param(
            "git -C sub --no-pager commit -m x",
            marks=pytest.mark.report("anthropics/claude-code#13371"),
        ),
        pytest.param(
            'echo "a\\\\"; rm b; echo "c"',
            marks=pytest.mark.report("Gitlawb/openclaude#787"),
        ),
        pytest.param(
            "bash -c 'echo x >> .agent-ls/settings.json'",
            marks=pytest.mark.report("anthropics/claude-code#43085"),
        ),
        pytest.param(
            "git status --short --branch > b.txt",
            marks=pytest.mark.report("anthropics/claude-code#81667"),
        ),
        pytest.param(
            "diff <(rm a) b && true",
            marks=pytest.mark.report("Tracer-Cloud/opensre#5840"),
        ),
        pytest.param(
            "cat < <(sh x)",
            marks=pytest.mark.report("openonion/connectonion#155"),
        ),
        pytest.param(
            "cat /e??/shadow",
            marks=pytest.mark.report("gptme/gptme#3495"),
        ),
        pytest.param(
            "find . -exec rm {} +",
            marks=pytest.mark.report("yonatangross/orchestkit#4216"),
        ),
        reported(
            "Gitlawb/openclaude#1111",
            "FOO[$(rm x)]=1 echo hi",
        ),
        "FOO[`rm x`]=1; echo hi",
        "[ 'a[$(rm x)]' -eq 1 ]",
        "echo $((a[$(rm x)]))",
        reported(
            "bigduu/Bamboo-agent#584",
            'trap "$(echo cm0gLXJmIC8=|base64 -d)" EXIT',
        ),
        "for f in x; do rm x; done",
        "! rm x",
        "case 1 in 1) rm x;; esac",
        'trap "rm x" EXIT',
        reported(
            "Hmbown/Codewhale#5161",
            "ls & rm x",
        ),
        "(rm x)",
        "{ rm x; }",
        "$(rm x)",
    ],
)
def test_a_reported_by_pass_needs_approval_also_with_rules(line: str) -> None:
    for grants in (frozenset[str](), RULES):
        assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES, grants=grants)), Ask)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        reported("openlierox/openlierox#1003", "git -C src status", ""),
        reported("netease-lcap/wave-agent#1727", "git -C /w diff --stat", ""),
        ("git -C src log --oneline -3 -- a.txt", ""),
        reported("QwenLM/qwen-code#9381", "python - <<'PY'\nimport os\nprint(os.getcwd())\nPY", "python"),
        ("python3 - <<PY\nprint(1)\nPY\n", "python3"),
    ],
)  # fmt: skip
def test_a_command_that_the_user_means_runs_unasked(line: str, words: str) -> None:
    grants = frozenset([f"words:{words} *"]) if words else frozenset[str]()
    assert isinstance(judge(CommandEffect(line, "/w"), Situation("ask", PLACES, grants=grants)), Allow)
