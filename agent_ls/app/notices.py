"""ADAPTER NoticeBoard: what the model is to be told at the next safe boundary, in the order in which it came."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio.lowlevel

from agent_ls.tools.summary import one_line

NAMED_PROCESSES = 5


class Notices:
    """`record` puts a notice into the log; `waiting` are those that a log holds and the model has not been told."""

    def __init__(self, record: Callable[[str], None], waiting: Sequence[str] = ()) -> None:
        self._record = record
        self._waiting = list(waiting)
        self.look_for: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """What `look` does: nothing, until there is something to look for."""

    async def look(self) -> None:
        await self.look_for()

    def post(self, text: str) -> None:
        self._record(text)
        self._waiting.append(text)

    def take(self) -> Sequence[str]:
        taken, self._waiting = self._waiting, []
        return taken


def ended_notice(commands: Sequence[str]) -> str:
    """Background processes end with the process of ours that has started them; the model may think that they run."""
    named = "; ".join(one_line(command) for command in commands[:NAMED_PROCESSES])
    more = f"; and {len(commands) - NAMED_PROCESSES} more" if len(commands) > NAMED_PROCESSES else ""
    return (
        "agent-ls was started anew, or another one has this session now. Your background processes have ended with the "
        f"old one: {named}{more}. Start again those that are still needed; they get new ids."
    )
