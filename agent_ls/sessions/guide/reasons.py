"""Pure: the reason of each call, in one line: the model's words before it, else the user's message and the step."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_ls.loop.events.types import (
    AssistantTextEnd,
    Envelope,
    SteeringInjected,
    ToolCallEnd,
    ToolCallStart,
    UserInput,
)
from agent_ls.patterns import regex
from agent_ls.text import to_display_line

REASON_CHARS = 120
MESSAGE_CHARS = 60

_LINE_MARKS = regex(r"\A(?:[#>*+-]+\s+)+")
_PAIRED_MARKS = regex(r"(\*\*|`+)(?=\S)(.+?)\1")


@dataclass(slots=True)
class _Talk:
    """The last words of an agent, and the step of its turn."""

    turn_id: str = ""
    said: str = ""
    step: int = 0


@dataclass(slots=True)
class Reasons:
    """Follows the events of a session. `of` maps each call to its reason."""

    of: dict[str, str] = field(default_factory=dict)
    _asked: str = ""
    _talks: dict[str, _Talk] = field(default_factory=dict)

    def follow(self, envelope: Envelope) -> None:
        talk = self._talks.setdefault(envelope.agent_id, _Talk())
        if talk.turn_id != envelope.turn_id:
            self._talks[envelope.agent_id] = talk = _Talk(envelope.turn_id)
        match envelope.event:
            case UserInput(text=text) if not envelope.agent_id:
                self._asked = text
            case SteeringInjected(text=text) if not envelope.agent_id:
                self._asked = text
            case AssistantTextEnd(text=text):
                talk.said = last_line(text)
            case ToolCallStart(call_id=call_id, index=index):
                talk.step += index == 0
                self.of[call_id] = talk.said or self._asked_at(talk.step)
            case ToolCallEnd():
                talk.said = ""
            case _:
                pass

    def _asked_at(self, step: int) -> str:
        asked = to_display_line(self._asked, MESSAGE_CHARS)
        return (
            f"for \N{LEFT DOUBLE QUOTATION MARK}{asked}\N{RIGHT DOUBLE QUOTATION MARK}, step {step}"
            if asked
            else ""
        )


def last_line(text: str) -> str:
    """Return the last line of a text of the model, without its marks and as one row."""
    last = next((line for line in reversed(text.splitlines()) if any(map(str.isalnum, line))), "")
    words = _PAIRED_MARKS.sub(r"\2", _LINE_MARKS.sub("", last.strip(), count=1))
    return to_display_line(words.rstrip(": "), REASON_CHARS)
