"""A command whose denial comes from file permissions, not from the sandbox, is not offered to run outside the
sandbox.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_ls.environments.local.denials import is_denied_anyway

pytestmark = pytest.mark.req("X4")

SOME_USER = 65534
CLOSED = [
    "find: \u2018{closed}\u2019: Permission denied",
    "grep: {closed}/inner: Permission denied",
    "ls: cannot open directory '{closed}': Permission denied",
    "cat: {file}: Permission denied",
    "a\nb: {file}: Permission denied\nfind: '{closed}': Permission denied\nc",
    "Error: EACCES: permission denied, open '{file}'",
    "cat: file: Permission denied",
]
OURS = [
    "bash: line 1: {open}: Permission denied",
    "touch: cannot touch '{folder}/new': Permission denied",
    "chmod: changing permissions of '{open}': Operation not permitted",
    "find: '{closed}': Permission denied\ntouch: cannot touch '{folder}/new': Permission denied",
    "Operation not permitted",
    "nothing is said of it",
]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user can enter. Other users often cannot enter `tmp_path`."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    ("line", "expected"), [*((it, True) for it in CLOSED), *((it, False) for it in OURS)]
)
def test_a_denial_by_file_permissions_is_recognised_by_the_path_in_the_message(
    open_folder: Path, line: str, expected: bool
) -> None:
    tmp_path = open_folder
    (tmp_path / "closed").mkdir(mode=0)
    for name, mode in (("file", 0), ("open", 0o644)):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    names = {
        "closed": tmp_path / "closed",
        "file": tmp_path / "file",
        "open": tmp_path / "open",
        "folder": tmp_path,
    }
    assert _as_some_user(line.format(**names), str(tmp_path)) == expected


def _as_some_user(output: str, folder: str) -> bool:
    """Return `is_denied_anyway`, as another user if this process is root, because root may read everything."""
    if os.getuid() != 0:
        return is_denied_anyway(output, folder)
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.setgroups([])
            os.setgid(SOME_USER)
            os.setuid(SOME_USER)
            code = int(is_denied_anyway(output, folder))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
