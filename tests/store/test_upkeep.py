from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_ls.store import upkeep
from agent_ls.store.errors import StoreError
from agent_ls.store.layout import Layout, ListedSession
from agent_ls.store.log import Header
from agent_ls.store.sessions import OpenSession, SessionStore
from agent_ls.store.upkeep import RetentionLimits

pytestmark = pytest.mark.req("R7")

NOW = "2026-03-01T12:00:00.000Z"


def failed(session_id: str, error: OSError) -> None:
    raise AssertionError(session_id) from error


def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "state", on_failure=failed)


def made(kept: SessionStore, name: str, folder: Path, days: int = 0, size: int = 0) -> OpenSession:
    """Create a session that was last used `days` ago, with a blob of `size` bytes. It is open."""
    opened = kept.create(Header(name, NOW, str(folder), "p", "m"))
    if size:
        opened.write_blob(b"x" * size + name.encode())
    at = (datetime.fromisoformat(NOW) - timedelta(days=days)).astimezone(UTC).timestamp()
    os.utime(opened.folder / "log.jsonl", (at, at))
    return opened


def ids(kept: SessionStore, folder: Path | None = None) -> set[str]:
    return {it.header.session_id for it in kept.sessions(str(folder) if folder else None)}


def test_pruning_deletes_old_sessions_and_keeps_open_ones(tmp_path: Path) -> None:
    kept = store(tmp_path)
    for name, days in (("old", 31), ("young", 29), ("other", 40)):
        made(kept, name, tmp_path / ("b" if name == "other" else "a"), days).close()
    in_use = made(kept, "in-use", tmp_path / "a", 50)

    swept = upkeep.prune(kept.layout, str(tmp_path / "a"), RetentionLimits(keep_days=30), NOW)

    assert (swept.removed, swept.in_use) == (("old",), ("in-use",))
    assert ids(kept) == {"young", "other", "in-use"}
    in_use.close()


@pytest.mark.parametrize(
    ("max_bytes", "left"),
    [(0, {"a", "b", "c"}), (10_000, {"a", "b", "c"}), (6_000, {"a", "b"}), (1, {"a"})],
)
def test_pruning_by_size_deletes_the_oldest_and_never_the_newest(
    max_bytes: int, left: set[str], tmp_path: Path
) -> None:
    kept = store(tmp_path)
    for name, days in (("a", 0), ("b", 1), ("c", 2)):
        made(kept, name, tmp_path, days, size=2_500).close()

    upkeep.prune(kept.layout, str(tmp_path), RetentionLimits(max_bytes=max_bytes), NOW)

    assert ids(kept) == left


def test_pruning_keeps_a_protected_session(tmp_path: Path) -> None:
    kept = store(tmp_path)
    made(kept, "old", tmp_path, 100).close()
    assert upkeep.prune(kept.layout, str(tmp_path), RetentionLimits(keep_days=1), NOW, ["old"]).removed == ()


def test_delete_all_keeps_only_open_sessions(tmp_path: Path) -> None:
    kept = store(tmp_path)
    made(kept, "a", tmp_path / "one").close()
    in_use = made(kept, "b", tmp_path / "two")

    assert upkeep.delete_all(kept.layout).in_use == ("b",)
    assert ids(kept) == {"b"}
    in_use.close()
    assert upkeep.delete_all(kept.layout).removed == ("b",)
    assert not (tmp_path / "state" / "workspaces").exists()


def test_relinking_assigns_the_sessions_of_a_moved_folder_to_its_new_path(tmp_path: Path) -> None:
    kept = store(tmp_path)
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    opened = made(kept, "a", old)
    name = opened.write_blob(b"kept")
    opened.close()
    made(kept, "b", new).close()
    old.rename(new)
    assert upkeep.lost_workspaces(kept.layout) == [str(old)]

    assert upkeep.relink(kept.layout, str(old), str(new)) == ["a"]

    assert (ids(kept, old), ids(kept, new)) == (set(), {"a", "b"})
    again = kept.open("a")
    assert again.stored
    assert (again.stored.header.workspace_folder, again.read_blob(name)) == (str(new), b"kept")
    again.close()
    assert upkeep.lost_workspaces(kept.layout) == []
    with pytest.raises(StoreError, match="No sessions"):
        upkeep.relink(kept.layout, str(old), str(new))


class Listing(Layout):
    """A layout that calls `then` right after sessions were listed, before they are deleted or moved."""

    def __init__(self, root: Path, then: Callable[[], object]) -> None:
        super().__init__(root)
        self._then = then

    def list_sessions(self, workspace: str | None = None) -> list[ListedSession]:
        found = super().list_sessions(workspace)
        self._then()
        return found


