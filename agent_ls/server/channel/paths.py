"""Socket and token of the local channel (docs/panel.md#security). Not available on Windows.

Each server listens on its own socket, in a subfolder of the state folder that only the user can enter. A client
must send the token first. This protects the socket from a sandboxed command: a command that may use the network
could connect, but cannot read the token.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import SocketListener, SocketStream

from agent_ls import system
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.store.locks import Owner

FOLDER = "channels"
TOKEN = "token"
TOKEN_BYTES = 32
NAME_MAX_BYTES = 100
"""Maximum length of a socket's path in bytes that all systems accept."""


class ChannelUnavailableError(OSError):
    """The channel cannot be used on this system, or its folder belongs to another user."""


def socket_path(owner: Owner) -> Path:
    """Return the socket path of a server process. The socket need not exist."""
    host = hashlib.sha256(owner.host.encode()).hexdigest()[:8]
    return state_folder() / FOLDER / f"{host}-{owner.pid}-{owner.started or 0}.sock"


def read_channel_token() -> str:
    """Return the token of all channels of this user; the first call creates it. Blocks.

    Raises:
        OSError: the token cannot be read or created.
    """
    folder = _private_folder()
    path = folder / TOKEN
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=folder)  # created with mode 0600
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(TOKEN_BYTES))
            with suppress(FileExistsError):  # another server has created the token in between
                os.link(name, path)
        finally:
            os.unlink(name)
    return path.read_text("ascii")


async def listen(path: Path) -> SocketListener:
    """Listen on a new Unix socket at `path`, with the file mode 0600. Deletes the sockets of processes that no
    longer run.

    The socket is renamed to `path` only after it listens, so that a client that finds it there can connect.

    Raises:
        OSError: the socket cannot be created.
    """
    folder = await anyio.to_thread.run_sync(_private_folder)
    await anyio.to_thread.run_sync(_delete_stale, folder, path.name.partition("-")[0])
    part = path.with_suffix(".part")
    with _short_name(part) as name:
        listener = await anyio.create_unix_listener(name, mode=0o600)
    part.replace(path)
    return listener


async def connect(path: Path) -> SocketStream:
    """Connect to the channel of a server.

    Raises:
        OSError: the server is gone, or has no channel.
    """
    _check_system()
    with _short_name(path) as name:
        return await anyio.connect_unix(name)


def _check_system() -> None:
    if sys.platform == "win32":
        raise ChannelUnavailableError("Windows has no local channel")


def _private_folder() -> Path:
    _check_system()
    folder = state_folder() / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ChannelUnavailableError(f"{folder} is not a folder that belongs to you")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def _delete_stale(folder: Path, host: str) -> None:
    """Delete the sockets of processes on this machine that have ended."""
    for path in folder.glob(f"{host}-*.sock"):
        pid = path.name.split("-")[1]
        if pid.isdigit() and not system.is_alive(int(pid)):
            path.unlink(missing_ok=True)


@contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """Yield a path to the socket that is short enough for the system. On Linux, a path that is too long is
    replaced by a short one through /proc/self/fd. Other systems get `path` unchanged.
    """
    if len(os.fsencode(path)) <= NAME_MAX_BYTES or sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
