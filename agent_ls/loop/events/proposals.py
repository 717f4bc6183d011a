"""Follow a session's events to track the calls that wait for decisions about their hunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agent_ls.loop.events.types import (
    HunkStateChanged,
    ProcessingEnd,
    SessionEvent,
    ToolCallEnd,
    ToolCallStart,
)


class ProposedHunks:
    """The undecided proposals of a session: `hunks` maps the id of each hunk to its call.

    The hunks of a call are removed when the call ends.
    """

    def __init__(self) -> None:
        self.hunks: dict[str, str] = {}
        self._running: set[str] = set()

    @property
    def calls(self) -> Collection[str]:
        return self.hunks.values()

    def restore(self, hunks: Mapping[str, str]) -> None:
        """Add hunks that were proposed before a restart and are still undecided."""
        self.hunks.update(hunks)
        self._running.update(hunks.values())

    def follow(self, event: SessionEvent) -> None:
        match event:
            case ToolCallStart(call_id=started):
                self._running.add(started)
            case HunkStateChanged(hunks=hunks):
                for hunk in hunks:
                    if hunk.state == "proposed" and hunk.call_id in self._running:
                        self.hunks[hunk.id] = hunk.call_id
                    elif hunk.state != "stale":
                        # A hunk in state `stale` stays undecided. The mapping contains only proposed hunks,
                        # so popping any other id does nothing.
                        self.hunks.pop(hunk.id, None)
            case ToolCallEnd(call_id=ended):
                self._running.discard(ended)
                self.hunks = {id_: call_id for id_, call_id in self.hunks.items() if call_id != ended}
            case ProcessingEnd():
                self._running.clear()
                self.hunks.clear()
            case _:
                pass
