"""The single steps of a commit on files of this machine, and what undoes each. All of them block.

What is undone is what was done here: a file that somebody else has changed since is left as he made it, and the step
that was to undo ours raises OSError.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from agent_ls.environments.errors import StaleFileError

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would change line endings
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def name_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f"{temporary_prefix(os.getpid())}{secrets.token_hex(8)}.tmp")


def temporary_prefix(pid: int) -> str:
    """How the names of files begin that this process puts beside others for a moment."""
    return f".agent-ls-{pid}-"


def write_new(path: str, content: bytes, mode: int | None, like: str | None) -> None:
    """A file that must not exist yet, on disk when this returns; owner and attributes as of the file `like`."""
    created_mode = 0o666 if mode is None else 0o600  # private until it has the bits that it is to have
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, created_mode)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if like:
            copy_attributes(like, path)
        if mode is not None:
            os.chmod(path, mode)
        os.fsync(file.fileno())


def copy_attributes(source: str, path: str) -> None:
    """Owner, ACL and extended attributes as far as the system lets us (SEMANTICS 9.4), but not the times."""
    facts = os.stat(source)
    with suppress(OSError, AttributeError):
        os.chown(path, facts.st_uid, facts.st_gid)
    with suppress(OSError):
        shutil.copystat(source, path)
    os.utime(path)


@contextmanager
def opened_in_place(path: str, expected: bytes, asked: str) -> Iterator[BinaryIO]:
    """The file, which holds what is expected of it still; never what a link leads to that has taken its place."""
    with open(os.open(path, os.O_RDWR | _NO_FOLLOW | _BINARY), "rb+") as file:
        if file.read() != expected:
            raise StaleFileError(asked)
        file.seek(0)
        yield file


def overwrite(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


def content_of(path: str) -> bytes:
    """Of a file; a link is refused."""
    with open(os.open(path, os.O_RDONLY | _NO_FOLLOW | _BINARY), "rb") as file:
        return file.read()


def demand_own(path: str, content: bytes) -> None:
    """What was put there is there still: what somebody else has made of it is not undone."""
    if content_of(path) != content:
        raise OSError(errno.EEXIST, "it was changed meanwhile", path)


def unlink_own(path: str, content: bytes) -> None:
    demand_own(path, content)
    os.unlink(path)


def bring_back(path: str, aside: str, content: bytes, mode: int | None, link: str) -> None:
    """A deleted file as it was; the very same where it was only set aside yet. `link`: where it led, if it was one."""
    if os.path.lexists(path):
        raise OSError(errno.EEXIST, "another file has its name", path)
    if os.path.lexists(aside):
        os.rename(aside, path)
    elif link:
        os.symlink(link, path)
    else:
        write_new(path, content, mode, like=None)


def restore(path: str, content: bytes, facts: os.stat_result, put: bytes) -> None:
    demand_own(path, put)
    temporary = name_beside(path)
    try:
        write_new(temporary, content, stat.S_IMODE(facts.st_mode), like=path)
        os.utime(temporary, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        os.replace(temporary, path)
    except OSError:
        unlink_if_there(temporary)
        raise


def restore_in_place(path: str, content: bytes, facts: os.stat_result) -> None:
    with open(os.open(path, os.O_WRONLY | _NO_FOLLOW | _BINARY), "wb") as file:
        overwrite(file, content)
    with suppress(OSError):  # only the owner may do this, and he need not be the one who may write
        os.chmod(path, stat.S_IMODE(facts.st_mode))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def unlink_if_there(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def remove_if_empty(folder: str) -> None:
    if not os.listdir(folder):
        os.rmdir(folder)


def sync_folder(folder: str) -> None:
    """So that the renames survive a loss of power; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
