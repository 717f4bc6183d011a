"""Pure: write the events of a session as text that only grows.

`TextWriter` knows the streamed parts of the model's text, blank lines, and which events one line describes. Its two
styles write calls, changes and approvals: `headless.transcript` for a terminal, `server.chat.transcript` for a chat
document.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from agent_ls.display.words import INTERRUPTED, Remark, plan_step, remark
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    Error,
    PlanChanged,
    SessionEvent,
)
from agent_ls.text import strip_controls


class TextWriter(ABC):
    """`feed` returns the text to append for an event."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.newlines = 2
        """Number of newlines at the end of the written text: two make a blank line."""
        self.streamed: set[str] = set()
        """Ids of the texts that are open and have been written in part."""

    def feed(self, envelope: Envelope) -> str:
        self._pieces = []
        match envelope.event:
            case Delta(kind="assistant_text_delta", part_id=part, text=text):
                self.streamed.add(part)
                self.write_prose(strip_controls(text))
            case AssistantTextStart():
                self.gap()
            case AssistantTextEnd(part_id=part, text=text, interrupted=interrupted):
                self.write_prose("" if part in self.streamed else strip_controls(text))
                self.end_prose(INTERRUPTED if interrupted else "")
                self.streamed.discard(part)
            case PlanChanged(items=items):
                for item in items:
                    self.note(Remark(plan_step(item)))
            case Error(message=message, hint=hint):
                self.write_error(message, hint)
            case event:
                if found := remark(event):
                    self.note(found)
                else:
                    self.write_event(event, envelope)
        return "".join(self._pieces)

    @abstractmethod
    def write_event(self, event: SessionEvent, envelope: Envelope) -> None:
        """Write an event that is neither a text of the model nor one line."""

    @abstractmethod
    def note(self, line: Remark) -> None: ...

    @abstractmethod
    def write_error(self, message: str, hint: str) -> None: ...

    def write_prose(self, text: str) -> None:
        """Write a piece of the model's text."""
        self.write(text)

    def end_prose(self, mark: str) -> None:
        self.write(mark)
        self.fresh_line()

    def write(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            bare = text.rstrip("\n")
            ended = len(text) - len(bare)
            self.newlines = ended if bare else min(self.newlines + ended, 2)

    def fresh_line(self) -> None:
        """End the current line if it has text."""
        self.write("\n" if self.newlines == 0 else "")

    def gap(self) -> None:
        """Write what is missing for a blank line."""
        self.write("\n" * max(2 - self.newlines, 0))
