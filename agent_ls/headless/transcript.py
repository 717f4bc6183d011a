"""Events as a transcript for people. Pure: an envelope in, text out.

What a model, a file or a command says is untrusted: control characters are taken out, so that no output can
move the cursor or retitle the terminal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.loop.events import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    Error,
    FileChange,
    LoopDetection,
    ProcessingEnd,
    ReasoningEnd,
    Retry,
    SessionStart,
    SteeringInjected,
    SteeringQueued,
    ToolCallEnd,
    ToolCallStart,
    TurnLimit,
    UserInput,
    Warning,
)
from agent_ls.text import without_escapes

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Without escape sequences and control characters, but for newline and tab."""
    return _CONTROL.sub("", without_escapes(text))


@dataclass(frozen=True, slots=True)
class Style:
    """Start and end of each kind of emphasis; all empty where the output is no terminal."""

    bold: str = ""
    dim: str = ""
    red: str = ""
    green: str = ""
    cyan: str = ""
    end: str = ""


PLAIN = Style()
COLOURED = Style("\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m")


class Transcript:
    """Remembers only where it stands in a line. `feed` gives the text to print for one event."""

    def __init__(self, style: Style = PLAIN, *, show_output: bool = True) -> None:
        self._style = style
        self._show_output = show_output
        self._streamed: set[str] = set()

    def feed(self, envelope: Envelope) -> str:
        style = self._style
        match envelope.event:
            case SessionStart(provider=provider, model=model, working_directory=folder):
                return self._note(f"{provider} / {model} in {folder}")
            case UserInput(text=text):
                return f"\n{style.bold}\u276f {plain(text)}{style.end}\n"
            case SteeringQueued(text=text):
                return f"\n{style.bold}\u276f (steering) {plain(text)}{style.end}\n"
            case SteeringInjected():
                return self._note("the model is told at its next call")
            case AssistantTextStart():
                return "\n"
            case Delta(kind="assistant_text_delta", part_id=part, text=text):
                self._streamed.add(part)
                return plain(text)
            case AssistantTextEnd(part_id=part, text=text, interrupted=interrupted):
                rest = "" if part in self._streamed else plain(text)
                self._streamed.discard(part)
                return rest + (" \u2026 (interrupted)" if interrupted else "") + "\n"
            case ReasoningEnd(text=text) if text.strip():
                return self._note(plain(text))
            case ToolCallStart(name=name, summary=summary):
                return f"\n{style.cyan}\u25b8 {name}{style.end} {plain(summary)}\n"
            case ToolCallEnd():
                return self._call_end(envelope.event)
            case FileChange(diff=diff):
                return self._diff(diff)
            case ApprovalRequested(reason=reason):
                return f"{style.bold}? may it run{style.end} ({plain(reason)})\n"
            case ApprovalResolved(decision=decision, decided_by=by, reason=reason):
                word = "allowed" if decision == "allow" else "refused"
                return f"{style.bold}  {word}{style.end} by {plain(by)}{': ' + plain(reason) if reason else ''}\n"
            case Retry(attempt=attempt, delay_ms=delay_ms, message=message):
                return self._note(f"{plain(message)} Trying again in {delay_ms / 1000:.1f} s ({attempt}).")
            case Warning(message=message) | LoopDetection(message=message) | TurnLimit(message=message):
                return self._note(plain(message))
            case Error(message=message, hint=hint):
                advice = f"  {plain(hint)}\n" if hint else ""
                return f"\n{style.red}error: {plain(message)}{style.end}\n{advice}"
            case ProcessingEnd(reason=reason):
                return "" if reason == "completed" else self._note(f"the turn ended: {reason}")
            case _:
                return ""

    def _note(self, text: str) -> str:
        lines = "\n".join(f"  {line}" for line in text.strip().split("\n"))
        return f"{self._style.dim}{lines}{self._style.end}\n"

    def _call_end(self, end: ToolCallEnd) -> str:
        style = self._style
        mark = f"{style.red}\u2717" if end.is_error else f"{style.green}\u2713"
        shown = ""
        if self._show_output and (end.is_error or end.name == "shell"):
            lines = plain(end.output).strip("\n").split("\n")
            kept = (
                lines
                if len(lines) <= 24
                else [*lines[:12], f"\u2026 {len(lines) - 24} lines \u2026", *lines[-12:]]
            )
            shown = "".join(f"  {style.dim}\u2502 {line}{style.end}\n" for line in kept)
        return f"{shown}  {mark}{style.end} {plain(end.summary)}\n"

    def _diff(self, diff: str) -> str:
        style, out = self._style, []
        for line in plain(diff).rstrip("\n").split("\n"):
            colour = style.green if line.startswith("+") else style.red if line.startswith("-") else style.dim
            out.append(f"  {colour}{line}{style.end}\n")
        return "".join(out)
