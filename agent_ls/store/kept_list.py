"""A short list in one readable file of the user's folder, which several processes change (rules, trust)."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_ls.store.log import FILE_MODE, make_private_folder

if sys.platform != "win32":
    import fcntl

VERSION = 1


class KeptList:
    """`FOLDER/NAME.json`: {"version": 1, "NAME": [...]}. Read again at each use; what cannot be read is empty.

    All of it blocks.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._path = folder / f"{name}.json"

    def read(self) -> Sequence[Any]:
        """Entries as they stand there: whoever asks looks whether they are what he expects."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        is_ours = isinstance(stored, dict) and stored.get("version") == VERSION
        entries = stored.get(self._name) if is_ours else None
        return entries if isinstance(entries, list) else []

    def change(self, change: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """No other process changes it meanwhile.

        Raises:
            OSError: it cannot be written; what stood there stands there still.
        """
        make_private_folder(self._path.parent)
        with _locked(self._path.with_suffix(".lock")):
            before = self.read()
            after = change(before)
            if list(after) != list(before):
                self._write(after)

    def _write(self, entries: Sequence[Any]) -> None:
        text = json.dumps({"version": VERSION, self._name: list(entries)}, indent=2, ensure_ascii=False)
        # Mode 0600 from its first moment.
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text + "\n")
            os.replace(name, self._path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
