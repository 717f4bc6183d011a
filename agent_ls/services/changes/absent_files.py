"""Stamps of paths most of which are missing: a folder that has not changed still lacks the names that it lacked."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping

from agent_ls.services.changes.stamps import STEP_NS, DiskStamp, Stamp, disk_stamp, stamps, stat_or_none
from agent_ls.system import is_on_own_disk


class AbsentFiles:
    """Remembers which paths were missing, by the nearest folder that exists.

    A folder gets another time stamp when a name is added to it. This holds on disks of this machine; elsewhere, nothing
    is remembered.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[DiskStamp, frozenset[str]]] = {}

    def stamps(self, paths: Collection[str], documents: Mapping[str, int]) -> dict[str, Stamp]:
        """Return the result of `stamps.stamps`, with few looks at missing files. Blocks briefly."""
        began_ns = time.time_ns()
        self._known = {
            folder: (stamp, missing)
            for folder, (stamp, missing) in self._known.items()
            if (facts := stat_or_none(folder)) and disk_stamp(facts) == stamp
        }
        absent = frozenset[str]().union(*(missing for _, missing in self._known.values()))
        found = stamps([path for path in paths if path not in absent], documents)
        self._remember([path for path, (disk, _) in found.items() if disk is None], began_ns)
        return found | {path: (None, documents.get(path)) for path in paths if path in absent}

    def _remember(self, missing: Iterable[str], began_ns: int) -> None:
        """Remember paths that were missing after `began_ns`, unless their folder may have changed since then."""
        new: dict[str, set[str]] = {}
        for path in missing:
            folder = os.path.dirname(path)
            while folder not in new and not os.path.isdir(folder) and folder != os.path.dirname(folder):
                folder = os.path.dirname(folder)
            new.setdefault(folder, set()).add(path)
        for folder, paths in new.items():
            facts = stat_or_none(folder)
            if (
                facts
                and is_on_own_disk(facts)
                and max(facts.st_mtime_ns, facts.st_ctime_ns) + STEP_NS < began_ns
            ):
                before = self._known.get(folder, (None, frozenset[str]()))[1]
                self._known[folder] = disk_stamp(facts), before | paths
