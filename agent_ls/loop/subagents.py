"""The agents that a model starts (000 section 7, REQUIREMENTS A1, A2): a loop and a history each, one session.

An agent shares its parent's environment, approver, log and event stream; its events carry its id. It works beside its
parent's loop and never longer than that: when the parent's input is done, stopped or lost, its agents are ended first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.scoped import ScopedEnvironment
from agent_ls.llm.errors import LlmError
from agent_ls.loop.agent_voice import AgentApprover, AgentRecorder, AgentVoice, NoNotices
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import EventHub, Voice
from agent_ls.loop.events import SteeringQueued, SubagentChanged
from agent_ls.loop.ids import SessionId, SteerId, new_id
from agent_ls.loop.inbox import Inbox, Steer
from agent_ls.loop.prefix import Prefix
from agent_ls.loop.restored import Restored, RestoredAgent
from agent_ls.loop.truncation import truncate_chars
from agent_ls.loop.turn_loop import Ports, Shared, TurnLoop
from agent_ls.loop.turns import AssistantTurn, Turn, UserTurn
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.base import AgentState, AgentTask, NoQuestions, ToolError
from agent_ls.tools.paths import absolute

logger = logging.getLogger(__name__)

MAX_RUNNING = 8  # of one parent at a time: each of them spends money
REPORT_MAX_CHARS = 20_000  # of one agent's last text: as much as its tool would give (000 section 5.2)

ProfileFor: TypeAlias = Callable[[str, str], ProviderProfile]
"""A provider's profile of another model; raises nothing for a provider that is in use."""

LEFT_OUT = ("plan", "ask_user", "submit")
"""Tools that speak to the user: an agent speaks to its parent."""
STARTS_AGENTS = ("spawn_agent", "send_input", "wait", "close_agent")

BEGINNING = (
    "You were started by another agent of this session, to do one task on your own. Only that agent reads what you "
    "say last: make it a whole answer, with paths and lines where they matter, and with what is left open. Nobody "
    "can answer questions."
)
SCOPE = "You work in {folder}: relative paths start there, and only there you may change files."


