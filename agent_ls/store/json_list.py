"""A short list in a JSON file of the user's state folder (rules, trust decisions).

Several processes may change the file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_ls.store.log import FILE_MODE, make_private_folder
from agent_ls.system import replace_file

if sys.platform != "win32":
    import fcntl

VERSION = 1
STEP_NS = 2_000_000_000
"""Coarsest resolution of file times. Two changes within this time may have the same time stamp."""


class JsonList:
    """The list in `FOLDER/NAME.json`: {"version": 1, "NAME": [...]}.

    The file is read again if its stamp has changed, or if it changed so recently that another change might keep its
    stamp. An unreadable file counts as empty. All methods block.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self.path = folder / f"{name}.json"
        self._read: tuple[object, Sequence[Any]] | None = None

    def read(self) -> Sequence[Any]:
        """Return the stored entries. The caller must validate each of them."""
        try:
            facts = os.stat(self.path)
            stamp = facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
            if self._read and self._read[0] == stamp:
                return self._read[1]
            now_ns = time.time_ns()
            entries = tuple(self._read_entries() or ())
        except (OSError, ValueError):
            return ()
        is_old_enough = max(facts.st_mtime_ns, facts.st_ctime_ns) + STEP_NS < now_ns
        self._read = (stamp, entries) if is_old_enough else None
        return entries

    def _read_entries(self) -> list[Any] | None:
        """Return the entries, an empty list for a missing file; None if the file has another format.

        Raises:
            OSError: the file cannot be read.
        """
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (ValueError, RecursionError):
            return None
        is_ours = isinstance(stored, dict) and stored.get("version") == VERSION
        entries = stored.get(self._name) if is_ours else None
        return entries if isinstance(entries, list) else None

    def change(self, change: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """Replace the entries by the result of `change`, under a lock against other processes.

        A file in another format (damaged, or written by a later version) is renamed to NAME.damaged.json.

        Raises:
            OSError: the file cannot be read or written; nothing was changed.
        """
        make_private_folder(self.path.parent)
        with _lock_file(self.path.with_suffix(".lock")):
            stored = self._read_entries()
            before = stored or []
            after = change(before)
            if list(after) != list(before):
                if stored is None:
                    os.replace(self.path, self.path.with_suffix(".damaged.json"))
                self._write(after)

    def _write(self, entries: Sequence[Any]) -> None:
        text = json.dumps({"version": VERSION, self._name: list(entries)}, indent=2, ensure_ascii=False)
        replace_file(self.path, f"{text}\n".encode("utf-8", "surrogateescape"))


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
