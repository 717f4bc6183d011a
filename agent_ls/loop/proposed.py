"""Which calls wait for verdicts on what they propose, as the events of their session tell it (H6, R4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agent_ls.loop.events import HunkStateChanged, ProcessingEnd, SessionEvent, ToolCallEnd, ToolCallStart


class Proposed:
    """`hunks` has the call of each hunk that waits, by id. A call that has ended waits for nothing."""

    def __init__(self) -> None:
        self.hunks: dict[str, str] = {}
        self._running: set[str] = set()

    @property
    def calls(self) -> Collection[str]:
        return self.hunks.values()

    def again(self, hunks: Mapping[str, str]) -> None:
        """These were told by the process before, and wait still."""
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
                    elif (
                        hunk.state != "stale"
                    ):  # a stale one waits on; one that never was a proposal is not here
                        self.hunks.pop(hunk.id, None)
            case ToolCallEnd(call_id=ended):
                self._running.discard(ended)
                self.hunks = {id_: call_id for id_, call_id in self.hunks.items() if call_id != ended}
            case ProcessingEnd():
                self._running.clear()
                self.hunks.clear()
            case _:
                pass
