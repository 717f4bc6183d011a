"""Placeholders for names that do not exist: processes share them, and none removes one that another process needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_ls.services.permissions.placeholders import Placeholders, is_placeholder

pytestmark = [
    pytest.mark.req("X4"),
    pytest.mark.skipif(sys.platform != "linux", reason="placeholders are for bubblewrap, on Linux"),
]

OTHER = """
import sys
from agent_ls.services.permissions.placeholders import Placeholders
placeholders = Placeholders()
made = placeholders.acquire(sys.argv[1:])
print(*made, flush=True)
sys.stdin.readline()
placeholders.release(made)
"""


@contextmanager
def other_process(*names: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds placeholders until its standard input gets a line."""
    words = [sys.executable, "-c", OTHER, *map(str, names)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().split() == [str(name) for name in names]
        yield process
        process.kill()


def test_a_shared_placeholder_is_removed_when_the_last_process_releases_it(tmp_path: Path) -> None:
    name, ours = tmp_path / ".vscode", Placeholders()
    with other_process(name) as other:
        made = ours.acquire([str(name)])
        assert made == (str(name),) and is_placeholder(str(name))
        other.communicate("\n")
        assert name.is_dir() and set(ours.in_use) == {str(name)}
        ours.release(made)
    assert not name.exists() and not ours.in_use


def test_releasing_a_placeholder_does_not_remove_a_placeholder_that_another_process_uses(
    tmp_path: Path,
) -> None:
    name, ours = tmp_path / ".vscode", Placeholders()
    made = ours.acquire([str(name)])
    with other_process(name) as other:
        ours.release(made)
        assert name.is_dir() and not ours.in_use
        other.communicate("\n")
    assert not name.exists()


def test_the_placeholder_of_a_killed_process_is_removed_by_the_next_command(tmp_path: Path) -> None:
    name, ours = tmp_path / ".vscode", Placeholders()
    with other_process(name) as other:
        other.kill()
        other.wait()
    assert is_placeholder(str(name))
    ours.release(ours.acquire([str(name)]))
    assert not name.exists()


def test_two_commands_of_one_process_share_a_placeholder(tmp_path: Path) -> None:
    name = tmp_path / ".vscode"
    first, second = Placeholders(), Placeholders()
    one, two = first.acquire([str(name)]), second.acquire([str(name)])
    first.release(one)
    assert name.is_dir()
    second.release(two)
    assert not name.exists()


def test_folders_of_the_user_are_never_used_as_placeholders_or_removed(tmp_path: Path) -> None:
    empty, filled, ours = tmp_path / ".idea", tmp_path / ".vscode", Placeholders()
    empty.mkdir()
    assert ours.acquire([str(empty), str(tmp_path / "absent" / ".vscode")]) == ()
    made = ours.acquire([str(filled)])
    (filled / "settings.json").write_text("{}")
    ours.release(made)
    assert empty.is_dir() and (filled / "settings.json").exists() and not ours.in_use
