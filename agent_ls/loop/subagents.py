"""The subagents that a model starts. Each has its own loop and history in the same session.

A subagent shares its parent's environment, approver, log and event stream; its events carry its id. It runs
concurrently with its parent's loop, but never longer: before a turn of the parent ends for any reason, the
parent's subagents are ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.wrappers.scoped import ScopedEnvironment
from agent_ls.llm.errors import LlmError
from agent_ls.llm.requests import Usage
from agent_ls.loop.agent_emitter import AgentApprover, AgentDocuments, AgentEmitter, AgentRecorder, NoNotices
from agent_ls.loop.calls.dispatch import BY_CLOSING, BY_USER
from agent_ls.loop.calls.hooks import AgentHooks
from agent_ls.loop.calls.truncation import truncate_chars
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.prefix import Prefix
from agent_ls.loop.emission import Emitter, EventEmitter
from agent_ls.loop.events.types import SteeringQueued, SubagentChanged
from agent_ls.loop.ids import SteerId, new_id
from agent_ls.loop.inbox import Inbox, QueuedSteer
from agent_ls.loop.model.other_models import OtherModels, Purpose, UnusableModel, model_for
from agent_ls.loop.model.spent import CallCounter
from agent_ls.loop.ports import Ports, Shared
from agent_ls.loop.restored import RestoredAgent, RestoredSession
from agent_ls.loop.turn_loop import TurnLoop
from agent_ls.loop.turns import AssistantTurn, Turn, UserTurn
from agent_ls.profiles.base import ProfileFor, ProviderProfile
from agent_ls.tools.base import AgentState, AgentTask, NoQuestions, ToolError, no_report
from agent_ls.tools.paths import absolute
from agent_ls.tools.summary import one_line

logger = logging.getLogger(__name__)

REPORT_MAX_CHARS = 20_000  # length limit for a subagent's last text, equal to the output limit of its tool

Stop: TypeAlias = Literal["interrupted", "closed", "stopped"]
"""Why a subagent was stopped: with its parent's turn, by its parent, by the user."""

STOPPED_BY: Mapping[Stop, str] = {
    "interrupted": "the end of its parent's turn",
    "closed": "its parent agent",
    "stopped": BY_USER,
}

REASONS = {"stopped": "the user stopped it"}
"""Words for reasons that the model could not understand."""

LEFT_OUT = ("plan", "ask_user", "submit")
"""Tools that address the user. Subagents do not have them, because a subagent reports to its parent."""
STARTS_AGENTS = ("spawn_agent", "send_input", "wait", "close_agent")

BEGINNING = (
    "Another agent of this session started you to do one task on your own. Only that agent reads your "
    "last message: write a complete answer, with paths and lines where they matter, and name what is "
    "unfinished. Nobody can answer questions."
)
OF_KIND = "You are an agent of the kind {kind}. The user's description of this kind:\n\n{text}"
SCOPE = (
    "You work in {folder}: relative paths start in this folder, and you may change files only in this folder."
)


