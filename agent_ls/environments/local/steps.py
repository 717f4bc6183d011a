"""The individual steps of a commit to files on this machine, and their undo actions. All of them block.

An undo action changes a file only if it still has the content that this commit wrote. Otherwise it raises
OSError.
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

_BINARY = getattr(os, "O_BINARY", 0)  # without this flag, Windows would change line endings
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def name_beside(path: str) -> str:
    return os.path.join(os.path.dirname(path), f"{temporary_prefix(os.getpid())}{secrets.token_hex(8)}.tmp")


def temporary_prefix(pid: int) -> str:
    """Return the name prefix of the temporary files of process `pid`."""
    return f".agent-ls-{pid}-"


def write_new(path: str, content: bytes, mode: int | None, like: str | None) -> None:
    """Create a file and sync it to disk. `like` is a file to copy owner and attributes from, None for none."""
    created_mode = 0o666 if mode is None else 0o600  # the file is private until its permission bits are set
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
    """Copy owner, ACL and extended attributes as far as the system allows; times are not copied."""
    facts = os.stat(source)
    with suppress(OSError, AttributeError):
        os.chown(path, facts.st_uid, facts.st_gid)
    with suppress(OSError):
        shutil.copystat(source, path)
    os.utime(path)


@contextmanager
def opened_in_place(path: str, expected: bytes, asked: str) -> Iterator[BinaryIO]:
    """Open a file for writing if it still has the expected content. A symbolic link is not followed."""
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
    """Return the content of a file. Raises OSError if the path is a symbolic link."""
    with open(os.open(path, os.O_RDONLY | _NO_FOLLOW | _BINARY), "rb") as file:
        return file.read()


def check_content(path: str, content: bytes) -> None:
    """Check that the content of a file is still `content`. Raises OSError if it is not."""
    if content_of(path) != content:
        raise OSError(errno.EEXIST, "the file was changed at the same time", path)


def unlink_own(path: str, content: bytes) -> None:
    check_content(path, content)
    os.unlink(path)


def bring_back(path: str, aside: str, content: bytes, mode: int | None, link: str) -> None:
    """Restore a deleted file: rename `aside` back to `path` if `aside` still exists, else create the file
    again.

    If the deleted file was a symbolic link, `link` is its target, else "". Raises OSError if another file
    exists at `path` now.
    """
    if os.path.lexists(path):
        raise OSError(errno.EEXIST, "another file now has this name", path)
    if os.path.lexists(aside):
        os.rename(aside, path)
    elif link:
        os.symlink(link, path)
    else:
        write_new(path, content, mode, like=None)


def restore(path: str, content: bytes, facts: os.stat_result, put: bytes) -> None:
    check_content(path, put)
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
    # Only the owner of the file may change its permission bits. This user can write the file, but need not be
    # its owner.
    with suppress(OSError):
        os.chmod(path, stat.S_IMODE(facts.st_mode))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def unlink_if_there(path: str) -> None:
    # A read-only file system refuses even to remove a file that does not exist.
    if os.path.lexists(path):
        with suppress(FileNotFoundError):
            os.unlink(path)


def remove_if_empty(folder: str) -> None:
    if not os.listdir(folder):
        os.rmdir(folder)


def sync_folder(folder: str) -> None:
    """Sync the folder to disk, so that renames survive a power failure.

    Ignore file systems that cannot do this.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
