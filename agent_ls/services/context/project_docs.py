"""The instruction files of a project, read again only when one of the searched paths has changed.

The files are needed at the start of each turn. One check reads the time stamps of all paths. It runs in the
same worker thread as the session's other reads at the start of a turn (services/turn_reads.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from anyio import to_thread

from agent_ls.environments.base import READ_LIMIT_BYTES, DirEntry, ExecutionEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.profiles.document_lookup import NO_LOOKUP, Lookup
from agent_ls.profiles.project_docs import ProjectDocument, find_project_documents
from agent_ls.services.changes.absent_files import AbsentFiles
from agent_ls.services.changes.stamps import Documents, Stamp, stamps
from agent_ls.services.turn_reads import TurnRead, TurnReads

YOUNG_NS = 2_000_000_000
"""Minimum age of a reliable time stamp: two changes in quick succession may have the same time."""


GIT_FOLDER = ".git"

Facts: TypeAlias = Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class _CachedDocuments:
    """Project documents, and the paths that were read to find them.

    `places` maps each path to True if only the path's existence matters, or to False if its content matters.
    `facts` are the stamps (size, times and inode) that the paths had before the documents were read; None if
    unknown. `check` reads the current stamps.
    """

    documents: tuple[ProjectDocument, ...]
    places: Mapping[str, bool]
    facts: Facts
    check: TurnRead[Facts]


class ProjectDocumentCache:
    """The project documents of one session. `reads` are the session's reads at the start of a turn.

    `documents` returns the versions of open documents. If it is None, changes cannot be detected, so the files are
    read each time.
    """

    def __init__(self, documents: Documents | None, reads: TurnReads) -> None:
        self._documents = documents
        self._reads = reads
        self._cache: dict[tuple[str, ...], _CachedDocuments] = {}
        self._absent = AbsentFiles()

    async def find(
        self, environment: ExecutionEnvironment, family: Sequence[str]
    ) -> tuple[ProjectDocument, ...]:
        """Return the result of `find_project_documents`, from the cache if no file has changed."""
        if self._documents is None:
            return await find_project_documents(environment, family)
        key = (environment.working_directory(), *family)
        kept = self._cache.get(key)
        now = await kept.check.get() if kept else None
        if kept and now is not None and kept.facts == now:
            return kept.documents
        noting = _Noting(environment, self._documents)
        documents = await find_project_documents(noting, family, noting)
        # `now` contains the stamps from before the read. It is stored only if it covers all paths that were read.
        is_known = kept is not None and kept.places == noting.places
        facts = now if is_known else noting.facts()
        check = kept.check if kept else self._add_check(key, self._documents)
        self._cache[key] = _CachedDocuments(documents, noting.places, facts, check)
        return documents

    def _add_check(self, key: tuple[str, ...], documents: Documents) -> TurnRead[Facts]:
        return self._reads.add(
            lambda: partial(_read_facts, self._cache[key].places, documents(), self._absent),
            lambda: [*self._cache[key].places, *documents()],
        )


def _read_facts(places: Mapping[str, bool], documents: Mapping[str, int], absent: AbsentFiles) -> Facts:
    """Return the stamps of the files (size, time, inode). Blocks.

    Returns None if a file changed so recently that its time is not reliable.
    """
    began_ns = time.time_ns()
    return _facts(places, absent.stamps(places, documents), began_ns)


def _facts(places: Mapping[str, bool], found: Mapping[str, Stamp], began_ns: int) -> Facts:
    """Return what the content of the documents depends on, from stamps that were taken at `began_ns`."""
    young_ns = began_ns - YOUNG_NS
    facts: dict[str, object] = {}
    for path in places:
        disk, version = found[path]
        if places[path]:
            facts[path] = disk is not None, version
        elif disk and disk[2] > young_ns:
            return None
        else:
            facts[path] = disk, version
    return facts


@dataclass(frozen=True, slots=True)
class DiskLookup:
    """Implements Lookup for files on this machine: one thread looks up all names.

    `documents` returns the versions of open documents, which need no file.
    """

    documents: Documents

    async def missing(self, paths: Sequence[str]) -> frozenset[str]:
        absent = await to_thread.run_sync(_absent, paths, abandon_on_cancel=True)
        return absent - self.documents().keys()

    async def real_path(self, path: str) -> str:
        return await to_thread.run_sync(os.path.realpath, path, abandon_on_cancel=True)


def lookup_of(documents: Documents | None) -> Lookup:
    """Return a lookup of names; without `documents`, the files may be on another machine, and nothing is known."""
    return NO_LOOKUP if documents is None else DiskLookup(documents)


def _absent(paths: Sequence[str]) -> frozenset[str]:
    return frozenset(path for path in paths if not os.path.lexists(path))


class _Noting(ForwardingEnvironment):
    """Environment wrapper that records which paths are read, and the ignore files next to these paths.

    Implements Lookup too: a look at names takes their stamps, before any of the files is read.
    """

    def __init__(self, inner: ExecutionEnvironment, documents: Documents) -> None:
        super().__init__(inner)
        self.places: dict[str, bool] = {}
        self._documents = documents
        self._lookup = DiskLookup(documents)
        self._began_ns = time.time_ns()
        self._stamps: dict[str, Stamp] = {}

    def facts(self) -> Facts:
        """Return the facts from before the read; None if a path was read without a look at it before."""
        if not self._stamps.keys() >= self.places.keys():
            return None
        return _facts(self.places, self._stamps, self._began_ns)

    async def missing(self, paths: Sequence[str]) -> frozenset[str]:
        for path in paths:
            self._note(path)
        versions = self._documents()
        new = [path for path in self.places if path not in self._stamps]

        def look() -> tuple[frozenset[str], Mapping[str, Stamp]]:
            return _absent(paths), stamps(new, versions)

        absent, found = await to_thread.run_sync(look, abandon_on_cancel=True)
        self._stamps.update(found)
        return absent - versions.keys()

    async def real_path(self, path: str) -> str:
        return await self._lookup.real_path(path)

    def _note(self, path: str) -> None:
        if os.path.basename(path) == GIT_FOLDER:  # git changes the folder with each command
            self.places[path] = True
            return
        self.places[path] = False
        self.places[os.path.join(os.path.dirname(path), IGNORE_FILE)] = False

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        self._note(path)
        return await self.inner.read_bytes(path, max_bytes)

    async def file_exists(self, path: str) -> bool:
        self.places.setdefault(path, True)
        return await self.inner.file_exists(path)

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        self.places[path] = False
        found = await self.inner.list_directory(path, depth)
        self.places |= {os.path.join(path, entry.name): False for entry in found if entry.is_dir}
        return found
