"""ADAPTER NoticeBoard: what the model is to be told at the next safe boundary, in the order in which it came."""

from __future__ import annotations

from collections.abc import Sequence


class Notices:
    def __init__(self) -> None:
        self._waiting: list[str] = []

    def post(self, text: str) -> None:
        self._waiting.append(text)

    def take(self) -> Sequence[str]:
        taken, self._waiting = self._waiting, []
        return taken
