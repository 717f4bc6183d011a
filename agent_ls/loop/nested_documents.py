"""Interface to project instructions that are added to the result of a tool call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class NestedDocuments(Protocol):
    """Interface to the project's instruction files in folders below the working directory."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        """Return the instructions for the folders of the files `paths` (absolute) that the agent has not
        received yet; "" for none.

        Called after a tool call that read or changed the files. `family` has the names of instruction files
        that the model family uses, for example CLAUDE.md. `agent_id` is "" for the main agent. Must not
        raise.
        """
        ...

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        """Forget which instructions the agent has received, except those that a text in `kept` contains.

        Called after a compaction; `kept` are the texts of the tool results that remain. `for_paths` returns
        the forgotten instructions again. Must not raise.
        """
        ...


class NoNestedDocuments:
    """NestedDocuments that never returns any instructions."""

    async def for_paths(self, paths: Sequence[str], family: Sequence[str], agent_id: str = "") -> str:
        return ""

    def forget_compacted(self, kept: Sequence[str], agent_id: str = "") -> None:
        pass


NO_NESTED_DOCUMENTS = NoNestedDocuments()
