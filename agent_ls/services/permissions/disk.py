"""Read metadata of paths for the path policy, from this machine or another machine (the remote end).

All methods block, because they read the disk: call them in a thread.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from agent_ls.environments.local.trees.session_trees import default_shell
from agent_ls.policy.named_places import FOREIGN_IGNORE_FILES, IGNORE_FILE
from agent_ls.services.permissions.ignore_file import is_named, read_patterns

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from agent_ls.environments.remote.facts import Facts
    from agent_ls.environments.remote.host import RemoteHost

FileId = tuple[int, int]


class Disk(Protocol):
    """Interface to read metadata of paths on one machine."""

    def real_path(self, path: str) -> str:
        """Return the path with links resolved."""
        ...

    def exists(self, real: str) -> bool:
        """Return whether a resolved path exists; a broken link counts as existing."""
        ...

    def has_other_names(self, path: str) -> bool:
        """Return whether a file has several hard links; the other links may be outside the
        workspace.
        """
        ...

    def stat(self, path: str) -> os.stat_result:
        """Return the stat result of a file. Raises OSError."""
        ...

    def has_bash(self) -> bool:
        """Return whether bash runs the commands on this machine."""
        ...


class LocalDisk:
    """Implements Disk for this machine."""

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def exists(self, real: str) -> bool:
        return os.path.lexists(real)

    def has_other_names(self, path: str) -> bool:
        try:
            found = os.lstat(path)
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode) and found.st_nlink > 1

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def has_bash(self) -> bool:
        return os.path.basename(default_shell()) == "bash"


LOCAL_DISK = LocalDisk()


class RemoteDisk:
    """Implements Disk for another machine, called the remote end.

    Each request also checks whether the ignore files there have changed. `to_remote` converts a path on this
    machine to the path of the same file at the remote end; `to_near` converts in the other direction. `roots`
    are the folders at the remote end that may have ignore files.
    """

    def __init__(
        self,
        host: RemoteHost,
        roots: Sequence[str],
        to_remote: Callable[[str], str] = str,
        to_near: Callable[[str], str] = str,
    ) -> None:
        self._host = host
        self._roots = roots
        self._to_remote = to_remote
        self._to_near = to_near
        self._seen = threading.local()
        self._ignored: dict[str, tuple[str, tuple[int, int] | None, GitIgnoreSpec]] = {}

    @contextmanager
    def at_once(self, paths: Sequence[str]) -> Iterator[None]:
        """Fetch the metadata of these paths and of the targets of links with two requests.

        Inside the `with` block, calls of `read_facts` in the same thread return this metadata without a
        request.
        """
        wanted = [self._to_remote(path) for path in paths]
        found = dict(zip(wanted, self.read_facts(paths), strict=True))
        reals = [facts.real for facts in found.values()]
        found.update(zip(reals, self.read_facts([self._to_near(real) for real in reals]), strict=True))
        self._seen.facts = found
        try:
            yield
        finally:
            self._seen.facts = {}

    def read_facts(self, paths: Sequence[str]) -> Sequence[Facts]:
        """Return the metadata of each path, and update the patterns of the ignore files."""
        seen: Mapping[str, Facts] = getattr(self._seen, "facts", {})
        if seen and all(self._to_remote(path) in seen for path in paths):
            return [seen[self._to_remote(path)] for path in paths]
        places = [
            (root, f"{root}/{name}") for root in self._roots for name in (IGNORE_FILE, *FOREIGN_IGNORE_FILES)
        ]
        wanted = [self._to_remote(path) for path in paths]
        found = self._host.read_facts([*wanted, *(place for _, place in places)])
        for root, place in places:
            self._renew(root, place, found[place])
        return [found[path] for path in wanted]

    def _renew(self, root: str, place: str, facts: Facts) -> None:
        known = self._ignored.get(place)
        if not facts.is_link_there:
            self._ignored.pop(place, None)
        elif known is None or not facts.times or known[1] != facts.times:
            spec = read_patterns(self._host.text(place).removeprefix("\ufeff").splitlines())
            self._ignored[place] = (root, facts.times, spec)

    def is_ignored(self, path: str) -> bool:
        """Return whether an ignore file on the other machine names the path.

        Uses the ignore patterns from the last call of `read_facts`.
        """
        return any(self._is_named(path, place) for place in self._ignored)

    def is_own_ignored(self, path: str) -> bool:
        """Return whether `.agent-ls-ignore` on the other machine names the path."""
        return any(self._is_named(path, f"{root}/{IGNORE_FILE}") for root in self._roots)

    def _is_named(self, path: str, place: str) -> bool:
        if (known := self._ignored.get(place)) is None:
            return False
        root, _, spec = known
        remote = self._to_remote(path)
        inside = remote.removeprefix(root.rstrip("/") + "/")
        return inside != remote and is_named(spec, inside)

    def real_path(self, path: str) -> str:
        return self._to_near(self.read_facts([path])[0].real)

    def exists(self, real: str) -> bool:
        facts = self.read_facts([real])[0]
        return facts.is_link_there

    def has_other_names(self, path: str) -> bool:
        return self.read_facts([path])[0].has_other_names

    def stat(self, path: str) -> os.stat_result:
        facts = self.read_facts([path])[0]
        if not facts.exists:
            raise FileNotFoundError(2, "no such file", path)
        return facts.result()

    def has_bash(self) -> bool:
        return self.exists("/bin/bash")

    def stamps(
        self, paths: Sequence[str], documents: Mapping[str, int]
    ) -> Mapping[str, tuple[tuple[int, int, int, int, int] | None, int | None]]:
        """Return the stamps of files at the remote end, with one request.

        A stamp is (disk, version): `disk` is (size, mtime, ctime, inode, mode), None for a missing file; `version`
        is the version of the open document, None for a file that is not open.
        """
        return {
            path: (_stamp(facts), documents.get(path))
            for path, facts in zip(paths, self.read_facts(paths), strict=True)
        }

    def find_linked(self, places: Sequence[str]) -> frozenset[FileId]:
        """Return the ids of credential files that have several hard links and are below these paths at the
        remote end.
        """
        return self._host.find_linked(places)


def _stamp(facts: Facts) -> tuple[int, int, int, int, int] | None:
    if not facts.exists or facts.times is None:
        return None
    found = facts.result()
    return found.st_size, *facts.times, found.st_ino, found.st_mode
