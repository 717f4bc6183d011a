"""Makes room in the context window: by itself, on request, or when the provider has refused (L13, R1).

Until the summary is there nothing changes; then one turn in the history says all (loop/history.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from agent_ls.llm.errors import ContextLengthError, LlmError
from agent_ls.llm.requests import Usage
from agent_ls.loop.compaction import DROP_TO_SHARE, Cut, content, cut, transcript
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.emission import Voice
from agent_ls.loop.errors import CompactionOffError, NothingToCompactError
from agent_ls.loop.events import CacheLost, Compaction, PlanChanged
from agent_ls.loop.history import History
from agent_ls.loop.ids import new_id
from agent_ls.loop.seams import Clock, ModelClient
from agent_ls.loop.summary_call import summary_request, summed_up
from agent_ls.loop.turns import CompactionTurn, Turn
from agent_ls.profiles.base import ProviderProfile

Trigger: TypeAlias = Literal["auto", "request", "overflow"]

TRANSCRIPT_SHARE = 0.5  # of the window: the rest is for the prompt, the answer, and the error of our estimate
TIGHT_SHARE = 0.15  # when even that was refused: the window is smaller than we were told
TRANSCRIPT_MIN_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Fill:
    """How full the window is: what the next call will about send, what fits (0: not known), and how many code points a
    token is about.
    """

    tokens: int
    window_tokens: int
    chars_per_token: float


@dataclass(frozen=True, slots=True)
class Wish:
    """A compaction that the user has asked for; `instructions` say what the summary is to dwell on."""

    compaction_id: str
    instructions: str = ""
    client_key: str = ""


class Compactor:
    """`record` puts a turn into the history and the log; `pinned` tells what must not be forgotten besides."""

    def __init__(
        self,
        *,
        client: ModelClient,
        clock: Clock,
        hub: Voice,
        history: Callable[[], History],
        record: Callable[[Turn], None],
        plan: Callable[[], PlanChanged | None],
        pinned: Callable[[], Sequence[str]],
        cache_key: str,
    ) -> None:
        self._client = client
        self._clock = clock
        self._hub = hub
        self._history = history
        self._record = record
        self._plan = plan
        self._pinned = pinned
        self._cache_key = cache_key
        self._wish: Wish | None = None
        self._last_tokens = 0

    @property
    def is_wanted(self) -> bool:
        """The user has asked for it, and it has not begun."""
        return self._wish is not None

    def ask(self, config: SessionConfig, instructions: str, client_key: str) -> str:
        """Takes the wish down; its id. A second one, before the first has begun, is the same.

        Raises:
            CompactionOffError, NothingToCompactError.
        """
        if not config.context.may_compact:
            raise CompactionOffError
        if cut(self._history(), config.context, DROP_TO_SHARE) is None:
            raise NothingToCompactError(len(self._history().visible))
        if self._wish is None:
            self._wish = Wish(new_id("k"), instructions.strip(), client_key)
        return self._wish.compaction_id

    def forget(self) -> None:
        """What was asked for and has not begun is not done any more."""
        self._wish = None

    def trigger(self, config: SessionConfig, fill: Fill) -> Trigger | None:
        """Why room is to be made before the next call; None: it is not."""
        if self._wish:
            return "request"
        limit = fill.window_tokens * config.context.compact_at_percent / 100
        if config.context.compaction != "auto" or not 0 < limit < fill.tokens:
            return None
        # What has not helped is not tried at each call, but when the conversation has grown again.
        return "auto" if fill.tokens > self._last_tokens * 1.1 else None

    async def compact(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        measure: Callable[[], Fill],
        trigger: Trigger,
    ) -> Usage | None:
        """What it cost. None: nothing was done, and an event has said why, unless there was nothing to do."""
        wish, self._wish = self._wish or Wish(new_id("k")), None
        before, strategy = measure(), config.context.strategy
        self._last_tokens = before.tokens
        found = cut(self._history(), config.context, _to_go(before))
        if found is None or strategy == "full":
            return None
        told = Compaction(
            compaction_id=wish.compaction_id,
            status="started",
            trigger=trigger,
            strategy=strategy,
            tokens_before=before.tokens,
            removed=len(found.removed),
            kept=found.kept,
            message="Making room in the conversation.",
            client_key=wish.client_key,
        )
        self._hub.emit(told)
        try:
            turn = await self._turn(profile, config, before, found, wish)
        except LlmError as error:
            self._hub.emit(replace(told, status="failed", message=f"No room could be made. {error}"))
            return None
        except BaseException:  # stopped: the conversation is as it was
            self._hub.emit(replace(told, status="interrupted", message="Making room was stopped."))
            raise
        self._record(turn)
        after = self._last_tokens = measure().tokens
        words = f"{len(found.removed)} earlier messages {_BECAME[strategy]}."
        self._hub.emit(replace(told, status="done", tokens_after=after, summary=turn.summary, message=words))
        lost = "The conversation was made shorter."
        self._hub.emit(CacheLost("compaction", lost, after))
        return turn.usage

    async def _turn(
        self, profile: ProviderProfile, config: SessionConfig, fill: Fill, found: Cut, wish: Wish
    ) -> CompactionTurn:
        before = self._history().compaction
        summary, usage = before.summary if before else "", Usage()
        if config.context.strategy == "summarize":
            try:
                summary, usage = await self._summary(profile, config, fill, found, wish, TRANSCRIPT_SHARE)
            except ContextLengthError:
                summary, usage = await self._summary(profile, config, fill, found, wish, TIGHT_SHARE)
        words = content(
            self._history(), found.removed, summary=summary, plan=self._plan(), pinned=self._pinned()
        )
        return CompactionTurn(words, found.kept, self._clock.now(), summary, usage, wish.compaction_id)

    async def _summary(
        self,
        profile: ProviderProfile,
        config: SessionConfig,
        fill: Fill,
        found: Cut,
        wish: Wish,
        share: float,
    ) -> tuple[str, Usage]:
        room = int((fill.window_tokens or fill.tokens) * share * fill.chars_per_token)
        told = transcript(found.removed, self._history().compaction, max(room, TRANSCRIPT_MIN_CHARS))
        return await summed_up(
            self._client,
            self._clock,
            self._hub,
            summary_request(profile, told, wish.instructions, self._cache_key),
            config.retry,
            streaming=profile.supports_streaming,
        )


_BECAME = {
    "summarize": "became a summary",
    "dropOldest": "are no longer sent to the model",
    "slidingWindow": "are no longer sent to the model",
}


def _to_go(fill: Fill) -> float:
    """The share of the conversation that goes where the oldest messages go: down to half of the window, and half of
    the conversation where that fits already.
    """
    if fill.tokens <= fill.window_tokens * DROP_TO_SHARE or not fill.window_tokens:
        return DROP_TO_SHARE
    return 1 - fill.window_tokens * DROP_TO_SHARE / fill.tokens
