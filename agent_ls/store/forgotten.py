"""Keep what remains of deleted sessions: short hashes of the lines that they wrote, by file. Blocks.

Without them, a line of the agent would count as the user's as soon as its session is deleted. Nobody can read text from
a hash of four bytes. ROOT/forgotten/KEY has the hashes of one file; KEY is a hash of its path.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from agent_ls.store.blobs import read_blob
from agent_ls.store.journal import RecordedWrite, find_write
from agent_ls.store.layout import Layout, blobs_path, log_path
from agent_ls.store.log import FILE_MODE, OPEN_FLAGS, make_private_folder
from agent_ls.text import decode, looks_binary, split_lines

HASH_BYTES = 4
MOST_BYTES = 1 << 20
"""The size at which a file of hashes stops growing."""
FEWEST_LETTERS = 4
"""Shorter lines, such as `}` or `else:`, could be anybody's."""
_CHANGE = b'{"change":'
_UNDO = "r-"


def remember_lines(layout: Layout, session_folder: Path) -> None:
    """Remember the lines that a session wrote, before the session is deleted. Never fails."""
    with suppress(OSError):
        found: dict[str, set[bytes]] = {}
        for write in _writes(log_path(session_folder)):
            before, after = (_lines(session_folder, name) for name in (write.before, write.after))
            path = os.path.realpath(write.path)
            found.setdefault(path, set()).update(_hashes(path, after - before))
        for path, hashes in found.items():
            _append(_place(layout, path), hashes)


def forgotten_lines(layout: Layout, path: str, lines: Iterable[str]) -> set[str]:
    """Return those of `lines` that deleted sessions wrote to the file `path`, a path without links."""
    try:
        data = _place(layout, path).read_bytes()
    except OSError:
        return set()
    known = {data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)}
    return {line for line in set(lines) if _is_long(line) and _hash(path, line) in known}


def forget_all(layout: Layout) -> None:
    """Delete all that remains of deleted sessions."""
    folder = layout.root / "forgotten"
    for each in folder.glob("*"):
        each.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _writes(log: Path) -> Iterator[RecordedWrite]:
    with log.open("rb") as file:
        for line in file:
            write = find_write(line) if line.startswith(_CHANGE) else None
            if write and not write.turn_id.startswith(_UNDO):
                yield write


def _lines(session_folder: Path, name: str) -> set[str]:
    data = read_blob(blobs_path(session_folder), name) if name else b""
    if not data or looks_binary(data):
        return set()
    return {line.rstrip("\r\n") for line in split_lines(decode(data).text)}


def _hashes(path: str, lines: Iterable[str]) -> set[bytes]:
    return {_hash(path, line) for line in lines if _is_long(line)}


def _is_long(line: str) -> bool:
    return sum(map(str.isalnum, line)) >= FEWEST_LETTERS


def _hash(path: str, line: str) -> bytes:
    text = f"{path}\0{line}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=HASH_BYTES).digest()


def _append(place: Path, hashes: set[bytes]) -> None:
    make_private_folder(place.parent)
    size = place.stat().st_size if place.exists() else 0
    data = b"".join(sorted(hashes))[: max(0, MOST_BYTES - size)]
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | OPEN_FLAGS, FILE_MODE)
    with os.fdopen(descriptor, "ab") as file:
        file.write(data)


def _place(layout: Layout, path: str) -> Path:
    return layout.root / "forgotten" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
