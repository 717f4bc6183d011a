"""Reading and listing on a real disk with links, pipes, devices and odd names."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from agent_ls.environments.base import DirEntry
from agent_ls.environments.errors import (
    AccessDeniedError,
    FileTooLargeError,
    NotAFileError,
    PathNotFoundError,
)
from agent_ls.environments.local import LocalEnvironment

pytestmark = pytest.mark.req("X2")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(os.path.relpath(path))  # its name may be short only


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda path: path.mkdir(), "a directory"),
        (os.mkfifo, "a pipe"),
        (make_socket, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
    ids=["folder", "pipe", "socket", "device"],
)
async def test_reading_a_pipe_or_device_is_refused_without_waiting(
    tmp_path: Path, make: Callable[[Path], None], what: str
) -> None:
    make(tmp_path / "odd")
    with anyio.fail_after(240), pytest.raises(NotAFileError, match=what):
        await LocalEnvironment(str(tmp_path)).read_bytes("odd")


async def test_reading_follows_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"content")
    (tmp_path / "link").symlink_to("real")
    assert await LocalEnvironment(str(tmp_path)).read_bytes("link") == b"content"


async def test_reading_a_symbolic_link_loop_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(AccessDeniedError, match="links"):
        await LocalEnvironment(str(tmp_path)).read_bytes("a")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no file that says it has no bytes")
async def test_a_file_with_a_reported_size_of_zero_is_read_to_its_end_and_within_the_limit() -> None:
    env = LocalEnvironment("/")
    assert b"Pid:" in await env.read_bytes("/proc/self/status")
    with pytest.raises(FileTooLargeError):
        await env.read_bytes("/proc/self/status", 10)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_reading_without_permission_is_denied(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    (tmp_path / "mine").chmod(0)
    with pytest.raises(AccessDeniedError):
        await LocalEnvironment(str(tmp_path)).read_bytes("mine")


async def test_a_listing_does_not_follow_symbolic_links(tmp_path: Path) -> None:
    (tmp_path / "list" / "folder").mkdir(parents=True)
    (tmp_path / "list" / "to_folder").symlink_to("folder")
    (tmp_path / "list" / "broken").symlink_to("nowhere")
    assert list(await LocalEnvironment(str(tmp_path)).list_directory("list", 3)) == [
        DirEntry("broken", False, len("nowhere")),
        DirEntry("folder", True, None),
        DirEntry("to_folder", False, len("folder")),
    ]


async def test_names_that_are_not_utf8_are_listed_and_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / os.fsdecode(b"\xff.txt")).write_bytes(b"odd name")
    env = LocalEnvironment(str(tmp_path))
    (entry,) = await env.list_directory("list")
    assert await env.read_bytes(f"list/{entry.name}") == b"odd name"
    assert list(await env.glob("list/*", ".")) == [f"list/{entry.name}"]


async def test_reading_an_impossible_file_name_raises_not_found(tmp_path: Path) -> None:
    with pytest.raises(PathNotFoundError):
        await LocalEnvironment(str(tmp_path)).read_bytes("half \ud800 character")
