"""Cache encoded histories, so that each message of a session is encoded only once.

Each request of a session sends the whole history: the previous history and new messages. So the encoded form of
messages that can no longer change is cached. A cached history is found by comparing messages, not by session. A
history that was edited matches no cached history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from agent_ls.llm.messages import Message, Role
from agent_ls.llm.providers.pairing import pair_tool_results
from agent_ls.llm.requests import Request

MAX_CACHED_HISTORIES = (
    # number of cached histories; if more sessions work at the same time, some encode their messages again
    4
)


class WireHistory(Protocol):
    """Messages encoded for one wire format. Pass messages that `pair_tool_results` has returned."""

    def add(self, message: Message) -> None:
        """Encode and append a message.

        Raises:
            ConfigurationError: the message contains something that this provider does not accept.
        """
        ...

    def copy(self) -> Self: ...


H = TypeVar("H", bound=WireHistory)


@dataclass(frozen=True, slots=True)
class _CachedHistory(Generic[H]):
    model: str
    messages: tuple[Message, ...]
    history: H


class HistoryCache(Generic[H]):
    """The cached histories of one codec. `begin` creates an empty history for the named model."""

    def __init__(self, begin: Callable[[str], H]) -> None:
        self._begin = begin
        self._histories: list[_CachedHistory[H]] = []

    def encode(self, request: Request) -> H:
        """Return the encoded history of `request`.

        Raises:
            ConfigurationError: a message contains something that this provider does not accept.
        """
        at = _count_final(request.messages)
        settled, rest = request.messages[:at], request.messages[at:]
        known = self._longest(request.model, settled)
        history = self._extend(known.history, settled[len(known.messages) :])
        self._keep(known, _CachedHistory(request.model, settled, history))
        return self._extend(history, rest)

    def _longest(self, model: str, settled: tuple[Message, ...]) -> _CachedHistory[H]:
        """Return the longest cached history that is a prefix of the messages `settled`.

        Unchanged messages are the same objects, so the comparison is fast.
        """
        fitting = (
            kept for kept in self._histories if kept.model == model and _continues(settled, kept.messages)
        )
        empty = _CachedHistory(model, (), self._begin(model))
        return max(fitting, key=lambda kept: len(kept.messages), default=empty)

    def _keep(self, known: _CachedHistory[H], now: _CachedHistory[H]) -> None:
        others = [kept for kept in self._histories if kept is not known]
        self._histories = [*others[-MAX_CACHED_HISTORIES + 1 :], now]

    def _extend(self, history: H, messages: Sequence[Message]) -> H:
        longer = history.copy()
        for message in pair_tool_results(messages):
            longer.add(message)
        return longer


def _count_final(messages: Sequence[Message]) -> int:
    """Return the number of messages that can no longer change: the messages before the last answer.

    The calls of the last answer may still get results.
    """
    last = (at for at in range(len(messages) - 1, -1, -1) if messages[at].role is Role.ASSISTANT)
    return next(last, 0)


def _continues(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Return whether `messages` equal `known`, or begin with `known` followed by an answer."""
    following = messages[len(known) : len(known) + 1]
    return messages[: len(known)] == known and all(next_.role is Role.ASSISTANT for next_ in following)
