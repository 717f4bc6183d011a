"""Hand a session over, or take it from an owner that does not answer; one process writes at any time."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from agent_ls.store import handover, locks
from agent_ls.store.errors import OwnershipLostError, SessionLockedError
from agent_ls.store.locks import Owner, make_own_owner
from agent_ls.store.log import Header, SessionLog, event_record
from agent_ls.store.sessions import OpenSession, SessionStore

pytestmark = [pytest.mark.req("R4", "R7"), pytest.mark.skipif(sys.platform == "win32", reason="no rename")]

HEADER = Header("s-1", "2026-01-02T03:04:05.678Z", "/work", "p", "m")


def make(root: Path) -> SessionStore:
    return SessionStore(root, on_failure=lambda session_id, error: None)


def event(number: int) -> bytes:
    return event_record(json.dumps({"sessionId": "s-1", "seq": number}).encode())


def test_a_handover_request_applies_only_to_the_owner_named_in_the_request(tmp_path: Path) -> None:
    owner = make_own_owner()
    assert not handover.is_asked(tmp_path, owner)
    handover.request_handover(tmp_path, owner, Owner(1, "", "elsewhere"))

    assert handover.is_asked(tmp_path, replace(owner, is_ending=True, program="x"))
    assert not handover.is_asked(tmp_path, replace(owner, pid=owner.pid + 1))
    assert not handover.is_asked(tmp_path, replace(owner, host="elsewhere"))
    handover.delete_request(tmp_path)
    assert not handover.is_asked(tmp_path, owner)
    assert not list(tmp_path.glob("handover*"))


@pytest.mark.parametrize("left", [b"", b"[]", b"null", b'{"to": {"pid": "x"}}', b"\xff"])
def test_an_invalid_handover_request_is_ignored(tmp_path: Path, left: bytes) -> None:
    (tmp_path / handover.NAME).write_bytes(left)
    assert not handover.is_asked(tmp_path, make_own_owner())


def test_a_new_owner_ignores_a_handover_request_to_the_former_owner(tmp_path: Path) -> None:
    store = make(tmp_path)
    store.create(HEADER).close()
    folder = store.folder("s-1")
    handover.request_handover(folder, make_own_owner(), make_own_owner())
    with_it = store.open("s-1")
    assert not handover.is_asked(folder, with_it.lock.owner)
    with_it.close()


def test_after_a_forced_take_over_the_former_owner_cannot_append_to_the_log(tmp_path: Path) -> None:
    store = make(tmp_path)
    former = store.create(HEADER)
    log = former.recorder._log
    log.append(event(1))
    new = store.seize("s-1", former.lock.owner)

    assert not former.is_ours and new.is_ours
    with pytest.raises(OwnershipLostError):
        log.append(event(2))
    new.recorder._log.append(event(2))
    with pytest.raises(OwnershipLostError):
        log.append(event(3))
    lines = (new.folder / "log.jsonl").read_bytes().splitlines()[1:]
    assert [json.loads(line)["event"]["seq"] for line in lines] == [1, 2]
    former.close()
    assert new.is_ours
    with pytest.raises(SessionLockedError):
        store.open("s-1")
    new.close()
    store.open("s-1").close()


def test_a_line_that_the_former_owner_appends_during_a_take_over_is_not_in_the_new_log(
    tmp_path: Path,
) -> None:
    """The owner checks its lock and pauses, the session is taken over, and then the owner writes: the worst
    order of events.
    """
    store = make(tmp_path)
    former = store.create(HEADER)
    log: SessionLog = former.recorder._log
    taken: list[OpenSession] = []

    def stands_still() -> bool:
        is_ours = former.lock.is_ours()
        if not taken:
            taken.append(store.seize("s-1", former.lock.owner))
        return is_ours

    log.is_ours = stands_still
    with pytest.raises(OwnershipLostError):
        log.append(event(1))
    (new,) = taken
    assert (new.folder / "log.jsonl").read_bytes().count(b"\n") == 1
    new.close()


def test_of_two_simultaneous_forced_take_overs_one_succeeds(tmp_path: Path) -> None:
    store, other = make(tmp_path), make(tmp_path)
    former = store.create(HEADER)
    (store.folder("s-1") / "lock").write_bytes(json.dumps({"pid": 1, "started": "1", "host": "h"}).encode())
    seen = Owner(1, "1", "h")

    first = store.seize("s-1", seen)
    with pytest.raises(SessionLockedError):
        other.seize("s-1", seen)  # another process is the owner now
    assert first.is_ours and not former.is_ours
    first.close()
    former.close()


def test_without_file_system_locks_an_owner_on_another_host_is_alive_but_can_be_replaced(
    tmp_path: Path,
) -> None:
    def no_locks(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    store = SessionStore(tmp_path, on_failure=lambda session_id, error: None, lock=no_locks)
    former = store.create(HEADER)
    lock = store.folder("s-1") / "lock"
    elsewhere = Owner(2**22 + 1, "1", "another-host")
    lock.write_bytes(json.dumps(asdict(elsewhere)).encode())
    with pytest.raises(SessionLockedError, match="another-host"):
        store.open("s-1")

    new = store.seize("s-1", elsewhere)
    assert new.is_ours and not new.lock.is_firm and not former.is_ours
    with pytest.raises(OwnershipLostError):
        former.recorder._log.append(event(1))
    new.close()


def test_a_forced_take_over_is_refused_while_another_forced_take_over_is_in_progress(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = locks.acquire_lock(path, "s")
    with locks.hold_lock(tmp_path / "lock.force", "s"), pytest.raises(SessionLockedError):
        locks.seize_lock(path, "s", held.owner)
    assert held.is_ours()
    held.release()


def test_acquiring_a_lock_is_retried_if_another_process_replaces_the_lock_file(tmp_path: Path) -> None:
    """Between opening and locking the lock file, another process may have replaced it."""
    path = tmp_path / "lock"
    replaced: list[bool] = []

    def slow(descriptor: int) -> None:
        if not replaced:
            replaced.append(True)
            (tmp_path / "new").write_bytes(b"")
            (tmp_path / "new").replace(path)
        locks.kernel_lock(descriptor)

    lock = locks.acquire_lock(path, "s", slow)
    assert lock.is_ours()
    with pytest.raises(SessionLockedError):
        locks.acquire_lock(path, "s")
    lock.release()


def test_an_owner_on_another_host_counts_as_alive_and_a_dead_local_owner_as_no_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for owner, is_reported in (
        (Owner(1, "1", "elsewhere"), True),
        (Owner(2**22 + 1, "1", make_own_owner().host), False),
    ):
        path.write_bytes(
            json.dumps({"pid": owner.pid, "started": owner.started, "host": owner.host}).encode()
        )
        assert (locks.owner_of(path) is not None) is is_reported
        assert locks.recorded_owner(path) == owner
    assert locks.owner_of(tmp_path / "none") is None


def test_an_owner_that_announces_its_release_is_recorded_as_ending(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = locks.acquire_lock(path, "s", program="Neovim")
    found = locks.owner_of(path)
    assert found and (found.program, found.is_ending) == ("Neovim", False)
    assert str(found).startswith("Neovim, process ")

    lock.announce_release()
    found = locks.owner_of(path)
    assert found and found.is_ending and found.is_same(lock.owner)
    lock.release()
    assert locks.owner_of(path) is None


def replace_lock(path: Path) -> None:
    path.with_name("new").write_bytes(b"")
    path.with_name("new").replace(path)


@pytest.mark.parametrize("device", ["a disk", "a network"])
@pytest.mark.parametrize(
    ("change", "is_ours"),
    [
        ([lambda path: None], True),
        ([replace_lock], False),
        ([Path.unlink], True),
        ([Path.unlink, lambda path: path.write_bytes(b"")], False),
        ([lambda path: path.with_name("backup").hardlink_to(path), replace_lock], False),
        ([lambda path: path.with_name("backup").hardlink_to(path)], True),
    ],
)
def test_a_held_lock_notices_each_way_in_which_its_file_is_replaced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    change: list[Callable[[Path], object]],
    is_ours: bool,
) -> None:
    monkeypatch.setattr(os, "major", lambda number: 8 if device == "a disk" else 0)
    path = tmp_path / "lock"
    held = locks.acquire_lock(path, "s")
    assert held.is_ours()
    for step in change:
        step(path)
        held.is_ours()
    assert held.is_ours() is is_ours
    held.release()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells disks from networks by their numbers")
@pytest.mark.parametrize(("major", "opens"), [(8, 0), (0, 5)])
def test_a_lock_file_on_a_disk_is_checked_without_opening_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, major: int, opens: int
) -> None:
    monkeypatch.setattr(os, "major", lambda number: major)
    held = locks.acquire_lock(tmp_path / "lock", "s")
    opened: list[object] = []

    def counted(*arguments: Any, of: Callable[..., int] = os.open) -> int:
        opened.append(arguments[0])
        return of(*arguments)

    monkeypatch.setattr(os, "open", counted)
    assert all(held.is_ours() for _ in range(5))
    assert opened == [tmp_path / "lock"] * opens
    held.release()
