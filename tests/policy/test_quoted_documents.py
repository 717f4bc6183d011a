"""Messages in a here-document inside of `"$(cat …)"`: read as text where every shell reads them as text."""

from __future__ import annotations

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.shell.heredocs import without_documents
from agent_ls.policy.situation import Allow, Ask, Situation
from tests.policy.test_by_passes import PLACES
from tests.support.reports import reported

pytestmark = pytest.mark.req("X7", "T10")


def written(body: str, opening: str = "<<'EOF'", before: str = "git commit -m ", after: str = "") -> str:
    return f'{before}"$(cat {opening}\n{body}\nEOF\n)"{after}'


TEXTS = [
    reported("MoonshotAI/kimi-code#3503", written("it's (fine")),
    written("Fix the bug (#12)\n\n- don't use `a`\n\nCo-Authored-By: X <a@b.c>"),
    written("balanced `code`", before="git add -A && git commit -m ", after=" && git log -1 'HEAD'"),
    written("plain", "<<EOF"),
    written('say "hi"', '<<"EOF"'),
    written("# Title\n\n- it's"),
]


@pytest.mark.parametrize("line", TEXTS)
def test_a_message_in_a_here_document_is_text(line: str) -> None:
    assert not isinstance(judge(CommandEffect(line, "/w"), Situation("full", PLACES)), Ask)


def test_the_text_is_judged_like_any_other_word() -> None:
    assert without_documents(written("rm -r x", before="bash -c ")) == "bash -c 'rm -r x'"
    assert without_documents(written("it's")) == "git commit -m 'it'\\''s'"


DOUBTFUL = [
    written("$(rm x)"),
    written("${x}"),
    written("`rm x`", "<<EOF"),
    written("a\\$b", "<<EOF"),
    written(") ; rm x ; ("),
    written(')"; rm x; "$('),
    written("it's", after=" 'rm x'"),
    written("(open", after="; rm x)"),
    written('# (\n) "; rm x; "'),
    written("# it's\n)", after=" 'a'"),
    written("\\x72m", before="echo $"),
    written("it's", before="(rm y); echo "),
    "git commit -m \"$(cat <<'EOF'\na\nEOF\nrm x)\"",
    "git commit -m \"$(cat <<'EOF'\na\nEOF",
]


@pytest.mark.parametrize("line", DOUBTFUL)
def test_a_form_that_a_shell_may_read_in_another_way_needs_approval_in_every_mode(line: str) -> None:
    verdict = judge(CommandEffect(line, "/w"), Situation("full", PLACES))
    assert isinstance(verdict, Ask) and without_documents(line) is None


@pytest.mark.report("banyudu/claude-warden#64")
@pytest.mark.parametrize("body", ["$(rm x)", "`rm x`\n> /etc/passwd"])
def test_the_body_of_a_quoted_here_document_is_text(body: str) -> None:
    quoted, plain = (judge(CommandEffect(f"cat << {tag}\n{body}\nEOF", "/w"), Situation("ask", PLACES))
        for tag in ("'EOF'", "EOF"))  # fmt: skip
    assert isinstance(quoted, Allow) and isinstance(plain, Ask)
