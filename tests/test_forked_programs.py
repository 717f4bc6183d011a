"""A program that tests start by a fork finds what a new interpreter would find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forking import forked_programs
from tests.forking.process_facts import ENDINGS
from tests.support import REPOSITORY
from tests.support.processes import zombies_of_ours

PROGRAM = "tests.forking.process_facts"

pytestmark = pytest.mark.skipif(not forked_programs.is_installed(), reason="programs are not forked here")


def play(folder: Path, *words: str, **options: Any) -> tuple[int, dict[str, Any], bytes]:
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "A": "ä\n=",
    }
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM, *words],
        cwd=folder,
        env=environ,
        input=b"typed\r\nlines\n",
        capture_output=True,
        check=False,
        **options,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


@pytest.mark.parametrize("starts_session", [False, True])
def test_a_forked_program_sees_the_same_process_state_as_a_newly_started_program(
    tmp_path: Path, starts_session: bool
) -> None:
    words = ("a word", "ü", "")
    with forked_programs.real_starts():
        expected = play(tmp_path, *words, start_new_session=starts_session)
    found = [play(tmp_path, *words, start_new_session=starts_session) for _ in range(3)]
    assert forked_programs.forks_of(PROGRAM) >= 2
    for code, facts, log in found:
        assert facts == expected[1]
        assert (code, log) == (expected[0], expected[2])
    assert expected[0] == 7 and expected[1]["parent"] == os.getpid()


def test_a_forked_program_inherits_only_the_passed_file_descriptors(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        found = [play(tmp_path, pass_fds=(writer,))[1]["descriptors"] for _ in range(2)]
    finally:
        os.close(reader)
        os.close(writer)
    assert all(writer in descriptors and reader not in descriptors for descriptors in found), found


@pytest.mark.parametrize("ending", sorted(ENDINGS))
def test_a_forked_program_has_the_same_exit_code_and_stderr_as_a_started_program(
    tmp_path: Path, ending: str
) -> None:
    with forked_programs.real_starts():
        code, _, log = play(tmp_path, ending)
    found = [play(tmp_path, ending) for _ in range(2)]
    assert forked_programs.forks_of(PROGRAM) >= 1
    for forked_code, _, forked_log in found:
        assert (forked_code, last_line(forked_log)) == (code, last_line(log))
        assert b"Traceback" in log or forked_log == log


def last_line(log: bytes) -> bytes:
    """Return the last line. The other lines of a traceback differ, because a fork begins in its parent's modules."""
    return log.splitlines()[-1]


def test_a_killed_forked_program_is_reported_by_signal_and_leaves_no_zombie(tmp_path: Path) -> None:
    before = zombies_of_ours()
    assert [play(tmp_path, "kill")[0] for _ in range(2)] == [-9, -9]
    assert zombies_of_ours() <= before


def test_starting_a_program_in_a_missing_folder_raises_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        play(tmp_path / "missing")
