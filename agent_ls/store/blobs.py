"""Bytes kept beside a log and named by their hash: what a file held before it was changed. Blocks: for a thread."""

from __future__ import annotations

import os
import re
from pathlib import Path

from agent_ls.environments.base import sha256
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, make_private_folder

_NAME = re.compile(r"[0-9a-f]{64}")


def keep(folder: Path, data: bytes) -> str:
    """The name to read it by. It is there whole or not at all, whatever ends us meanwhile.

    Raises:
        OSError.
    """
    name = sha256(data)
    if not (folder / name).exists():
        make_private_folder(folder)
        part = folder / f"{name}.{os.getpid()}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        part.replace(folder / name)
    return name


def kept(folder: Path, name: str) -> bytes | None:
    """None for what was never kept, or is no longer what it was."""
    if not _NAME.fullmatch(name):
        return None
    try:
        data = (folder / name).read_bytes()
    except OSError:
        return None
    return data if sha256(data) == name else None
