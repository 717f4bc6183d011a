"""Implements the interface NoticeBoard: notices for the model, sent in order with its next request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio.lowlevel

from agent_ls.loop.events.types import SubagentChanged
from agent_ls.tools.summary import one_line

NAMED_PROCESSES = 5


class Notices:
    """Pending notices of a session.

    `record` writes a notice to the log. `waiting` lists the unsent notices of a resumed session.
    """

    def __init__(self, record: Callable[[str], None], waiting: Sequence[str] = ()) -> None:
        self._record = record
        self._waiting = list(waiting)
        self._search: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint

    def look_with(self, search: Callable[[], Awaitable[None]]) -> None:
        """Set the function by which `collect` finds changed files. Without it, `collect` does nothing."""
        self._search = search

    async def collect(self) -> None:
        await self._search()

    def post(self, text: str) -> None:
        self._record(text)
        self._waiting.append(text)

    def take_messages(self) -> Sequence[str]:
        taken, self._waiting = self._waiting, []
        return taken


def ended_notice(commands: Sequence[str]) -> str:
    """Return the notice that tells the model that its background processes ended with the session's last owner.

    `commands` are the commands of these processes, at least one.
    """
    named = "; ".join(one_line(command) for command in commands[:NAMED_PROCESSES])
    more = f"; and {len(commands) - NAMED_PROCESSES} more" if len(commands) > NAMED_PROCESSES else ""
    return (
        "agent-ls was restarted, or another process took this session over. Your background processes have "
        f"ended: {named}{more}. Start the processes that are still needed again; they get new ids."
    )


def stopped_agents_notice(agents: Sequence[SubagentChanged]) -> str:
    """Return the notice that tells the model which subagents, at least one, ended unfinished before the resume."""
    named = "; ".join(f"{it.agent_id} ({one_line(it.task)})" for it in agents[:NAMED_PROCESSES])
    more = f"; and {len(agents) - NAMED_PROCESSES} more" if len(agents) > NAMED_PROCESSES else ""
    return (
        f"The session was resumed. These agents were stopped before they had finished: {named}{more}. Requests for "
        "approval that they had made were withdrawn, and nobody denied them. Start the agents that are still needed "
        "again."
    )