class AgentTasks:
    """The task group in which a session's subagents run, and their ids."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._group: TaskGroup | None = None

    def use_task_group(self, group: TaskGroup) -> None:
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
    """The shared parts that a subagent is built from."""

    ports: Ports
    emitter: EventEmitter
    config: Callable[[], SessionConfig]
    shared: Shared
    profile_for: ProfileFor
    tasks: AgentTasks
    restored: Sequence[RestoredAgent] = ()


@dataclass(eq=False, slots=True)
class _Agent:
    """The state of one subagent.

    `changed` is the last event about the subagent. `is_known` is True if the parent has received the report
    about its end.
    """

    changed: SubagentChanged
    loop: TurnLoop
    inbox: Inbox
    agents: Subagents
    profile: ProviderProfile
    calls_before: int
    is_known: bool = False
    stop: Stop | Literal[""] = ""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def is_running(self) -> bool:
        return self.changed.status == "running"


@dataclass(frozen=True, slots=True)
class _AgentModels:
    """Implements OtherModels for a subagent. A fallback model gets only the tools that this subagent has."""

    inner: OtherModels
    fitted: Callable[[ProviderProfile], ProviderProfile]

    def for_purpose(self, purpose: Purpose) -> ProviderProfile | UnusableModel | None:
        return self.inner.for_purpose(purpose)

    def fallbacks(self) -> Iterable[ProviderProfile | UnusableModel]:
        for model in self.inner.fallbacks():
            yield model if isinstance(model, UnusableModel) else self.fitted(model)


class Subagents:
    """The subagents of one parent.

    `agent_id` is the parent's id, "" for the main agent; `inbox` contains the messages for the parent.
    Implements SubagentSpawner.
    """

    def __init__(self, kit: AgentKit, inbox: Inbox, agent_id: str = "", depth: int = 0) -> None:
        self.parent: TurnLoop
        self._kit = kit
        self.inbox = inbox
        self._agent_id = agent_id
        self._emitter: Emitter = AgentEmitter(kit.emitter, agent_id) if agent_id else kit.emitter
        self.depth = depth
        self.stopped_by = BY_CLOSING  # unless `stop` or the session sets another reason
        self._agents: dict[str, _Agent] = {}
        self._stored = {it.changed.agent_id: it for it in kit.restored if it.parent == agent_id}
        self._news = anyio.Event()

    def nudge(self) -> None:
        """Wake all tasks that wait for subagents, after a subagent has ended or the parent got a steer."""
        self._news.set()
        self._news = anyio.Event()

    # --- actions of the model

    async def spawn(self, task: AgentTask, call_id: str) -> AgentState:
        """Start a subagent for a task. Raises ToolError at a limit or for an invalid folder."""
        limit = self._kit.config().max_subagent_depth
        if self.depth >= limit:
            raise ToolError(
                f"Agents at depth {self.depth} cannot start agents (the limit is {limit}). Do the task yourself.",
                kind="permission_denied",
            )
        self._check_capacity()
        agent_id = self._kit.tasks.new_id()  # before the await: ids are in the order of the calls
        environment = await self._environment(task.working_dir)
        self._check_capacity()  # checked again: other subagents may have started during the await
        before = _finished_turns(self.parent.history.turns) if task.with_history else ()
        profile = self._profile(task)
        changed = SubagentChanged(
            agent_id=agent_id,
            status="running",
            call_id=call_id,
            task=task.task,
            model=profile.model,
            working_dir=environment.working_directory(),
            agent_kind=task.kind,
        )
        agent = self._make_agent(changed, environment, before, task, profile)
        scoped = environment is not self.parent.environment
        where = (SCOPE.format(folder=environment.working_directory()),) if scoped else ()
        described = (OF_KIND.format(kind=task.kind, text=task.instructions),) if task.instructions else ()
        self._begin(agent, "\n\n".join((BEGINNING, *where, *described, f"The task:\n\n{task.task}")))
        return _state(agent)

    def send(self, agent_id: str, message: str) -> AgentState:
        agent = self._find_agent(agent_id)
        if agent.is_running:
            self._steer(agent, message)
            return _state(agent)
        if agent.changed.reason == "closed":
            raise ToolError(f"Agent {agent_id} was closed. Start another agent.", kind="validation")
        self._check_capacity()
        agent.changed = replace(agent.changed, status="running", reason="", output="", task=message)
        self._begin(agent, message)
        return _state(agent)

    async def wait(self, agent_id: str) -> AgentState:
        agent = self._find_agent(agent_id)
        while agent.is_running and not self.inbox.steers:
            await self._news.wait()
        agent.is_known = not agent.is_running
        return _state(agent)

    async def close(self, agent_id: str) -> AgentState:
        agent = self._find_agent(agent_id)
        if not agent.is_running:
            agent.is_known = True
            return _state(agent)
        self._cancel(agent, "closed")
        while agent in self._list_running():
            await self._news.wait()
        return _state(agent)

    # --- actions of the user

    def steer_running(self, agent_id: str, message: str) -> SteerId | None:
        """Send a message to a running subagent, or to one of its subagents. None: no such subagent runs."""
        for agent in self._list_running():
            if agent.changed.agent_id == agent_id:
                return self._steer(agent, message)
            if steer_id := agent.agents.steer_running(agent_id, message):
                return steer_id
        return None

    def stop_running(self, agent_id: str) -> bool:
        """Stop a running subagent with its subagents. Its parent goes on, and learns of it. False: it does not run."""
        for agent in self._list_running():
            if agent.changed.agent_id == agent_id:
                agent.agents.stop()
                self._cancel(agent, "stopped")
                return True
            if agent.agents.stop_running(agent_id):
                return True
        return False

    # --- actions of the parent's loop

    async def reports(self) -> Sequence[str]:
        while self._list_running() and not self.inbox.steers:
            await self._news.wait()
        if self._list_running():
            return ()
        return self._take_reports(list(self._agents.values()))

    def take_interrupted(self) -> Sequence[str]:
        return self._take_reports([it for it in self._agents.values() if it.stop == "interrupted"])

    def stop(self) -> None:
        """Cancel the running subagents and the subagents that these started. This method does not wait until
        their commands end.
        """
        for agent in self._list_running():
            agent.agents.stop()
            self._cancel(agent, "interrupted")

    def count_killed(self, agent_id: str, received_chars: int) -> None:
        """Count the model call of a subagent that ran when an earlier process of this session ended."""
        kit, context, profile = self._kit, self.parent.context, self.parent.profile
        for stored in (it for it in kit.restored if it.changed.agent_id == agent_id):
            sent = context.measure(kit.config(), ConversationHistory(stored.turns)).total
            counter = CallCounter(
                AgentEmitter(kit.emitter, agent_id), kit.shared.spending, context, kit.config
            )
            counter.count_cut(profile, sent, received_chars, by=self._price_list(stored))

    async def end_all(self) -> None:
        if not self._list_running():
            return
        self.stop()
        # This waits at most as long as ending commands takes: SIGTERM, 2 s, SIGKILL.
        with anyio.CancelScope(shield=True):
            while self._list_running():
                await self._news.wait()

    # --- internal

    def _take_reports(self, agents: Sequence[_Agent]) -> Sequence[str]:
        """Return the reports of those agents that have ended and whose reports the parent has not received."""
        ended = [agent for agent in agents if not agent.is_known and not agent.is_running]
        for agent in ended:
            agent.is_known = True
        return [_report(agent) for agent in ended]

    def describe_running(self) -> Sequence[str]:
        return [f"{it.changed.agent_id}: {one_line(it.changed.task)}" for it in self._list_running()]

    def _list_running(self) -> Sequence[_Agent]:
        return [agent for agent in self._agents.values() if agent.is_running]

    def _check_capacity(self) -> None:
        most = self._kit.config().max_subagents
        if len(self._list_running()) >= most:
            raise ToolError(
                f"{most} agents are already running: wait until one has ended, or close one.", kind="limit"
            )

    def _find_agent(self, agent_id: str) -> _Agent:
        if agent := self._agents.get(agent_id):
            return agent
        if stored := self._stored.get(agent_id):
            return self._revived(stored)
        known = ", ".join((*self._stored, *self._agents)) or "there are none"
        raise ToolError(f"No agent {agent_id!r}. Known: {known}.", kind="unknown_agent")

    def _revived(self, stored: RestoredAgent) -> _Agent:
        """Restore a subagent that ended in an earlier process, so that it can report or receive another
        message. A subagent with an agent kind is not restored, because the file that defines the kind and
        limits its tools may have changed.
        """
        if stored.changed.agent_kind:
            ended = f"Agent {stored.changed.agent_id} of the kind {stored.changed.agent_kind} has ended."
            raise ToolError(f"{ended} Start another agent.", kind="validation")
        folder, base = stored.changed.working_dir, self.parent.environment
        environment = base if folder == base.working_directory() else ScopedEnvironment(base, folder)
        agent = self._make_agent(
            stored.changed, environment, stored.turns, AgentTask(""), self._stored_profile(stored)
        )
        agent.is_known = True
        return agent

    def _profile(self, task: AgentTask) -> ProviderProfile:
        """Return the profile of a new subagent: of the model in its task, of the model configured for
        subagents, or of its parent.

        A subagent that gets its parent's history uses the parent's model, because that provider has the
        history in its cache.
        """
        parent = self.parent.profile
        if task.model:
            return self._kit.profile_for(parent.id, task.model)
        if task.with_history:
            return parent
        return model_for(self._kit.ports.models, "subagents", parent, self._emitter)

    def _stored_profile(self, stored: RestoredAgent) -> ProviderProfile:
        parent, model = self.parent.profile, stored.changed.model
        answers = [turn for turn in stored.turns if isinstance(turn, AssistantTurn) and turn.model == model]
        provider = answers[-1].provider if answers else parent.id
        if (provider, model) == (parent.id, parent.model):
            return parent
        return self._kit.profile_for(provider, model)

    def _price_list(self, stored: RestoredAgent) -> ProviderProfile:
        """Return the profile with the price of a stored subagent's model; unknown if its provider is gone."""
        try:
            return self._stored_profile(stored)
        except Exception:  # the program or the user no longer has this provider
            logger.info("the price of %s is unknown", stored.changed.model, exc_info=True)
            return replace(self.parent.profile, model=stored.changed.model, cost_usd=_unknown_price)

    async def _environment(self, folder: str) -> ExecutionEnvironment:
        base = self.parent.environment
        path = absolute(folder or ".", base)
        root = base.working_directory()
        if path == root:
            return base
        if not path.startswith(root.rstrip("\\/") + ("\\" if base.platform() == "windows" else "/")):
            raise ToolError(f"working_dir must lie in {root}.", kind="validation")
        await base.list_directory(path)  # raises if the folder does not exist
        return ScopedEnvironment(base, path)

    def _make_agent(
        self,
        changed: SubagentChanged,
        environment: ExecutionEnvironment,
        turns: Sequence[Turn],
        task: AgentTask,
        profile: ProviderProfile,
    ) -> _Agent:
        """Build a subagent with its own loop, inbox and tools, without starting it."""
        kit, agent_id, inbox = self._kit, changed.agent_id, Inbox()
        parent = self.parent.profile
        leaf = self.depth + 1 >= kit.config().max_subagent_depth

        def fitted(model: ProviderProfile) -> ProviderProfile:
            """Return a copy of the profile `model` that has only the tools of this subagent."""
            registry = (parent if model.id == parent.id else model).registry.copy()
            # With the parent's history, the tools must not change, so that the provider's prompt cache stays
            # valid.
            if not task.with_history:
                registry.remove_kinds((*LEFT_OUT, *(STARTS_AGENTS if leaf else ())))
            if task.keeps_tool:
                registry.restrict(task.keeps_tool)
            return replace(model, registry=registry)

        is_parents = profile is parent
        profile = fitted(profile)
        calls_before = sum(isinstance(turn, AssistantTurn) for turn in turns) if task.with_history else 0
        agents = Subagents(kit, inbox, agent_id, self.depth + 1)
        ports = replace(
            kit.ports,
            environment=environment,
            approver=AgentApprover(kit.ports.approver, agent_id),
            recorder=AgentRecorder(kit.ports.recorder, agent_id),
            hooks=AgentHooks(kit.ports.hooks, agent_id),
            documents=AgentDocuments(kit.ports.documents, agent_id),
            notices=NoNotices(),
            questions=NoQuestions(),
            models=_AgentModels(kit.ports.models, fitted),
        )
        loop = agents.parent = TurnLoop(
            ports,
            AgentEmitter(kit.emitter, agent_id),
            kit.shared,
            agents,
            config=lambda: _limited(kit.config(), task.max_turns, calls_before),
            # A subagent with the parent's model gets the parent's system prompt unchanged, although the subagent
            # lacks some of the parent's tools.
            restored=RestoredSession(
                tuple(turns), 0, prefix=self.parent.context.prefix_for(profile) if is_parents else Prefix()
            ),
            profile=profile,
        )
        agent = _Agent(changed, loop, inbox, agents, profile, calls_before)
        self._agents[agent_id] = agent
        return agent

    def _begin(self, agent: _Agent, message: str) -> None:
        agent.stop, agent.is_known, agent.scope = "", False, anyio.CancelScope()
        agent.agents.stopped_by = BY_CLOSING
        self._kit.tasks.start(self._run_message, agent)
        agent.loop.record(UserTurn(message, self._kit.ports.clock.now()))
        self._emitter.emit(agent.changed)

    async def _run_message(self, agent: _Agent) -> None:
        """Run one message to a subagent in its own task and emit how the subagent ended. Raises only
        cancellation.
        """
        ended: SubagentChanged | None = None
        try:
            with agent.scope:
                ended = await self._worked_off(agent)
        finally:
            output = _failed(agent, "It was stopped.")
            ended = ended or replace(agent.changed, status="failed", reason="interrupted", output=output)
            if agent.stop and ended.reason == "interrupted":
                ended = replace(ended, reason=agent.stop)
            turns_used = agent.loop.history.model_calls - agent.calls_before
            agent.changed = replace(ended, turns_used=turns_used)
            agent.is_known = agent.is_known or agent.stop == "closed"
            self._emitter.emit(agent.changed)
            self.nudge()

    async def _worked_off(self, agent: _Agent) -> SubagentChanged:
        """Run one message to a subagent. Returns the event about its end; an exception becomes the reason
        "error".
        """
        changed = agent.changed
        try:
            finish = await agent.loop.run(agent.profile)
        except LlmError as error:
            return replace(changed, status="failed", reason="error", output=_failed(agent, str(error)))
        except Exception as error:  # boundary of a task: a failing subagent must not end its session
            logger.exception("%s of session %s failed", changed.agent_id, self._kit.shared.session_id)
            output = _failed(agent, f"{type(error).__name__}: {error}")
            return replace(changed, status="failed", reason="error", output=output)
        said = _last_text(agent.loop.history.turns)
        match finish.reason:
            case "completed":
                return replace(changed, status="completed", output=said)
            case "limit" | "refused" | "error" as reason:
                return replace(changed, status="failed", reason=reason, output=said or finish.message)
            case _:
                return replace(changed, status="failed", reason="interrupted", output=said)

    def _steer(self, agent: _Agent, message: str) -> SteerId:
        steer = QueuedSteer(SteerId(new_id("st")), message)
        agent.inbox.add_steer(steer)
        AgentEmitter(self._kit.emitter, agent.changed.agent_id).emit(SteeringQueued(steer.id, message))
        agent.agents.nudge()
        return steer.id

    def _cancel(self, agent: _Agent, why: Stop) -> None:
        agent.stop = agent.stop or why
        agent.agents.stopped_by = STOPPED_BY[agent.stop]
        agent.scope.cancel()


