"""Store the contents of changed files next to a log, in files named by the hash of the content. Blocks."""

from __future__ import annotations

from pathlib import Path

from agent_ls.environments.base import sha256
from agent_ls.patterns import regex
from agent_ls.store.log import make_private_folder
from agent_ls.system import replace_file

_NAME = regex(r"[0-9a-f]{64}")


def write_blob(folder: Path, data: bytes) -> str:
    """Store bytes as a blob and return its name. If the process is killed, either the complete blob or none
    exists.

    Raises:
        OSError: the blob cannot be written.
    """
    name = sha256(data)
    if not (folder / name).exists():
        make_private_folder(folder)
        replace_file(folder / name, data)
    return name


def read_blob(folder: Path, name: str) -> bytes | None:
    """Return the bytes of a blob; None if it does not exist or is damaged."""
    if not _NAME.fullmatch(name):
        return None
    try:
        data = (folder / name).read_bytes()
    except OSError:
        return None
    return data if sha256(data) == name else None