class AgentTasks:
    """Where the agents of a session run, and their ids."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._group: TaskGroup | None = None

    def attend(self, group: TaskGroup) -> None:
        self._group = group

    def start(self, work: Callable[[_Agent], Coroutine[Any, Any, None]], agent: _Agent) -> None:
        if self._group is None:
            raise ToolError("No agent can be started before the session runs.", kind="unsupported")
        self._group.start_soon(work, agent)

    def new_id(self) -> str:
        number = 1
        while f"agent_{number}" in self._used:
            number += 1
        self._used.add(f"agent_{number}")
        return f"agent_{number}"


@dataclass(frozen=True, slots=True)
class AgentKit:
    """What an agent of a session is made of."""

    session_id: SessionId
    ports: Ports
    hub: EventHub
    config: Callable[[], SessionConfig]
    shared: Shared
    profile_for: ProfileFor
    tasks: AgentTasks
    restored: Sequence[RestoredAgent] = ()


@dataclass(eq=False, slots=True)
class _Agent:
    """`changed` is what was last told of it. `is_known`: its parent has been told how it ended."""

    changed: SubagentChanged
    loop: TurnLoop
    inbox: Inbox
    agents: Subagents
    profile: ProviderProfile
    calls_before: int
    is_known: bool = False
    stop: Literal["", "interrupted", "closed"] = ""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def is_running(self) -> bool:
        return self.changed.status == "running"


class Subagents:
    """ADAPTER SubagentSpawner: the agents of one parent. `agent_id` is the parent's own, "" for the main agent."""

    def __init__(self, kit: AgentKit, inbox: Inbox, agent_id: str = "", depth: int = 0) -> None:
        self.parent: TurnLoop
        self._kit = kit
        self._inbox = inbox
        self._agent_id = agent_id
        self._voice: Voice = AgentVoice(kit.hub, agent_id) if agent_id else kit.hub
        self._depth = depth
        self._agents: dict[str, _Agent] = {}
        self._stored = {it.changed.agent_id: it for it in kit.restored if it.parent == agent_id}
        self._news = anyio.Event()

    def nudge(self) -> None:
        """Something has changed that a wait may wait for: an agent has ended, or the parent is steered."""
        self._news.set()
        self._news = anyio.Event()

    # --- what the model does

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        limit = self._kit.config().max_subagent_depth
        if self._depth >= limit:
            raise ToolError(
                f"An agent at depth {self._depth} starts no agents (the limit is {limit}): do the task yourself.",
                kind="permission_denied",
            )
        self._demand_room()
        environment = await self._environment(task.working_dir)
        self._demand_room()  # others may have started while the folder was looked at
        before = _finished_turns(self.parent.history.turns) if task.with_history else ()
        changed = SubagentChanged(
            agent_id=self._kit.tasks.new_id(),
            status="running",
            call_id=call_id,
            task=task.task,
            model=task.model or self.parent.profile.model,
            working_dir=environment.working_directory(),
        )
        agent = self._made(changed, environment, before, task)
        scoped = environment is not self.parent.environment
        where = (SCOPE.format(folder=environment.working_directory()),) if scoped else ()
        self._begin(agent, "\n\n".join((BEGINNING, *where, f"The task:\n\n{task.task}")))
        return _state(agent)

    def send(self, agent_id: str, message: str) -> AgentState:
        agent = self._known(agent_id)
        if agent.is_running:
            steer = Steer(SteerId(new_id("st")), message)
            agent.inbox.add_steer(steer)
            AgentVoice(self._kit.hub, agent_id).emit(SteeringQueued(steer.id, message))
            agent.agents.nudge()
            return _state(agent)
        if agent.changed.reason == "closed":
            raise ToolError(f"Agent {agent_id} was closed. Start another one.", kind="validation")
        self._demand_room()
        agent.changed = replace(agent.changed, status="running", reason="", output="", task=message)
        self._begin(agent, message)
        return _state(agent)

    async def wait(self, agent_id: str) -> AgentState:
        agent = self._known(agent_id)
        while agent.is_running and not self._inbox.steers:
            await self._news.wait()
        agent.is_known = not agent.is_running
        return _state(agent)

    async def close(self, agent_id: str) -> AgentState:
        agent = self._known(agent_id)
        if not agent.is_running:
            agent.is_known = True
            return _state(agent)
        self._cancel(agent, "closed")
        while agent in self._running():
            await self._news.wait()
        return _state(agent)

    # --- what the parent's loop does

    async def reports(self) -> Sequence[str]:
        while self._running() and not self._inbox.steers:
            await self._news.wait()
        if self._running():
            return ()
        ended = [agent for agent in self._agents.values() if not agent.is_known]
        for agent in ended:
            agent.is_known = True
        return [_report(agent) for agent in ended]

    def stop(self) -> None:
        """Stops those that run, and theirs, at once: none says or does more while commands of others are ended."""
        for agent in self._running():
            agent.agents.stop()
            self._cancel(agent, "interrupted")

    async def end_all(self) -> None:
        if not self._running():
            return
        self.stop()
        with anyio.CancelScope(shield=True):  # bounded by what ends commands: TERM, two seconds, KILL
            while self._running():
                await self._news.wait()

    # --- inside

    def _running(self) -> Sequence[_Agent]:
        return [agent for agent in self._agents.values() if agent.is_running]

    def _demand_room(self) -> None:
        if len(self._running()) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} agents run already: wait for one, or close one.", kind="limit")

    def _known(self, agent_id: str) -> _Agent:
        if agent := self._agents.get(agent_id):
            return agent
        if stored := self._stored.get(agent_id):
            return self._revived(stored)
        known = ", ".join((*self._stored, *self._agents)) or "there are none"
        raise ToolError(f"No agent {agent_id!r}. Known: {known}.", kind="unknown_agent")

    def _revived(self, stored: RestoredAgent) -> _Agent:
        """One that ended in an earlier process: it can tell how, and go on."""
        folder, base = stored.changed.working_dir, self.parent.environment
        environment = base if folder == base.working_directory() else ScopedEnvironment(base, folder)
        model = stored.changed.model if stored.changed.model != self.parent.profile.model else ""
        agent = self._made(stored.changed, environment, stored.turns, AgentTask("", model=model))
        agent.is_known = True
        return agent

    async def _environment(self, folder: str) -> ExecutionEnvironment:
        base = self.parent.environment
        path = absolute(folder or ".", base)
        root = base.working_directory()
        if path == root:
            return base
        if not path.startswith(root.rstrip("\\/") + ("\\" if base.platform() == "windows" else "/")):
            raise ToolError(f"working_dir must lie in {root}.", kind="validation")
        await base.list_directory(path)  # raises where no folder is
        return ScopedEnvironment(base, path)

    def _made(
        self,
        changed: SubagentChanged,
        environment: ExecutionEnvironment,
        turns: Sequence[Turn],
        task: AgentTask,
    ) -> _Agent:
        kit, agent_id, inbox = self._kit, changed.agent_id, Inbox()
        parent = self.parent.profile
        profile = kit.profile_for(parent.id, task.model) if task.model else parent
        registry = parent.registry.copy()
        if (
            not task.with_history
        ):  # with it, the same tools: so the provider's cache of what went before still holds
            leaf = self._depth + 1 >= kit.config().max_subagent_depth
            registry.remove_kinds((*LEFT_OUT, *(STARTS_AGENTS if leaf else ())))
        profile = replace(profile, registry=registry)
        calls_before = sum(isinstance(turn, AssistantTurn) for turn in turns) if task.with_history else 0
        max_turns = calls_before + task.max_turns if task.max_turns else 0
        agents = Subagents(kit, inbox, agent_id, self._depth + 1)
        ports = replace(
            kit.ports,
            environment=environment,
            approver=AgentApprover(kit.ports.approver, agent_id),
            recorder=AgentRecorder(kit.ports.recorder, agent_id),
            notices=NoNotices(),
            questions=NoQuestions(),
        )
        loop = agents.parent = TurnLoop(
            kit.session_id,
            ports,
            AgentVoice(kit.hub, agent_id),
            inbox,
            lambda: replace(kit.config(), max_turns=max_turns),
            # The parent's prompt, word for word, whatever tools of it are left out.
            Restored(
                tuple(turns), 0, prefix=Prefix() if task.model else self.parent.context.prefix_for(profile)
            ),
            kit.shared,
            agents,
            profile,
        )
        agent = _Agent(changed, loop, inbox, agents, profile, calls_before)
        self._agents[agent_id] = agent
        return agent

    def _begin(self, agent: _Agent, message: str) -> None:
        agent.stop, agent.is_known, agent.scope = "", False, anyio.CancelScope()
        self._kit.tasks.start(self._live, agent)
        agent.loop.record(UserTurn(message, self._kit.ports.clock.now()))
        self._voice.emit(agent.changed)

    async def _live(self, agent: _Agent) -> None:
        """One input of an agent, in a task of its own. Whatever ends it is told, and nothing is raised but that."""
        ended = replace(agent.changed, status="failed", reason="interrupted", output="It was stopped.")
        try:
            with agent.scope:
                ended = await self._worked_off(agent)
        finally:
            if agent.stop and ended.reason == "interrupted":
                ended = replace(ended, reason=agent.stop)
            turns_used = agent.loop.history.model_calls - agent.calls_before
            agent.changed = replace(ended, turns_used=turns_used)
            agent.is_known = agent.is_known or bool(agent.stop)
            self._voice.emit(agent.changed)
            self.nudge()

    async def _worked_off(self, agent: _Agent) -> SubagentChanged:
        changed = agent.changed
        try:
            finish = await agent.loop.run(agent.profile)
        except LlmError as error:
            return replace(changed, status="failed", reason="error", output=str(error))
        except Exception as error:  # the edge of a task: an agent must not take its session with it
            logger.exception("%s of session %s failed", changed.agent_id, self._kit.session_id)
            return replace(
                changed, status="failed", reason="error", output=f"{type(error).__name__}: {error}"
            )
        said = _last_text(agent.loop.history.turns)
        match finish.reason:
            case "completed":
                return replace(changed, status="completed", output=said)
            case "limit" | "refused" | "error" as reason:
                return replace(changed, status="failed", reason=reason, output=said or finish.message)
            case _:
                return replace(changed, status="failed", reason="interrupted", output=said)

    def _cancel(self, agent: _Agent, why: Literal["interrupted", "closed"]) -> None:
        agent.stop = agent.stop or why
        agent.scope.cancel()


def _finished_turns(turns: Sequence[Turn]) -> Sequence[Turn]:
    """A parent's history without its last answer, whose calls have no results yet."""
    last = max((i for i, turn in enumerate(turns) if isinstance(turn, AssistantTurn)), default=len(turns))
    return turns[:last]


def _last_text(turns: Sequence[Turn]) -> str:
    texts = (turn.content for turn in reversed(turns) if isinstance(turn, AssistantTurn))
    return next((text for text in texts if text), "")


def _state(agent: _Agent) -> AgentState:
    changed = agent.changed
    turns_used = agent.loop.history.model_calls - agent.calls_before
    return AgentState(changed.agent_id, changed.status, changed.reason, changed.output, turns_used)


def _report(agent: _Agent) -> str:
    state = _state(agent)
    output = truncate_chars(state.output, REPORT_MAX_CHARS, "head_tail") or "(it said nothing)"
    why = f", {state.reason}" if state.reason else ""
    return f"[Agent {state.id} has ended: {state.status}{why}, turns used: {state.turns_used}. It says:]\n\n{output}"