def _finished_turns(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the parent's history without its last answer, because the calls of that answer have no results
    yet.
    """
    last = max((i for i, turn in enumerate(turns) if isinstance(turn, AssistantTurn)), default=len(turns))
    return turns[:last]


def _failed(agent: _Agent, why: str) -> str:
    """Return why a subagent failed, with the last text that it wrote before: it may have found something."""
    said = _last_text(agent.loop.history.turns)
    return f"{why}\n\nBefore that it wrote:\n\n{said}" if said else why


def _unknown_price(usage: Usage) -> None:
    return None


def _last_text(turns: Sequence[Turn]) -> str:
    texts = (turn.content for turn in reversed(turns) if isinstance(turn, AssistantTurn))
    return next((text for text in texts if text), "")


def _state(agent: _Agent) -> AgentState:
    changed = agent.changed
    turns_used = agent.loop.history.model_calls - agent.calls_before
    reason = REASONS.get(changed.reason, changed.reason)
    return AgentState(changed.agent_id, changed.status, reason, changed.output, turns_used)


def _report(agent: _Agent) -> str:
    state = _state(agent)
    output = truncate_chars(state.output, REPORT_MAX_CHARS) or no_report(state)
    why = f", {state.reason}" if state.reason else ""
    return f"[Agent {state.id} has ended: {state.status}{why}, turns used: {state.turns_used}. Its result:]\n\n{output}"


def _limited(config: SessionConfig, of_task: int, calls_before: int) -> SessionConfig:
    """Return the configuration of a subagent: the lower limit of its task and of the user applies, if any."""
    most = min(filter(None, (of_task, config.max_subagent_turns)), default=0)
    return replace(config, max_turns=calls_before + most if most else 0, is_subagent=True)
