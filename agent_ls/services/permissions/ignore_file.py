"""The user's ignore file `.agent-ls-ignore`: no tool reads or writes the files that it names."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.policy.places import fold_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 256 * 1024
MAX_SEEN = 50_000  # files and folders that are searched for one command


class IgnoreFile:
    """The patterns of the workspace's ignore files, read again when they change.

    If an ignore file exists but cannot be read, all files count as ignored.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._known: dict[str, tuple[tuple[int, int] | None, GitIgnoreSpec | None]] = {}

    def __call__(self, path: str) -> bool:
        """Return whether an ignore file of the workspace names the path."""
        return any(self._names(root, path) for root in self._roots)

    def is_there(self) -> bool:
        """Return whether the workspace has an ignore file."""
        return any(self._spec(root) for root in self._roots)

    def find_below(self, folder: str) -> str:
        """Return the first ignored path below a folder, or "". Blocks.

        For a folder with too many files, returns the folder itself, because the search is incomplete.
        """
        if not self.is_there():
            return ""
        seen = 0
        for place, folders, files in os.walk(folder):
            if ".git" in folders:
                folders.remove(".git")
            for name in (*files, *folders):
                seen += 1
                path = os.path.join(place, name)
                if self(path):
                    return path
            if seen > MAX_SEEN:
                return folder
        return ""

    def _names(self, root: str, path: str) -> bool:
        inside = path.removeprefix(root.rstrip(os.sep) + os.sep)
        if inside == path:
            return False
        spec = self._spec(root)
        names = (inside, f"{inside}/", fold_path(inside), f"{fold_path(inside)}/")
        return spec is not None and any(map(spec.match_file, names))

    def _spec(self, root: str) -> GitIgnoreSpec | None:
        place = os.path.join(root, IGNORE_FILE)
        try:
            found = os.stat(place)
            stamp = (found.st_mtime_ns, found.st_size)
        except FileNotFoundError:
            return None
        except OSError:
            stamp = None
        known = self._known.get(root)
        if known is None or stamp is None or known[0] != stamp:
            self._known[root] = known = (stamp, _read(place))
        return known[1]


def _read(place: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        with os.fdopen(os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            lines = file.read(MAX_BYTES).decode("utf-8", "replace").splitlines() if is_file else ["*"]
    except OSError:
        lines = ["*"]
    # On a case-insensitive disk, `Private` is also `private`: add each pattern in both forms.
    return GitIgnoreSpec.from_lines(
        [form for line in lines for form in dict.fromkeys((line, fold_path(line)))]
    )
