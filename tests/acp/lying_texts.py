"""A client with a typing user that reports false results: stale or wrong texts, and lost, partial or late writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

TYPED = 0x4E00
"""The first character that the user types; each key types the next one."""


@dataclass
class LyingTexts:
    """Implements ClientTexts over files on disk. `answered` is the text of the last answer to a read, by path.

    `lost` collects the typed characters that a write removed although the last answer to a read contained them.
    """

    random: Random
    lies: float
    can_write: bool = True
    buffers: dict[str, str] = field(default_factory=dict)
    answered: dict[str, str | None] = field(default_factory=dict)
    late: list[tuple[str, str]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    typed: int = 0

    def type_into(self, path: str) -> None:
        """Simulate a user who types somewhere in the buffer of this file and does not save."""
        text = self.buffers.get(path, Path(path).read_bytes().decode())
        at = self.random.randrange(len(text) + 1)
        self.buffers[path] = text[:at] + chr(TYPED + self.typed) + text[at:]
        self.typed += 1

    def current(self, path: str) -> str:
        return self.buffers.get(path, Path(path).read_bytes().decode())

    async def read(self, path: str) -> str | None:
        self._catch_up()
        answered = self._answer(path)
        self.answered[path] = answered
        return answered

    def _answer(self, path: str) -> str | None:
        try:
            text = self.current(path)
        except OSError:
            return self.random.choice(("", None))
        if self.random.random() >= self.lies:
            return text
        match self.random.choice(("none", "empty", "ends", "stale", "half", "wrong")):
            case "none":
                return None
            case "empty":
                return ""
            case "ends":
                return text.replace("\r\n", "\n").removesuffix("\n")
            case "stale":
                return self.answered.get(path)
            case "half":
                return text[: len(text) // 2]
            case _:
                return f"wrong {text}"

    async def write(self, path: str, text: str) -> bool:
        answered = self.answered.get(path)
        for mark in typed_in(answered or ""):
            if mark not in text:
                self.lost.append(mark)
        if self.random.random() >= self.lies:
            self._store(path, text, is_saved=self.random.random() < 0.8)
            return True
        match self.random.choice(("lost", "half", "late", "refused", "formatted", "unsaved")):
            case "lost":
                return True
            case "half":
                self._store(path, text[: len(text) // 2], is_saved=True)
                return True
            case "late":
                self.late.append((path, text))
                return False
            case "refused":
                return False
            case "formatted":
                self._store(path, text.replace("  ", " ") + "\n# formatted\n", is_saved=True)
                return True
            case _:
                self._store(path, text, is_saved=False)
                return True

    def _catch_up(self) -> None:
        if self.late and self.random.random() < 0.5:
            path, text = self.late.pop()
            if typed_in(self.current(path)) <= typed_in(text):
                self._store(path, text, is_saved=True)

    def _store(self, path: str, text: str, *, is_saved: bool) -> None:
        if is_saved:
            Path(path).write_bytes(text.encode())
            self.buffers.pop(path, None)
        else:
            self.buffers[path] = text


def typed_in(text: str) -> set[str]:
    return {char for char in text if TYPED <= ord(char) < TYPED + 0x1000}
