"""Compaction of the conversation: automatic, on the user's request, or after the provider refused a request
as too long.

The history stays unchanged until the summary arrives. Then a single CompactionTurn in the history replaces the
earlier turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias

from agent_ls.environments.errors import EnvError
from agent_ls.llm.errors import ContextLengthError, LlmError
from agent_ls.llm.requests import Usage
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.compaction import (
    DROP_TO_SHARE,
    CompactionCut,
    UsersWords,
    content,
    find_cut,
    transcript,
    users_words,
    words_room,
)
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.summary_call import call_for_summary, summary_request
from agent_ls.loop.emission import Emitter
from agent_ls.loop.errors import CompactionOffError, NothingToCompactError
from agent_ls.loop.events.types import CacheLost, Compaction, PlanChanged, Warning
from agent_ls.loop.ids import SessionId, new_id
from agent_ls.loop.model.other_models import (
    CODE,
    Fallbacks,
    ModelUsage,
    model_for,
    reason,
    title,
)
from agent_ls.loop.ports import Ports
from agent_ls.loop.turns import CompactionTurn, Turn
from agent_ls.profiles.base import ProviderProfile
from agent_ls.tools.summary import one_line

Trigger: TypeAlias = Literal["auto", "request", "overflow"]

TRANSCRIPT_SHARE = (
    # share of the window for the transcript; the rest is for the prompt, the answer, and the error of the
    # estimate
    0.5
)
# used if the provider refuses a transcript of size TRANSCRIPT_SHARE because its window is smaller than documented
TIGHT_SHARE = 0.15
TRANSCRIPT_MIN_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class WindowFill:
    """The fill level of the context window.

    `tokens` estimates the next request, `window_tokens` is the size of the window (0: unknown), and
    `chars_per_token` the estimated number of code points per token.
    """

    tokens: int
    window_tokens: int
    chars_per_token: float


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """A compaction that the user requested. `instructions` say what the summary should focus on."""

    compaction_id: str
    instructions: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class _Job:
    """The settings and the history of one compaction."""

    config: SessionConfig
    fill: WindowFill
    found: CompactionCut
    request: CompactionRequest


class AgentConversation(Protocol):
    """Interface to the conversation of one agent. A revert to an earlier turn replaces the `history` object by
    a new one.
    """

    @property
    def history(self) -> ConversationHistory: ...

    @property
    def plan(self) -> PlanChanged | None:
        """The latest plan of the model; None if there is none."""
        ...

    @property
    def running_agents(self) -> Sequence[str]:
        """A line for each subagent that runs, with its id."""
        ...

    def record(self, turn: Turn) -> None:
        """Add a turn to history and log."""
        ...

    def count_cut(self, by: ProviderProfile, sent_tokens: int, received_chars: int) -> None:
        """Count a call of the model `by` that was cut."""
        ...


class Compactor:
    """Performs compactions of one agent's conversation."""

    def __init__(
        self, session_id: SessionId, ports: Ports, emitter: Emitter, conversation: AgentConversation
    ) -> None:
        self._session_id = session_id
        self._ports = ports
        self._emitter = emitter
        self._conversation = conversation
        self._request: CompactionRequest | None = None
        self._last_tokens = 0

    @property
    def is_wanted(self) -> bool:
        """Whether the user has requested a compaction that has not started."""
        return self._request is not None

    def ask(self, config: SessionConfig, instructions: str, client_key: str) -> str:
        """Store a request for compaction and return its id. Until the compaction starts, further requests
        return the same id.

        Raises:
            CompactionOffError, NothingToCompactError.
        """
        if not config.context.may_compact:
            raise CompactionOffError
        if find_cut(self._conversation.history, config.context, DROP_TO_SHARE) is None:
            raise NothingToCompactError(len(self._conversation.history.visible))
        if self._request is None:
            self._request = CompactionRequest(new_id("k"), instructions.strip(), client_key)
        return self._request.compaction_id

    def forget(self) -> None:
        """Drop a requested compaction that has not started."""
        self._request = None

    def trigger(self, config: SessionConfig, fill: WindowFill) -> Trigger | None:
        """Return why to compact before the next model call, None if not needed."""
        if self._request:
            return "request"
        limit = fill.window_tokens * config.context.compact_at_percent / 100
        if config.context.compaction != "auto" or not 0 < limit < fill.tokens:
            return None
        # If a compaction did not help, try again only after the conversation has grown, not before each
        # call.
        return "auto" if fill.tokens > self._last_tokens * 1.1 else None

    async def compact(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        measure: Callable[[], WindowFill],
        trigger: Trigger,
    ) -> ModelUsage | None:
        """Compact the conversation. Returns the usage of the summary call, or None if nothing was done.

        If the compaction failed, an event has reported the reason. If there was nothing to remove, no event
        is emitted.
        """
        request, self._request = self._request or CompactionRequest(new_id("k")), None
        before, strategy = measure(), config.context.strategy
        self._last_tokens = before.tokens
        found = find_cut(self._conversation.history, config.context, _to_go(before))
        if found is None or strategy == "full":
            return None
        started = Compaction(
            compaction_id=request.compaction_id,
            status="started",
            trigger=trigger,
            strategy=strategy,
            tokens_before=before.tokens,
            removed=len(found.removed),
            kept=found.kept,
            message="Compacting the conversation.",
            client_key=request.client_key,
        )
        self._emitter.emit(started)
        room = words_room(before.window_tokens, before.chars_per_token)
        said = users_words(self._conversation.history, found.removed, room)
        try:
            turn, by = await self._turn(profile, _Job(config, before, found, request), said)
        except LlmError as error:
            self._emitter.emit(
                replace(started, status="failed", message=f"The conversation could not be compacted. {error}")
            )
            return None
        except BaseException:  # interrupted: the conversation is unchanged
            self._emitter.emit(replace(started, status="interrupted", message="Compaction was stopped."))
            raise
        self._conversation.record(turn)
        after = self._last_tokens = measure().tokens
        words = f"{len(found.removed)} earlier messages {_BECAME[strategy]}. {said.describe_losses()}".strip()
        self._emitter.emit(
            replace(started, status="done", tokens_after=after, summary=turn.summary, message=words)
        )
        lost = "The conversation was shortened."
        self._emitter.emit(CacheLost("compaction", lost, after))
        return ModelUsage(turn.usage, by)

    async def _turn(
        self, profile: ProviderProfile, job: _Job, said: UsersWords
    ) -> tuple[CompactionTurn, ProviderProfile]:
        """Return the compaction turn, and the profile of the model that wrote its summary."""
        before = self._conversation.history.compaction
        summary, usage = before.summary if before else "", Usage()
        if job.config.context.strategy == "summarize":
            summary, usage, profile = await self._summarize(profile, job)
        kept = [*await self._still_running(), *self._ports.pinned()]
        words = content(said, summary=summary, plan=self._conversation.plan, pinned=kept)
        turn = CompactionTurn(
            words, job.found.kept, self._ports.clock.now(), summary, usage, job.request.compaction_id
        )
        return turn, profile

    async def _still_running(self) -> Sequence[str]:
        """Return the list of subagents and background processes, whose ids only removed turns may name."""
        agents = [f"- the agent {line}" for line in self._conversation.running_agents]
        try:
            processes = await self._ports.environment.list_processes()
        except EnvError:
            processes = ()
        commands = [
            f"- the process {it.id}: {one_line(it.command)}" for it in processes if it.exit_code is None
        ]
        return ["\n".join(["# What still runs", *agents, *commands])] if agents or commands else []

    async def _summarize(self, profile: ProviderProfile, job: _Job) -> tuple[str, Usage, ProviderProfile]:
        """Ask for a summary: first the model configured for summaries, then the session's model, then its
        fallbacks.

        Returns the summary, its usage, and the model that wrote it.
        """
        fallbacks = Fallbacks(self._ports.models, self._emitter)
        by = model_for(self._ports.models, "compaction", profile, self._emitter)
        is_chosen = title(by) != title(profile)
        while True:
            try:
                return *await self._summarize_to_fit(by, job), by
            except LlmError as error:
                if not is_chosen:
                    by = fallbacks.choose_next(by, error)
                    continue
                words = f"{title(by)} wrote no summary: {reason(error)}. {title(profile)} writes it instead."
                self._emitter.emit(Warning(words, CODE))
                by, is_chosen = profile, False

    async def _summarize_to_fit(self, profile: ProviderProfile, job: _Job) -> tuple[str, Usage]:
        try:
            return await self._summary(profile, job, TRANSCRIPT_SHARE)
        except ContextLengthError:
            return await self._summary(profile, job, TIGHT_SHARE)

    async def _summary(self, profile: ProviderProfile, job: _Job, share: float) -> tuple[str, Usage]:
        window = profile.context_window_tokens or job.fill.window_tokens or job.fill.tokens
        room = int(window * share * job.fill.chars_per_token)
        text = transcript(
            job.found.removed, self._conversation.history.compaction, max(room, TRANSCRIPT_MIN_CHARS)
        )
        sent_tokens = round(len(text) / job.fill.chars_per_token)
        return await call_for_summary(
            self._ports.client,
            self._ports.clock,
            self._emitter,
            summary_request(profile, text, job.request.instructions, self._session_id),
            job.config.retry,
            streaming=profile.supports_streaming,
            on_cut=partial(self._conversation.count_cut, profile, sent_tokens),
        )


_BECAME = {
    "summarize": "became a summary",
    "dropOldest": "are no longer sent to the model",
    "slidingWindow": "are no longer sent to the model",
}


def _to_go(fill: WindowFill) -> float:
    """Return the share of the conversation that `dropOldest` removes.

    The share is chosen so that half of the window stays in use. If the conversation fills less than half of
    the window, half of the conversation is removed.
    """
    if fill.tokens <= fill.window_tokens * DROP_TO_SHARE or not fill.window_tokens:
        return DROP_TO_SHARE
    return 1 - fill.window_tokens * DROP_TO_SHARE / fill.tokens
