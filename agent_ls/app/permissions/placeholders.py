"""Empty folders in the place of absent names while a sandboxed command runs, so that the command cannot create them.

bubblewrap protects only paths that exist. Without a placeholder a command could create `.vscode/settings.json`, which
a running editor reads at once.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from threading import Lock

_LOCK = Lock()
_HELD: Counter[str] = Counter()
"""How many running commands of this process need each placeholder."""


class Placeholders:
    """Creates and removes placeholders, which all sessions of the process share. Blocks."""

    @property
    def held(self) -> Collection[str]:
        """The placeholders that a running command still needs."""
        with _LOCK:
            return frozenset(_HELD)

    def acquire(self, names: Sequence[str]) -> tuple[str, ...]:
        """Create an empty folder for each absent name. Return the placeholders, which `release` takes back.

        A name whose parent folder does not exist gets none.
        """
        made = []
        with _LOCK:
            for name in names:
                if not _HELD[name]:
                    try:
                        os.mkdir(name)
                    except OSError:
                        continue
                _HELD[name] += 1
                made.append(name)
            for name in [name for name, count in _HELD.items() if not count]:
                del _HELD[name]
        return tuple(made)

    def release(self, made: Sequence[str]) -> None:
        """Remove the placeholders that no other command needs."""
        with _LOCK:
            for name in made:
                _HELD[name] -= 1
                if not _HELD[name]:
                    del _HELD[name]
                    with suppress(OSError):  # the user put a file into it, or replaced it
                        os.rmdir(name)
