"""Find processes in /proc, independently of the code under test."""

from __future__ import annotations

import os
import select
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import anyio

LIMIT_SECONDS = 240
POLL_SECONDS = 0.01


def new_token() -> str:
    """Return a token to put into the command line or environment of processes, so that a test can find them."""
    return f"token-{uuid.uuid4().hex}"


def processes_with(token: str) -> dict[int, str]:
    """Return the live processes that have the token in their command line or environment: pid -> command line."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            command_line, environment, state = _read(folder)
        except OSError:
            continue  # ended, or owned by another user
        if token.encode() in command_line + environment and state not in "ZX":
            found[int(folder.name)] = command_line.replace(b"\0", b" ").decode(errors="replace")
    return found


KERNEL = "2"  # parent of the kernel threads, which never have a command line
LOOKS, LOOKS_AT_NONE = 20, 2000


def _read(folder: Path) -> tuple[bytes, bytes, str]:
    """Return the command line, environment and state of a process.

    The command line and the environment are empty while the process starts a new program, which may take long on a
    slow machine; so read them again if they are empty. For some processes one of the two is always empty.
    """
    looks = 0
    while True:
        command_line = (folder / "cmdline").read_bytes()
        environment = (folder / "environ").read_bytes()
        state, parent = _state_and_parent(folder)
        is_whole = bool(command_line and environment) or state in "ZX" or KERNEL in (parent, folder.name)
        looks += 1
        if is_whole or looks == (LOOKS if command_line or environment else LOOKS_AT_NONE):
            return command_line, environment, state
        time.sleep(0.001)


def _state_and_parent(folder: Path) -> list[str]:
    return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]


def zombies_of_ours() -> set[int]:
    """Return ended children of this process whose exit status was not collected."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state, parent = _state_and_parent(folder)
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.add(int(folder.name))
    return found


def is_running(pid: int) -> bool:
    """Return whether a process is alive; a zombie is not."""
    try:
        return _state_and_parent(Path(f"/proc/{pid}"))[0] not in "ZX"
    except OSError:
        return False


async def eventually(condition: Callable[[], bool]) -> None:
    """Poll a condition; fail after the deadline. Only for conditions without an event."""
    with anyio.fail_after(LIMIT_SECONDS):
        while not condition():  # noqa: ASYNC110  # the system sends no event
            await anyio.sleep(POLL_SECONDS)


class Fifo:
    """A named pipe that each side can open without waiting for the other."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def __enter__(self) -> Fifo:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._descriptor)

    def send_line(self) -> None:
        os.write(self._descriptor, b"\n")

    async def line(self) -> str:
        """Return the next line that a process wrote, without its line end."""
        data = b""
        with anyio.fail_after(LIMIT_SECONDS):
            while not data.endswith(b"\n"):
                await anyio.wait_readable(self._descriptor)
                data += os.read(self._descriptor, 1)
        return data.decode().removesuffix("\n")

    def next_line(self) -> str:
        """Return the next line, in a test that is not async."""
        data = b""
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([self._descriptor], [], [], LIMIT_SECONDS)
            assert ready, f"nothing was written to {self.path.name} in {LIMIT_SECONDS} s, but for {data!r}"
            data += os.read(self._descriptor, 1)
        return data.decode().removesuffix("\n")
