"""Build the parts of a session: its loop, its subagents and the objects that they share.

Also stores the results of submitted messages by client key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from agent_ls.loop.budget import InputBudget, Spending
from agent_ls.loop.calls.log_guard import LogGuard
from agent_ls.loop.calls.terminals import SessionTerminals
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import EventEmitter
from agent_ls.loop.ids import SessionId
from agent_ls.loop.inbox import Inbox
from agent_ls.loop.model.call_ids import CallIds
from agent_ls.loop.ports import Ports, Shared
from agent_ls.loop.restored import RestoredSession, Submitted, SuspendedTurn, store_result
from agent_ls.loop.seams import NoticeBoard
from agent_ls.loop.subagents import AgentKit, AgentTasks, Subagents
from agent_ls.loop.turn_facts import TurnEvidence
from agent_ls.loop.turn_loop import TurnLoop
from agent_ls.profiles.base import ProfileFor, ProviderProfile

LAST_NOTICES_S = 2.0  # time limit of `collect_last_notices`, in seconds


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects that `assemble` creates for one session, connected to each other."""

    emitter: EventEmitter
    inbox: Inbox
    shared: Shared
    tasks: AgentTasks
    agents: Subagents
    loop: TurnLoop


def assemble(
    session_id: SessionId,
    ports: Ports,
    known: RestoredSession,
    profile: ProviderProfile,
    config: Callable[[], SessionConfig],
    profile_for: ProfileFor,
) -> Parts:
    """Create and connect the parts of a session.

    `config` returns the current config; `profile_for` returns the profile for a subagent that has its own
    model.
    """
    emitter = EventEmitter(
        session_id,
        ports.recorder,
        ports.clock,
        known.last_seq,
        ports.secrets,
        TurnEvidence(ports.judge_check),
    )
    inbox = Inbox(known.steers, known.queue, ports.recorder.images)
    spending = Spending(known.usage, known.cost_usd, known.known_usd)
    shared = Shared(
        session_id,
        CallIds(known.call_ids),
        spending,
        InputBudget(spending, ports.clock, known.inherited),
        SessionTerminals(ports.environment, emitter, ports.clock, ports.secrets),
        LogGuard(ports.recorder, ports.questions),
    )
    tasks = AgentTasks(it.changed.agent_id for it in known.agents)
    kit = AgentKit(ports, emitter, config, shared, profile_for, tasks, known.agents)
    agents = Subagents(kit, inbox)
    loop = agents.parent = TurnLoop(
        replace(
            ports, ended=shared.terminals.take_ended
        ),  # subagents end with the turn, and so does what they run
        emitter,
        shared,
        agents,
        config=config,
        restored=known,
        profile=profile,
    )
    return Parts(emitter, inbox, shared, tasks, agents, loop)


def suspended_profile(
    suspended: SuspendedTurn | None, profile: ProviderProfile, profile_for: ProfileFor
) -> ProviderProfile | None:
    """Return the profile of the model that made the calls of a suspended turn; None if no turn is suspended.

    That model may be a fallback model, and its tools may have other names than the tools of the session's
    model.
    """
    if suspended is None or suspended.answer is None:
        return profile if suspended else None
    answer = suspended.answer
    if (answer.provider, answer.model) == (profile.id, profile.model):
        return profile
    return profile_for(answer.provider, answer.model)


async def collect_last_notices(notices: NoticeBoard) -> None:
    """Collect file changes that background processes made, before the session ends; takes a bounded time."""
    with anyio.move_on_after(LAST_NOTICES_S):
        await notices.collect()


class SubmitResults:
    """Results of submitted messages by client key, so that a repeated message gets the same result."""

    def __init__(self, known: Mapping[str, Submitted]) -> None:
        self._known = dict(known)

    def find(self, client_key: str) -> Submitted | None:
        return self._known.get(client_key) if client_key else None

    def store(self, client_key: str, answer: Submitted) -> Submitted:
        store_result(self._known, client_key, answer)
        return answer
