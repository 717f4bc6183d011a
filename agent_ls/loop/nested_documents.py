"""Interface to project instructions that are added to the result of a tool call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class NestedDocuments(Protocol):
    """SEAM: the project's instructions for folders below the working directory."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        """Return the instructions for the folders of `paths` (absolute) that the agent has not received yet,
        "" for none.

        Called after a call that read or changed the files. `family` are the names of a model family's own instruction
        files. Must not raise.
        """
        ...

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        """Make `for_paths` return earlier instructions again if none of the remaining results `kept` contains
        them.

        Called after a compaction. Must not raise.
        """
        ...


class NoNestedDocuments:
    """A session that gives no further instructions."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        return ""

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        pass


NO_NESTED_DOCUMENTS = NoNestedDocuments()
