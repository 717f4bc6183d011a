"""Histories in a wire's own form: what was encoded for one request is not encoded again for the next.

A session sends its whole history with every request, and each time it is the last one's with something appended.
So the part that can no longer change is kept as encoded, for as long as requests go on from it. It is found by its
messages, not by a session's name: a history that was changed is simply another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from agent_ls.llm.messages import Message, Role
from agent_ls.llm.providers.pairing import paired
from agent_ls.llm.requests import Request

KEPT_HISTORIES = 4  # of sessions that work at the same time; more of them cost time, nothing else


class History(Protocol):
    """Paired messages as one wire wants them; how, is the codec's affair."""

    def add(self, message: Message) -> None:
        """
        Raises:
            ConfigurationError: the message holds what this provider cannot take.
        """
        ...

    def copy(self) -> Self: ...


H = TypeVar("H", bound=History)


@dataclass(frozen=True, slots=True)
class _Kept(Generic[H]):
    model: str
    messages: tuple[Message, ...]
    history: H


class Histories(Generic[H]):
    """`begin` makes an empty history for a model."""

    def __init__(self, begin: Callable[[str], H]) -> None:
        self._begin = begin
        self._kept: list[_Kept[H]] = []

    def of(self, request: Request) -> H:
        """The history that `request` sends.

        Raises:
            ConfigurationError: as History.add.
        """
        at = _settled(request.messages)
        settled, rest = request.messages[:at], request.messages[at:]
        known = self._longest(request.model, settled)
        history = self._extended(known.history, settled[len(known.messages) :])
        self._keep(known, _Kept(request.model, settled, history))
        return self._extended(history, rest)

    def _longest(self, model: str, settled: tuple[Message, ...]) -> _Kept[H]:
        """The longest that these messages go on from. Mostly they are the same objects: then this costs nothing."""
        fitting = (kept for kept in self._kept if kept.model == model and _goes_on(settled, kept.messages))
        empty = _Kept(model, (), self._begin(model))
        return max(fitting, key=lambda kept: len(kept.messages), default=empty)

    def _keep(self, known: _Kept[H], now: _Kept[H]) -> None:
        others = [kept for kept in self._kept if kept is not known]
        self._kept = [*others[-KEPT_HISTORIES + 1 :], now]

    def _extended(self, history: H, messages: Sequence[Message]) -> H:
        longer = history.copy()
        for message in paired(messages):
            longer.add(message)
        return longer


def _settled(messages: Sequence[Message]) -> int:
    """How many of them nothing that follows can change: those before the last answer, whose calls may still get
    their results."""
    last = (at for at in range(len(messages) - 1, -1, -1) if messages[at].role is Role.ASSISTANT)
    return next(last, 0)


def _goes_on(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Whether `messages` are `known` and what follows it, beginning with an answer or nothing."""
    following = messages[len(known) : len(known) + 1]
    return messages[: len(known)] == known and all(next_.role is Role.ASSISTANT for next_ in following)
