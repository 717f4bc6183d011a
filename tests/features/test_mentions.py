from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import anyio.abc
import pytest

from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.services.context.mentions import FRESH_MS, MAX_FILES, Mentions, list_files
from tests.support.fake_clock import FakeClock

DEADLINE_S = 240


class Disk:
    """A file listing that returns `files` as soon as `gate` is set."""

    def __init__(self, *files: str) -> None:
        self.files: Sequence[str] = files
        self.listings = 0
        self.gate = anyio.Event()

    async def __call__(self, folder: str, limit: int) -> Sequence[str]:
        self.listings += 1
        await self.gate.wait()
        if not self.files:
            raise PathNotFoundError(folder)
        return self.files


def starter(group: anyio.abc.TaskGroup) -> Callable[[Callable[[], Awaitable[None]]], None]:
    async def run(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    def start(work: Callable[[], Awaitable[None]]) -> None:
        group.start_soon(run, work)

    return start


@pytest.mark.req("H9")
async def test_a_file_list_is_cached_and_refreshed_in_the_background() -> None:
    disk, clock = Disk("shop/cart.py", "top.txt"), FakeClock()
    disk.gate.set()
    async with anyio.create_task_group() as group:
        mentions = Mentions(starter(group), clock, disk)
        assert list(await mentions.find("/p", "", 9)) == ["shop/", "top.txt", "shop/cart.py"]
        assert list(await mentions.find("/p", "cart", 9)) == ["shop/cart.py"]
        assert disk.listings == 1
        disk.files, disk.gate = ("shop/cart.py", "shop/cartoon.py"), anyio.Event()
        clock.advance((FRESH_MS + 1) / 1000)
        # returned from the old list, without waiting for the new one
        assert list(await mentions.find("/p", "cart", 9)) == ["shop/cart.py"]
        disk.gate.set()
        with anyio.fail_after(DEADLINE_S):
            while list(await mentions.find("/p", "cart", 9)) != ["shop/cart.py", "shop/cartoon.py"]:
                assert disk.listings == 2
        assert disk.listings == 2


async def test_in_a_deleted_folder_only_open_files_are_offered() -> None:
    disk = Disk()
    disk.gate.set()
    async with anyio.create_task_group() as group:
        mentions = Mentions(starter(group), FakeClock(), disk)
        assert list(await mentions.find("/p", "", 9, ["new.py"])) == ["new.py"]


@pytest.mark.req("H9")
@pytest.mark.parametrize("ripgrep", [None, ""], ids=["ripgrep", "without"])
async def test_list_files_skips_gitignored_files_and_respects_the_limit(
    ripgrep: str | None, tmp_path: Path
) -> None:
    for name in ("a.py", "src/b.py", "src/.env", "node_modules/c.js", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("node_modules\n")
    (tmp_path / "out").symlink_to("/")
    environment = LocalEnvironment(str(tmp_path), ripgrep=ripgrep)
    found = await environment.list_files(MAX_FILES)
    assert sorted(found) == [".gitignore", "a.py", "src/.env", "src/b.py"]
    assert len(await environment.list_files(2)) == 2
    assert sorted(await list_files(str(tmp_path), 10)) == sorted(found)
    with pytest.raises(PathNotFoundError):
        await list_files(str(tmp_path / "none"), 10)


@pytest.mark.req("H9", "X6")
async def test_files_in_the_agent_ignore_file_are_not_offered_as_mentions(tmp_path: Path) -> None:
    (tmp_path / ".agent-ls-ignore").write_text("private/\n*.token\n")
    disk = Disk("private/p.txt", "a.token", "notes.txt", "sub/b.token", "sub/notes.txt")
    disk.gate.set()
    async with anyio.create_task_group() as group:
        mentions = Mentions(starter(group), FakeClock(), disk)
        folder = str(tmp_path)
        assert list(await mentions.find(folder, "", 9)) == ["sub/", "notes.txt", "sub/notes.txt"]
        assert list(await mentions.find(folder, "token", 9, ["a.token"])) == []
        assert list(await mentions.find(folder, "t", 1)) == ["notes.txt"]
