"""One owner for each session; the session of a dead process is taken over."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from agent_ls.store import locks
from agent_ls.store.errors import SessionLockedError
from agent_ls.store.locks import Owner, is_alive, make_own_owner


def test_a_lock_has_one_holder_and_can_be_acquired_after_its_release(tmp_path: Path) -> None:
    lock = locks.acquire_lock(tmp_path / "lock", "s-1")
    assert json.loads((tmp_path / "lock").read_bytes()) == asdict(make_own_owner())
    with pytest.raises(SessionLockedError, match=f"process {os.getpid()} on "):
        locks.acquire_lock(tmp_path / "lock", "s-1")
    lock.release()
    lock.release()
    locks.acquire_lock(tmp_path / "lock", "s-1").release()


def test_a_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    script = (
        "import sys, os, pathlib; from agent_ls.store import locks;"
        "locks.acquire_lock(pathlib.Path(sys.argv[1]), 's'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(SessionLockedError, match=str(process.pid)):
            locks.acquire_lock(path, "s")
        process.kill()
    locks.acquire_lock(path, "s").release()


@pytest.mark.parametrize(
    "left",
    [b"", b"nonsense", b'{"pid": 1}', json.dumps(asdict(make_own_owner())).encode()],
    ids=["nothing", "nonsense", "half", "a living owner"],
)
def test_an_unlocked_lock_file_can_be_acquired_whatever_it_contains(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "lock").write_bytes(left)
    locks.acquire_lock(tmp_path / "lock", "s").release()


OWNERS = [
    (make_own_owner(), True),
    (Owner(os.getpid(), "1", socket.gethostname()), sys.platform != "linux"),
    (Owner(os.getpid(), "", socket.gethostname()), True),
    (Owner(2**22 + 1, "1", socket.gethostname()), False),
    (Owner(1, "1", "another-host"), True),
]


@pytest.mark.parametrize(
    ("owner", "alive"), OWNERS, ids=["we", "another start", "no start", "no process", "elsewhere"]
)
def test_an_owner_is_alive_when_pid_and_start_time_are_those_of_a_process(owner: Owner, alive: bool) -> None:
    assert is_alive(owner) is alive


@pytest.mark.req("R7")
def test_without_file_system_locks_ownership_depends_on_the_content_of_the_lock_file(
    tmp_path: Path,
) -> None:
    def no_locks(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    lock = locks.acquire_lock(tmp_path / "lock", "s1", no_locks)
    assert not lock.is_firm
    with pytest.raises(SessionLockedError, match=str(os.getpid())):
        locks.acquire_lock(tmp_path / "lock", "s1", no_locks)
    lock.release()
    again = locks.acquire_lock(tmp_path / "lock", "s1", no_locks)
    again.release()
    firm = locks.acquire_lock(tmp_path / "lock", "s1")
    assert firm.is_firm
    firm.release()
