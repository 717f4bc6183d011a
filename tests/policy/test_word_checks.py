"""Each check of a word has lines of the corpora that are asked about because of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.policy.shell import word_checks
from agent_ls.policy.shell.understand import understand

LINES = {
    "unknown_files": ("on which files", ["rm $X", "ls ~root", 'cat "$@"', "cat ~-/x"]),
    "unknown_format": ("option of printf", ['printf "$x" a', "ls | xargs printf"]),
    "pattern_for_options": ("match the name", ["sort -*", "xxd -? a", "git diff --o*"]),
    "pattern_for_parents": ("match `..`", ["ls .*", "cat .?/x", "cat .*/a.txt"]),
    "declared_variable": ("It sets", ["command export PATH=.", "builtin export PATH=.", "builtin unset 'PATH'"]),
    "declared_expression": ("to set", ["builtin declare -n x=PATH", "builtin declare 'a[$(rm b)]=1'"]),
    "named_variable": ("setting it", ["read 'PATH'", "printf -vPATH x", "test -v 'a[$(rm b)]'"]),
    "shell_option": ("changes how", ["shopt -s nocaseglob; cat LINK*", "set -k; cd HOME=..; cat x"]),
}  # fmt: skip
"""For each check: words of its doubt, and lines of the corpora."""
CORPORA = {
    line
    for name in ("commands", "hostile", "by_passes")
    for line in Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").splitlines()
}


def test_each_check_has_a_reason_and_lines() -> None:
    checks = {check.__name__: check for group in word_checks.CHECKS for check in group}
    assert LINES.keys() == checks.keys()
    assert all(check.__doc__ for check in checks.values())
    assert {line for _, lines in LINES.values() for line in lines} <= CORPORA


@pytest.mark.req("X7", "H7")
@pytest.mark.parametrize("check", LINES)
def test_the_lines_of_a_check_are_asked_about_because_of_it(check: str) -> None:
    doubt, lines = LINES[check]
    silent = [
        line
        for line in lines
        if not any(doubt in said for said in understand(line, working_dir="/w", home="/home/u").doubts)
    ]
    assert silent == []
