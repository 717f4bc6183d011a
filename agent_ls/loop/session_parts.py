"""What a session is made of: its loop, its agents, and what they share; and the answers that it has given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from agent_ls.loop.budget import Budget
from agent_ls.loop.call_ids import CallIds
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import EventHub
from agent_ls.loop.ids import SessionId
from agent_ls.loop.inbox import Inbox
from agent_ls.loop.restored import Restored, Submitted
from agent_ls.loop.seams import NoticeBoard
from agent_ls.loop.spending import Spending
from agent_ls.loop.subagents import AgentKit, AgentTasks, ProfileFor, Subagents
from agent_ls.loop.terminals import Terminals
from agent_ls.loop.turn_loop import Ports, Shared, TurnLoop
from agent_ls.profiles.base import ProviderProfile

LAST_LOOK_S = 2.0  # as looking before and after a command; only while background processes run is it noticed


@dataclass(frozen=True, slots=True)
class Parts:
    hub: EventHub
    inbox: Inbox
    shared: Shared
    tasks: AgentTasks
    agents: Subagents
    loop: TurnLoop


def assemble(
    session_id: SessionId,
    ports: Ports,
    known: Restored,
    profile: ProviderProfile,
    config: Callable[[], SessionConfig],
    profile_for: ProfileFor,
) -> Parts:
    """`config` gives what holds now; `profile_for` the profile of a subagent with a model of its own."""
    hub = EventHub(session_id, ports.recorder, ports.clock, known.last_seq, ports.secrets)
    inbox = Inbox(known.steers, known.queue, ports.recorder.images)
    spending = Spending(known.usage, known.cost_usd)
    shared = Shared(
        CallIds(known.call_ids),
        spending,
        Budget(spending, ports.clock),
        Terminals(ports.environment, hub, ports.clock, ports.secrets),
    )
    tasks = AgentTasks(it.changed.agent_id for it in known.agents)
    kit = AgentKit(session_id, ports, hub, config, shared, profile_for, tasks, known.agents)
    agents = Subagents(kit, inbox)
    loop = agents.parent = TurnLoop(session_id, ports, hub, inbox, config, known, shared, agents, profile)
    return Parts(hub, inbox, shared, tasks, agents, loop)


async def last_look(notices: NoticeBoard) -> None:
    """Before a session ends: what its background processes changed by now is told, unless that takes too long."""
    with anyio.move_on_after(LAST_LOOK_S):
        await notices.look()


class Answers:
    """What became of each message of a known client key: sent again, it is answered as before (PROTOCOL, clientKey)."""

    def __init__(self, known: Mapping[str, Submitted]) -> None:
        self._known = dict(known)

    def of(self, client_key: str) -> Submitted | None:
        return self._known.get(client_key) if client_key else None

    def keep(self, client_key: str, answer: Submitted) -> Submitted:
        if client_key:
            self._known[client_key] = answer
        return answer
