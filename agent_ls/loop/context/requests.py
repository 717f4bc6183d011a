"""Build the content of a session's requests: keep the prefix stable, measure the size, and compact in time.

Events are emitted when the provider's cache of the prefix is lost, and when the context window fills up.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.read_once import files_read_once
from agent_ls.llm.requests import Usage
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.context.compactor import AgentConversation, Compactor, Trigger, WindowFill
from agent_ls.loop.context.history import ConversationHistory
from agent_ls.loop.context.history_search import SEARCH_HISTORY, search_history_tool
from agent_ls.loop.context.prefix import LostBy, Prefix, digest_of, tools_chars
from agent_ls.loop.context.size import ContextMeter
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import CacheLost, ContextParts, Warning
from agent_ls.loop.ids import SessionId
from agent_ls.loop.model.other_models import ModelUsage
from agent_ls.loop.ports import Ports
from agent_ls.loop.restored import RestoredSession
from agent_ls.loop.seams import PromptSource
from agent_ls.profiles.base import ProviderProfile

# The loss of a cache with fewer tokens is not reported. The value is the size of the smallest prompt that every
# provider caches, plus a few rounds.
CACHED_TOKENS = 4_096
_LOST: dict[LostBy, str] = {
    "model": "The model has changed.",
    "tools": "The tools have changed.",
    "documents": "The project's instruction documents have changed.",
    "instructions": "The user's instructions have changed.",
}


class ContextKeeper:
    """Keeps the request prefix stable, measures the context and compacts it in time."""

    def __init__(
        self,
        session_id: SessionId,
        ports: Ports,
        emitter: Emitter,
        conversation: AgentConversation,
        restored: RestoredSession,
    ) -> None:
        self.compactor = Compactor(session_id, ports, emitter, conversation)
        self._emitter = emitter
        self._recorder = ports.recorder
        self._prompts = ports.prompts
        self._environment = ports.environment
        self._conversation = conversation
        self._prefix = replace(restored.prefix, tools_chars=tools_chars(restored.prefix.tools))
        self._meter = ContextMeter(restored.calibration)
        self._cached_tokens = 0

    def prefix_for(self, profile: ProviderProfile) -> Prefix:
        """Return the session's prefix for a subagent: the same prompt, but the tools of `profile`."""
        return replace(self._prefix, tools=profile.tools())

    @property
    def calibration(self) -> float:
        return self._meter.calibration

    def measure(self, config: SessionConfig, history: ConversationHistory | None = None) -> ContextParts:
        """Return the estimated size of the next request, or of one with another `history`, by category."""
        known = self._conversation.history if history is None else history
        return self._meter.measure(self._prefix, known, config.context.chars_per_token)

    async def begin(self, profile: ProviderProfile, config: SessionConfig, *, is_new: bool = True) -> Prefix:
        """Return the prefix of all requests of a turn.

        If `is_new` is False, an earlier process began the requests of the turn, and its prefix is reused.
        """
        self._offer_search(profile)
        before = self._prefix
        if before.text and not is_new:
            return before
        with files_read_once():
            now = await prefix_now(
                self._prompts, profile, self._environment, config.user_instructions, before
            )
        if now is not before:
            self._renew(now, config)
        return now

    def _offer_search(self, profile: ProviderProfile) -> None:
        """Add the tool search_history after part of the conversation was removed.

        The tool is added at the end of the list, so that the cached prefix stays valid.
        """
        was_offered = any(tool.name == SEARCH_HISTORY for tool in self._prefix.tools)
        # A search_history that comes from the parent agent's registry would search the parent's history, so
        # it is replaced.
        is_there = profile.registry.lookup(SEARCH_HISTORY) is not None
        if is_there or was_offered or self._conversation.history.compaction:
            profile.registry.register(search_history_tool(lambda: self._conversation.history))

    def _renew(self, now: Prefix, config: SessionConfig) -> None:
        before, self._prefix = self._prefix, now
        if now.text != before.text:
            self._recorder.prompt(now.text)
        self._recorder.prefix(now)
        if before.text and self._conversation.history.model_calls and (reason := before.find_difference(now)):
            self._cached_tokens = 0
            self._emitter.emit(CacheLost(reason, _LOST[reason], self.measure(config).total))

    # --- before and after a call

    def sending(self, profile: ProviderProfile, config: SessionConfig) -> ContextParts:
        """Return the size of the next request by category; emit a warning if it nearly fills the window."""
        parts = self.measure(config)
        if message := self._meter.maybe_warning(parts.total, profile.context_window_tokens):
            self._emitter.emit(Warning(message, "context"))
        return parts

    def observe(self, sent: ContextParts, usage: Usage, config: SessionConfig) -> None:
        """Compare the size of the sent request with the reported usage, and detect a lost cache."""
        self._meter.observe(sent, usage.input_tokens, config.context.chars_per_token)
        read = usage.cache_read_tokens
        if read is not None and read * 2 < self._cached_tokens:
            words = "The provider has dropped its cache."
            self._emitter.emit(CacheLost("provider", words, usage.input_tokens - read))
        kept = (read or 0) + (usage.cache_write_tokens or 0)
        self._cached_tokens = kept if kept >= CACHED_TOKENS else 0

    # --- compaction

    async def make_room(self, profile: ProviderProfile, config: SessionConfig) -> ModelUsage | None:
        """Compact the conversation if necessary. Returns the usage of the summary call, None if nothing was
        done.
        """
        trigger = self.compactor.trigger(config, self._fill(profile, config))
        if trigger is None:
            return None
        return await self._compact(profile, config, trigger)

    async def make_room_for_refused(
        self, profile: ProviderProfile, config: SessionConfig
    ) -> ModelUsage | None:
        """Compact after the provider refused the conversation as too long.

        Returns the usage of the summary call, None if nothing was done.
        """
        if config.context.compaction != "auto":
            return None
        return await self._compact(profile, config, "overflow")

    async def _compact(
        self, profile: ProviderProfile, config: SessionConfig, trigger: Trigger
    ) -> ModelUsage | None:
        spent = await self.compactor.compact(profile, config, lambda: self._fill(profile, config), trigger)
        if spent:
            self._cached_tokens = 0
        return spent

    def _fill(self, profile: ProviderProfile, config: SessionConfig) -> WindowFill:
        chars_per_token = config.context.chars_per_token / self._meter.calibration
        return WindowFill(self.measure(config).total, profile.context_window_tokens, chars_per_token)


async def prefix_now(
    source: PromptSource,
    profile: ProviderProfile,
    environment: ExecutionEnvironment,
    instructions: str,
    before: Prefix,
) -> Prefix:
    """Return the prefix for a turn. If no source of the prefix has changed since `before` was built, `before`
    itself is returned, so that the provider can use its cache.
    """
    await source.prepare(profile, environment)
    documents = source.documents()
    tools = profile.tools()
    now = Prefix(
        tools=tools,
        provider=profile.id,
        model=profile.model,
        instructions=instructions,
        documents=digest_of(documents),
        documents_chars=len(documents),
        tools_chars=before.tools_chars if tools == before.tools else tools_chars(tools),
    )
    if before.text and before.find_difference(now) is None:
        return before
    return replace(now, text=await source.build(profile, environment, instructions, documents))
