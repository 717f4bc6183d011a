"""The instruction files of a project, read again only when one of the places that were looked at has changed.

They are asked for at the start of each input. Where the disk can be looked at, that is one look at all places at once
instead of one thread after the other for each.
"""

from __future__ import annotations

import os.path
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread

from agent_ls.app.stamps import Documents, stamps
from agent_ls.environments.base import READ_LIMIT_BYTES, ExecutionEnvironment
from agent_ls.environments.wrappers.forwarding import ForwardingEnvironment
from agent_ls.policy.named_places import IGNORE_FILE
from agent_ls.profiles.project_docs import ProjectDocument, project_documents

YOUNG_NS = 2_000_000_000
"""A file that was changed so short a time before the look may change once more within the same tick of its clock."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """`places` were looked at; of those that are True only whether there is something counts. `facts` are theirs from
    before they were read, None where that is not known.
    """

    documents: tuple[ProjectDocument, ...]
    places: Mapping[str, bool]
    facts: Mapping[str, object] | None


class KnownDocuments:
    """Of one session. `documents` None: nobody can tell what has changed, so all is read each time."""

    def __init__(self, documents: Documents | None) -> None:
        self._documents = documents
        self._kept: dict[tuple[str, ...], _Kept] = {}

    async def of(
        self, environment: ExecutionEnvironment, family: Sequence[str]
    ) -> tuple[ProjectDocument, ...]:
        """As `project_documents`."""
        if self._documents is None:
            return await project_documents(environment, family)
        key = (environment.working_directory(), *family)
        kept = self._kept.get(key)
        now = await self._facts(kept.places, self._documents()) if kept else None
        if kept and now is not None and kept.facts == now:
            return kept.documents
        noting = _Noting(environment)
        documents = await project_documents(noting, family)
        # What was looked at only now may have changed between being read and being looked at.
        is_known = kept is not None and kept.places == noting.places
        self._kept[key] = _Kept(documents, noting.places, now if is_known else None)
        return documents

    async def _facts(
        self, places: Mapping[str, bool], documents: Mapping[str, int]
    ) -> Mapping[str, object] | None:
        """None: something is too young to be known again."""
        young_ns = time.time_ns() - YOUNG_NS
        found = await anyio.to_thread.run_sync(stamps, places, documents, abandon_on_cancel=True)
        facts: dict[str, object] = {}
        for path, (disk, version) in found.items():
            if places[path]:
                facts[path] = disk is not None, version
            elif disk and disk[2] > young_ns:
                return None
            else:
                facts[path] = disk, version
        return facts


class _Noting(ForwardingEnvironment):
    """Notes where it was looked, and the ignore file beside that, which decides what may be read."""

    def __init__(self, inner: ExecutionEnvironment) -> None:
        super().__init__(inner)
        self.places: dict[str, bool] = {}

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        self.places[path] = False
        self.places[os.path.join(os.path.dirname(path), IGNORE_FILE)] = False
        return await self.inner.read_bytes(path, max_bytes)

    async def file_exists(self, path: str) -> bool:
        self.places.setdefault(path, True)
        return await self.inner.file_exists(path)
