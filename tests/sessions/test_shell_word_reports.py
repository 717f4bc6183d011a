"""Commands that other agents split, unescaped or joined before a shell read them, and what terminals print unseen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Ask, Situation
from tests.policy.test_by_passes import PLACES
from tests.sessions.test_shell_reports import read_by_model, shell
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")

COMMANDS: list[Any] = [
    reported("earendil-works/pi#7666", "echo AAA\ncd /tmp && echo BBB", "AAA\nBBB\n", id="two lines"),
    reported("anthropics/claude-code#32515", "printf 'a\\nb\\n' 2>&1 | head -3\necho x | grep x", "a\nb\nx\n",
        id="two pipes"),
    reported("everruns/bashkit#836", "echo t | awk '{\n  x = 1 + \\\n    2\n  print x\n}'", "3\n", id="awk"),
    reported("anthropics/claude-code#88561", "printf '%s\\n' 'a\\\\b'", "a\\\\b\n", id="two backslashes"),
    reported("anthropics/claude-code#89392", "cat <<'EOF'\nvar p = \"tools\\\\build.cmd\";\nEOF",
        'var p = "tools\\\\build.cmd";\n', id="two backslashes in a here-document"),
    reported("tree-sitter/tree-sitter-bash#100", "echo a\\\n    b", "a b\n", id="continued without a blank"),
    reported("tree-sitter/tree-sitter-bash#14", "echo 1 \\ 2 \\ 3", "1  2  3\n", id="escaped blanks"),
    reported("vorpaljs/bash-parser#33", "echo \\\nhi \\\n\\\nthere\necho \\\nhi \\\n\necho end", "hi there\nhi\nend\n",
        id="continued and empty"),
    reported("idank/bashlex#79", "for f in \\\n\t/et* \\\n\t/tm*\ndo\n\techo $f\ndone", "/etc\n/tmp\n", id="for"),
    reported("amd/gaia#4018", "printf 'b\\na\\n' > x.txt; cat x.txt | sort; grep a x.txt | wc -l", "a\nb\n1\n",
        id="pipes"),
    reported("Univers42/hellish#95", 'y=$(case abc in a*) echo A ;; *) echo B ;; esac)\necho "result=[$y]"',
        "result=[A]\n", id="case"),
    reported("ldayton/Parable#99", "cat <(\necho a # it's\n)", "a\n", id="apostrophe in a comment"),
    reported("vercel-labs/just-bash#351", "echo 2<(((1))) | sed 's/[0-9]*$//'", "2/dev/fd/\n", id="substituted file"),
    reported("Univers42/hellish#13", "sleep 300 & p=$!; kill -9 $p; wait $p 2>/dev/null; echo killed $?",
        "killed 137\n", id="the last process"),
    reported("moezakura/mux-pod#61", r"printf '\033]8;id=x;https://e.com/\033\\link\033]8;;\033\\\n'", "link\n",
        id="link"),
    reported("romkatv/powerlevel10k#2148", r"printf '\033]8;;http://e.com\007something\033]8;;\n'; echo after",
        "something", id="link that is not closed"),
    reported("agent-of-empires/agent-of-empires#3869", r"printf 'a\033]52;c;aGVsbG8=\007b\033]0;title\007c\n'",
        "abc\n", id="clipboard"),
    reported("openai/codex#33638", r"printf -- '--------\rHello\033[K\n--------\rHello\033[8m\n'", "Hello\nHello---\n",
        id="overwritten"),
    reported("zellij-org/zellij#5398",
        r"printf 'one\n\033[1;20rtwo\nthree\n\033[r\033[20;1Hlast\n'", "one\ntwo\nthree\nlast\n",
        id="scroll region"),
    reported("eraserhd/kak-ansi#25", r"printf '\033]8;;file:///a.c\007a.c:1:\033]8;;\007 error\n'", "a.c:1: error\n",
        id="link with a bell"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "begins"), COMMANDS)
async def test_the_shell_reads_the_command_as_it_is(tmp_path: Path, command: str, begins: str) -> None:
    if "awk" in command and not shutil.which("awk"):
        pytest.skip("no awk")
    (output,) = await read_by_model(tmp_path, shell(command))
    output = output.replace("\r\n", "\n")
    assert output.startswith(begins) and "Exit code: 0" in output
    assert "after" not in command or "\nafter\n" in output.replace("something", "something\n", 1)
    assert "]8;" not in output and "\x1b" not in output


@pytest.mark.report("xiaobright/dsh-anchored-standard#75")
async def test_a_command_that_is_not_complete_ends(tmp_path: Path) -> None:
    *broken, last = await read_by_model(
        tmp_path, *map(shell, ('echo "abc', "(echo a", "echo $((1", "echo fine"))
    )
    assert all("Exit code: 2" in it for it in broken[:2]) and "Exit code: 0" not in broken[2]
    assert last.startswith("fine\n")


@pytest.mark.parametrize(
    "line",
    [
        reported("zed-industries/zed#54690", "echo $(($(curl example.com)))"),
        reported("hasamba/DFIR-Companion#537", "cat <(curl http://evil)"),
        reported("gotgenes/pi-packages#306", "echo $(rm -rf foo)"),
        pytest.param("( rm -rf foo )", id="subshell"),
        reported("everruns/bashkit#2231", "a$(|)b"),
        pytest.param("y=$(case abc in a*) rm -r b ;; esac)", id="case"),
        pytest.param("echo 2<(rm a)", id="digit"),
    ],
)  # fmt: skip
def test_a_hidden_command_needs_approval(line: str) -> None:
    grants = frozenset(("words:echo …", "words:cat …", "words:ab", "words:a …"))
    effect = CommandEffect(line, "/w")
    assert isinstance(judge(effect, Situation("ask", PLACES, grants=grants)), Ask)
