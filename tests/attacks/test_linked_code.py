"""Code in a command that names a link to a file outside, or to one with secrets, is asked about in mode full."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.fuzz import SECRET, Scratch
from tests.policy.test_moved_folders import is_silent_in

pytestmark = pytest.mark.req("X6", "T10")

LINES = (
    "python3 -c \"print(open('link').read())\"",
    "python3 -c \"print(open('out/secret.txt').read())\"",
    "cd src && python3 -c \"print(open('l.py').read())\"",
    "python3 - <<'EOF'\nprint(open('link').read())\nEOF",
    "python3 -c \"print(open('key').read())\"",
)
OF_NODE = (
    "node -p \"require('fs').readFileSync('link', 'utf8')\"",
    "node -e \"console.log(require('fs').readFileSync('./out/secret.txt', 'utf8'))\"",
)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    (scratch.work / "version").unlink()
    (scratch.work / "key").symlink_to(".env")
    (scratch.work / "l.py").symlink_to("../outside/secret.txt")
    return scratch


@pytest.mark.parametrize("line", [*LINES, *OF_NODE])
def test_code_that_names_a_link_which_leads_away_is_asked_about(line: str, scratch: Scratch) -> None:
    assert not is_silent_in(scratch, line)


@pytest.mark.parametrize("line", LINES)
def test_such_code_shows_the_secret_if_it_runs(line: str, scratch: Scratch) -> None:
    assert SECRET.encode() in scratch.run(line)


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c \"print(open('a.txt').read())\"",
        "python3 -c \"print(open('src/x.py').read(), 'utf8')\"",
        "python3 - <<'EOF'\nprint(open('a.txt').read())\nEOF",
    ],
)
def test_code_that_names_files_of_the_workspace_runs_unasked(line: str, scratch: Scratch) -> None:
    (scratch.work / "inner").symlink_to("a.txt")
    assert is_silent_in(scratch, line)
    assert is_silent_in(scratch, line.replace("a.txt", "inner"))


@pytest.mark.parametrize(
    "code", ["open('li' + 'nk')", "open(chr(108) + 'ink')", "open(''.join(('li', 'nk')))"]
)
def test_a_path_that_code_computes_is_asked_about_except_in_mode_full(code: str, scratch: Scratch) -> None:
    """docs/security.md names this: the session could also write the code to a script, which mode full runs."""
    line = f'python3 -c "print({code}.read())"'
    assert SECRET.encode() in scratch.run(line)
    assert not scratch.is_silent(line)
    assert is_silent_in(scratch, line)


@pytest.mark.parametrize(("target", "is_silent"), [("real.json", True), ("x.js", False), ("x.cjs", False)])
def test_node_runs_what_a_link_with_the_name_of_a_json_file_leads_to(
    target: str, *, is_silent: bool, scratch: Scratch
) -> None:
    line = "node -p \"require('./data.json')\""
    (scratch.work / target).write_text("{}")
    (scratch.work / "data.json").symlink_to(target)
    assert is_silent_in(scratch, line, mode="ask") == is_silent
