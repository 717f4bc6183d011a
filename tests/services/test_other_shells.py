"""Where no bash is installed, a line that another shell reads in another way is not run unasked."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.remote.facts import Facts
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.shell.programs import syntax_of_bash
from agent_ls.policy.situation import Allow, Situation
from agent_ls.services.permissions.disk import RemoteDisk
from agent_ls.services.permissions.paths import read_effect_facts
from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.policy import fuzz
from tests.policy.fuzz import SECRET, Scratch

pytestmark = pytest.mark.req("X7", "T10")
SHELLS = [words for words in (("dash",), ("busybox", "sh")) if shutil.which(words[0])]
LINES = (
    '[[ -n "" || ./x ]]', "[[ a && ./x ]]", "[[ -f a.txt || touch made ]] && ls", '[[ "" || cat link ]]', "((1 > 2))",
    "(( 1 || ./x ))",
)  # fmt: skip


class Host:
    """The disk of another machine, on which only these paths exist."""

    def __init__(self, *paths: str) -> None:
        self._paths = paths

    def read_facts(self, paths: Sequence[str]) -> Mapping[str, Facts]:
        return {path: Facts(path, (), path in self._paths) for path in paths}


def is_silent_there(line: str, *paths: str) -> bool:
    disk = RemoteDisk(cast(Any, Host(*paths)), ("/w",))
    effect, places = CommandEffect(line, "/w"), Places(("/w",), "/home/u")
    seen = read_effect_facts(effect, places, disk)
    found = judge(
        effect, Situation("ask", places, resolved=seen.resolved, leads=seen.leads, doubt=seen.doubt)
    )
    return isinstance(found, Allow)


@pytest.mark.parametrize("line", LINES)
def test_a_line_in_the_language_of_bash_is_asked_about_on_a_machine_without_bash(line: str) -> None:
    assert not is_silent_there(line)
    assert is_silent_there("ls -la")


def test_a_line_in_the_language_of_bash_runs_unasked_on_a_machine_with_bash() -> None:
    assert is_silent_there("[[ a == b || c ]]", "/bin/bash")


@pytest.mark.skipif(not SHELLS, reason="needs dash or busybox")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(7200 if IS_WHOLE else 300)
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_line_that_all_shells_read_alike_does_no_harm_in_another_shell(
    shell: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shell[0] == "busybox":  # which runs its own programs
        install_busybox(tmp_path / "bin", monkeypatch)
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    tried = while_in_time(fuzz.commands(seeded(44), 20_000 if IS_WHOLE else 300))
    silent = [line for line in tried if not syntax_of_bash(line) and scratch.is_silent(line)]
    assert silent
    assert list(_harmed(scratch, silent, shell)) == []
    assert list(_harmed(scratch, LINES, shell))


@pytest.mark.skipif(not shutil.which("busybox"), reason="needs busybox")
def test_a_recursive_grep_of_busybox_reads_linked_files_and_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    assert scratch.is_silent("grep -r . src") and SECRET.encode() not in scratch.run("grep -r . src")
    install_busybox(tmp_path / "bin", monkeypatch)
    assert SECRET.encode() in scratch.run("grep -r . src")
    for line in ("grep -r x src", "egrep -rn x .", "grep . src -r KEY; ls", "cd src && grep -rc x"):
        assert not scratch.is_silent(line), line
    (scratch.work / "src/l.py").unlink()
    assert scratch.is_silent("grep -r x src")


def install_busybox(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the programs of busybox first on PATH."""
    folder.mkdir()
    subprocess.run(["busybox", "--install", "-s", str(folder)], check=True)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def _harmed(scratch: Scratch, lines: Sequence[str], shell: Sequence[str]) -> Iterator[str]:
    run = partial(scratch.run, shell=shell)
    scratch.build()
    before = scratch.snapshot()
    for line in lines:
        if SECRET.encode() in run(line):
            yield line
        elif scratch.snapshot() != before:
            yield line
            scratch.build()
            before = scratch.snapshot()