def test_pruning_keeps_a_session_that_was_used_after_the_listing(tmp_path: Path) -> None:
    kept = store(tmp_path)
    made(kept, "old", tmp_path, 100).close()

    def use() -> None:
        opened = kept.open("old")
        opened.recorder.prompt("on")
        opened.close()

    swept = upkeep.prune(Listing(kept.layout.root, use), str(tmp_path), RetentionLimits(keep_days=1), NOW)

    assert swept.removed == () and ids(kept) == {"old"}


@pytest.mark.parametrize("is_whole", [True, False], ids=["open", "being made"])
def test_delete_all_keeps_a_session_that_another_process_starts_during_the_deletion(
    tmp_path: Path, is_whole: bool
) -> None:
    kept, begun = store(tmp_path), list[OpenSession]()
    made(kept, "old", tmp_path / "a").close()

    def begin() -> None:
        begun.append(made(kept, "new", tmp_path / "a"))
        if not is_whole:
            (begun[0].folder / "log.jsonl").unlink()

    swept = upkeep.delete_all(Listing(kept.layout.root, begin))

    assert swept.removed == ("old",)
    assert begun[0].folder.is_dir() and begun[0].is_ours
    assert ids(kept) == ({"new"} if is_whole else set())
    begun[0].close()
    upkeep.delete_all(kept.layout)
    assert not (tmp_path / "state" / "workspaces").exists()


def test_relinking_keeps_a_session_that_another_process_starts_in_the_old_folder(
    tmp_path: Path,
) -> None:
    kept, begun = store(tmp_path), list[OpenSession]()
    made(kept, "old", tmp_path / "a").close()
    listing = Listing(kept.layout.root, lambda: begun.append(made(kept, "new", tmp_path / "a")))

    assert upkeep.relink(listing, str(tmp_path / "a"), str(tmp_path / "b")) == ["old"]

    assert (ids(kept, tmp_path / "a"), ids(kept, tmp_path / "b")) == ({"new"}, {"old"})
    begun[0].close()


def recorded(kept: SessionStore, name: str, size: int = 10, days: int = 0) -> Path:
    path = kept.layout.recording(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"r" * size)
    at = (datetime.fromisoformat(NOW) - timedelta(days=days)).timestamp()
    os.utime(path, (at, at))
    return path


def test_deleting_or_pruning_a_session_deletes_its_recording(tmp_path: Path) -> None:
    kept = store(tmp_path)
    for name, days in (("one", 0), ("old", 50), ("left", 0)):
        made(kept, name, tmp_path / "a", days).close()
        recorded(kept, name)
    kept.delete("one")
    assert not kept.layout.recording("one").exists()
    upkeep.prune(kept.layout, str(tmp_path / "a"), RetentionLimits(keep_days=30), NOW)
    assert not kept.layout.recording("old").exists()
    assert kept.layout.recording("left").exists()


def test_delete_all_leaves_only_recordings_of_open_sessions(tmp_path: Path) -> None:
    kept = store(tmp_path)
    made(kept, "closed", tmp_path / "a").close()
    in_use = made(kept, "in-use", tmp_path / "a")
    for name in ("closed", "in-use", "of-a-session-that-is-gone"):
        recorded(kept, name)
    upkeep.delete_all(kept.layout)
    assert [it.name for it in (tmp_path / "state" / "recordings").iterdir()] == ["in-use.jsonl"]
    in_use.close()
    upkeep.delete_all(kept.layout)
    assert not (tmp_path / "state" / "recordings").exists()


def test_recordings_count_toward_the_size_limit_of_pruning(tmp_path: Path) -> None:
    kept = store(tmp_path)
    for days, name in enumerate(("new", "older")):
        made(kept, name, tmp_path / "a", days).close()
        recorded(kept, name, size=5_000)
    upkeep.prune(kept.layout, str(tmp_path / "a"), RetentionLimits(max_bytes=8_000), NOW)
    assert ids(kept) == {"new"}


def test_a_recording_without_a_session_is_pruned_after_the_retention_period_of_sessions(
    tmp_path: Path,
) -> None:
    kept = store(tmp_path)
    recorded(kept, "old", days=31)
    recorded(kept, "young", days=29)
    upkeep.prune(kept.layout, str(tmp_path / "a"), RetentionLimits(keep_days=30), NOW)
    assert [it.stem for it in kept.layout.lost_recordings()] == ["young"]


def test_a_copied_session_folder_is_neither_listed_nor_pruned_and_delete_all_deletes_it(
    tmp_path: Path,
) -> None:
    kept = store(tmp_path)
    opened = made(kept, "one", tmp_path, 100)
    opened.close()
    copy = shutil.copytree(opened.folder, opened.folder.with_name("one.bak (2)"))
    assert ids(kept) == {"one"}
    limits = RetentionLimits(keep_days=1, max_bytes=1)
    upkeep.prune(kept.layout, str(tmp_path), limits, NOW)
    assert (copy / "log.jsonl").exists()
    upkeep.delete_all(kept.layout)
    assert not copy.exists()
