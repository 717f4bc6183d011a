"""A line in which the grammar takes a word of the shell, or an assignment, for a program is asked about."""

from __future__ import annotations

import pytest

from agent_ls.policy.shell.understand import understand
from tests.policy.fuzz import SECRET, Scratch
from tests.policy.test_moved_folders import SHELLS, is_silent_in

pytestmark = pytest.mark.req("X7", "T10")


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    scratch = Scratch(tmp_path_factory.mktemp("misread") / "scratch")
    scratch.build()
    for folder in ("outside", "sub/outside"):
        (scratch.work / folder).mkdir(parents=True)
        (scratch.work / folder / "secret.txt").write_text("inside\n")
    return scratch


def has_effect(scratch: Scratch, line: str) -> bool:
    made = scratch.work / "made"
    shown = False
    for shell in SHELLS:
        shown |= SECRET.encode() in scratch.run(line, shell)
    return shown or made.exists()


@pytest.mark.parametrize(
    "line",
    [
        "cd sub; ! ! cd ..; cat ../outside/secret.txt",
        "cd sub; ! if cd ..; then cat ../outside/secret.txt; fi",
        "cd sub; ! while cd ..; do cat ../outside/secret.txt; break; done",
        "cd sub; ! for x in 1; do cd ..; done; cat ../outside/secret.txt",
        "cd sub; time if cd ..; then cat ../outside/secret.txt; fi",
        "cd sub; time ! cd ..; cat ../outside/secret.txt",
        "cd sub; ! { cd ..; }; cat ../outside/secret.txt",
        "time PATH=1 cat a.txt",
        "time -p PATH=1 cat a.txt",
        "! time PATH=1 cat a.txt",
        "time A=1 PATH=1 cat a.txt",
        "time PATH+=: touch made",
        "! ! touch made",
        "! if true; then touch made; fi",
    ],
)
def test_a_misread_line_is_asked_about_in_every_mode(line: str, scratch: Scratch) -> None:
    assert has_effect(scratch, line)
    for mode in ("ask", "full"):
        assert not is_silent_in(scratch, line, mode=mode)


@pytest.mark.parametrize("before", ["! ! ", "! if ", "time A=1 ", "time ! ", "! while "])
def test_dangers_behind_a_misread_word_are_found(before: str) -> None:
    found = understand(before + "rm -rf /", working_dir="/w", home="/h")
    assert found.refusal


@pytest.mark.parametrize(
    "line", ["! ls", "time ls", "time -p ls a.txt", "echo if then A=1", "! (ls)", "A=1 ls"]
)
def test_words_that_are_read_rightly_raise_no_doubt(line: str) -> None:
    assert not understand(line, working_dir="/w", home="/h").doubt
