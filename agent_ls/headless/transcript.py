"""Pure: format events as a transcript for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent_ls.display.requests import describe_request
from agent_ls.display.words import END_WORDS, Remark, seconds, tally
from agent_ls.display.writer import TextWriter
from agent_ls.headless.style import PLAIN, Style, colour_text, indented, painted_diff, shorten_lines
from agent_ls.loop.events.editor import SaveRequested
from agent_ls.loop.events.types import (
    DECIDED_BY_POLICY,
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    EndReason,
    Envelope,
    FileChange,
    PlanChanged,
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    ReasoningEnd,
    SessionEvent,
    SessionStart,
    SteeringInjected,
    SteeringQueued,
    ToolCallEnd,
    ToolCallStart,
    UsageReport,
    UserInput,
)
from agent_ls.patterns import regex
from agent_ls.text import plural, reveal_controls, strip_controls

OUTPUT_LINES = (
    24  # maximum number of printed lines of a command's output; the session has the complete output
)
DIFF_LINES = 80  # maximum number of lines of a change that needs no approval
SLOW_MS = 1_000  # calls that took less time are printed without their duration

_REMARKS = regex(r"\n?(Exit code: .*\n?|Duration: \d+ ms\n?)+$")

_SCOPES = {"once": "once", "turn": "for this turn", "session": "for this session"}
_DECIDERS = {"terminal": " by you", "headless": "", "interrupt": "", "policy": "", "timeout": ""}

# Events that are not printed for subagents, because a subagent's text is for the agent that started it.
_FOR_ITS_PARENT = (
    Delta, AssistantTextStart, AssistantTextEnd, ReasoningEnd, PlanChanged, SteeringQueued, SteeringInjected
)  # fmt: skip


@dataclass(slots=True)
class _Turn:
    """The counters of a turn that its last transcript line displays."""

    began: str = ""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)  # added and removed lines of each
    input_tokens: int = 0
    output_tokens: int = 0


class Transcript(TextWriter):
    """Formats events one by one. Keeps track of the current output line and of the running calls.

    `feed` returns the text to print.
    """

    def __init__(self, style: Style = PLAIN, *, show_output: bool = True) -> None:
        super().__init__()
        self._style = style
        self._show_output = show_output
        self._folder = ""
        self._is_walkthrough = False
        self._summaries: dict[str, str] = {}
        self._asked: dict[str, ApprovalRequested] = {}
        self._shown_diffs: set[tuple[str, str]] = set()
        self._refused: set[str] = set()
        self._last_call = ""
        self._turn = _Turn()

    def feed(self, envelope: Envelope) -> str:
        event = envelope.event
        text = "" if envelope.agent_id and isinstance(event, _FOR_ITS_PARENT) else super().feed(envelope)
        if not isinstance(event, Delta):
            self._last_call = getattr(event, "call_id", "") or self._last_call
        return text

    def write_event(self, event: SessionEvent, envelope: Envelope) -> None:
        match event:
            case ReasoningEnd(text=text) if text.strip():
                self.gap()
                self._dim(f"(thinks) {text.strip()}")
            case ToolCallStart() as start:
                self._call_start(start)
            case ToolCallEnd() as end:
                self._call_end(end)
            case ApprovalRequested() as request:
                self._print_request(request)
            case ApprovalResolved() as resolved:
                self._print_decision(resolved)
            case FileChange() as change:
                self._print_change(change)
            case UsageReport(call=usage):
                self._turn.input_tokens += usage.input_tokens
                self._turn.output_tokens += usage.output_tokens
            case ProcessingEnd(reason=reason):
                self._closing(reason, envelope.timestamp)
            case UserInput(text=text):
                self._turn = _Turn(began=envelope.timestamp)
                self._says(text, "")
            case SteeringQueued(text=text):
                self._says(text, "  (while it works)")
            case SessionStart() as start:
                self._session(start)
            case QuestionAsked(question=question, choices=choices):
                self.gap()
                self.write(f"  {self._style.yellow}? {strip_controls(question)}{self._style.end}\n")
                self.write(indented((f"- {strip_controls(choice)}" for choice in choices), "    "))
            case QuestionAnswered(answers=answers, declined=declined):
                self._dim("not answered" if declined else f"answered: {'; '.join(answers)}")
            case SaveRequested(paths=paths):
                self.fresh_line()
                self._dim(f"the editor was asked to save {', '.join(map(self._name, paths))}")
            case _:
                pass

    def note(self, line: Remark) -> None:
        if line.kind == "facts":
            self.gap()
        else:
            self.fresh_line()
        style = self._style
        if line.kind == "warn":
            self.write(indented([f"{style.yellow}! {strip_controls(line.text)}{style.end}"], "  "))
        else:
            self._dim(line.text)

    def write_error(self, message: str, hint: str) -> None:
        self.gap()
        self.write(f"{self._style.red}error: {strip_controls(message)}{self._style.end}\n")
        self.write(indented([strip_controls(hint)], "  ") if hint else "")

    # -- sessions and messages

    def _session(self, start: SessionStart) -> None:
        self._folder = start.working_directory
        self._is_walkthrough = start.is_walkthrough
        model = (
            "walkthrough (a script, no model)"
            if start.is_walkthrough
            else f"{start.provider} / {start.model}"
        )
        self._dim(f"{model} in {start.working_directory}{', resumed' if start.resumed else ''}")

    def _says(self, text: str, remark: str) -> None:
        self.gap()
        first, *others = strip_controls(text).rstrip().split("\n")
        style = self._style
        self.write(f"{style.bold}\u276f {first}{style.end}{colour_text(remark, style.dim, style)}\n")
        self.write(indented((f"{style.bold}{line}{style.end}" for line in others), "  "))
        self.write("\n")

    def _closing(self, reason: EndReason, timestamp: str) -> None:
        turn = self._turn
        parts = [END_WORDS[reason]]
        if turn.files:
            added, removed = map(sum, zip(*turn.files.values(), strict=True))
            parts.append(f"{plural(len(turn.files), 'file')} changed {tally(added, removed)}")
        if turn.began:
            parts.append(seconds(_between_ms(turn.began, timestamp)))
        if turn.output_tokens and not self._is_walkthrough:
            parts.append(f"{turn.input_tokens:,} tokens in, {turn.output_tokens:,} out")
        self.gap()
        self._dim(" \u00b7 ".join(parts))

    # -- calls

    def _call_start(self, start: ToolCallStart) -> None:
        if self._last_call in self._summaries and self.newlines == 1:
            self.fresh_line()  # the line above is a call in the same answer of the model
        else:
            self.gap()
        self._summaries[start.call_id] = start.summary
        style = self._style
        self.write(
            f"{style.cyan}\u25b8 {strip_controls(start.name)}{style.end} {strip_controls(start.summary)}".rstrip()
            + "\n"
        )

    def _call_end(self, end: ToolCallEnd) -> None:
        summary = self._summaries.pop(end.call_id, "")
        if end.call_id in self._refused:
            return
        self.fresh_line()
        whose = (
            ""
            if self._last_call == end.call_id
            else f"{strip_controls(summary) or strip_controls(end.name)}: "
        )
        style = self._style
        mark = f"{style.red}\u2717" if end.is_error else f"{style.green}\u2713"
        if end.is_error and end.exit_code is None:
            first, *rest = shorten_lines(strip_controls(end.output).strip().split("\n"), OUTPUT_LINES)
            self.write(f"  {mark}{style.end} {whose}{first}\n{indented(rest, '    ')}")
            return
        is_command = end.exit_code is not None
        if self._show_output and is_command:
            lines = _REMARKS.sub("", strip_controls(end.output)).strip("\n").split("\n")
            lines = [f"{style.dim}\u2502 {line}{style.end}" for line in shorten_lines(lines, OUTPUT_LINES)]
            self.write(indented(lines, "  "))
        took = f" \u00b7 {seconds(end.duration_ms)}" if is_command or end.duration_ms >= SLOW_MS else ""
        self.write(
            f"  {mark}{style.end} {whose}{strip_controls(end.summary)}{colour_text(took, style.dim, style)}\n"
        )

    def _print_change(self, change: FileChange) -> None:
        counts = self._turn.files
        own = counts.pop(change.copy_of, None)
        added, removed = counts.get(change.path, (0, 0))
        counts[change.path] = added + change.added, removed + change.removed
        is_shown = (change.call_id, change.diff) in self._shown_diffs or own == (change.added, change.removed)
        if not is_shown:
            self.fresh_line()
            self.write(indented(shorten_lines([*painted_diff(change.diff, self._style)], DIFF_LINES), "    "))

    # -- approvals

    def _print_request(self, request: ApprovalRequested) -> None:
        """Print the complete effect of a call, then the question whether to approve the call."""
        self._asked[request.request_id] = request
        self.fresh_line()
        self.write(indented(self._effect(request), "    "))
        style = self._style
        question = _question(request)
        self.write(
            f"  {style.yellow}? {question}{style.end}{style.dim} ({strip_controls(request.reason)}){style.end}\n"
        )

    def _effect(self, request: ApprovalRequested) -> Iterator[str]:
        effect = request.effect
        match effect.get("type"):
            case "WriteEffect":
                files = effect["files"]
                for file in files:
                    self._shown_diffs.add((request.call_id, file["diff"]))
                    if len(files) > 1:
                        name = reveal_controls(self._name(file["path"]))
                        yield f"{self._style.bold}{file['action']} {name}{self._style.end}"
                    if file["diff"]:
                        yield from painted_diff(
                            reveal_controls(file["diff"].replace("\r\n", "\n")), self._style
                        )
            case "CommandEffect":
                yield from self._command(effect, request.summary)
            case "ServerEffect":
                yield from describe_request(request).details.split("\n")
            case "CallEffect":
                mark = "" if effect.get("server") else "$ "
                yield from (f"{mark}{line}" for line in describe_request(request).details.split("\n"))
            case _:
                pass

    def _command(self, effect: dict[str, Any], summary: str) -> Iterator[str]:
        """Yield the details of a command that the line for its call does not contain.

        For example the whole command, its folder and its environment variables.
        """
        command: str = effect["command"]
        if process := effect.get("inputOf"):
            yield from (f"> {line}" for line in reveal_controls(command).removesuffix("\n").split("\n"))
            yield f"as input for the background process {reveal_controls(process)}"
            return
        if command != summary or reveal_controls(command) != command:
            yield from (f"$ {line}" for line in reveal_controls(command).split("\n"))
        if effect["workingDir"] != self._folder:
            yield f"in {reveal_controls(self._name(effect['workingDir']))}"
        yield from (
            f"with {reveal_controls(name)}={reveal_controls(value)}" for name, value in effect["envVars"]
        )
        if effect["background"]:
            yield "in the background, until it is ended"

    def _print_decision(self, resolved: ApprovalResolved) -> None:
        if resolved.decided_by == DECIDED_BY_POLICY:  # its own decision follows
            return
        request = self._asked.pop(resolved.request_id, None)
        style = self._style
        by = _DECIDERS.get(
            resolved.decided_by, f" by {strip_controls(resolved.decided_by)}" if resolved.decided_by else ""
        )
        because = f": {strip_controls(resolved.reason)}" if resolved.reason else ""
        self.fresh_line()
        if resolved.decision == "allow":
            scope = _SCOPES.get(resolved.scope, "")
            instead = f", and run instead: {strip_controls(resolved.command)}" if resolved.command else ""
            self.write(f"  {style.green}\u2713{style.end} allowed {scope}{by}{because}{instead}\n")
            return
        if request:
            self._refused.add(request.call_id)
        self.write(f"  {style.red}\u2717{style.end} not allowed{by}{because}\n")

    def _name(self, path: str) -> str:
        """Return a path for display. A path below the session's folder is made relative to the folder."""
        below = path.startswith(f"{self._folder}/") if self._folder else False
        return path[len(self._folder) + 1 :] if below else path

    def _dim(self, text: str) -> None:
        style = self._style
        self.write(
            indented((f"{style.dim}{line}{style.end}" for line in strip_controls(text).split("\n")), "  ")
        )


def _question(request: ApprovalRequested) -> str:
    effect = request.effect
    match effect.get("type"):
        case "WriteEffect":
            return "Allow the agent to make this change?"
        case "CommandEffect":
            return f"Allow the agent to {'type this input' if effect.get('inputOf') else 'run this command'}?"
        case "TrustEffect":
            return f"Do you trust {reveal_controls(effect['folder'])}?"
        case _:
            return f"Allow the agent to {describe_request(request).phrase}?"


def _between_ms(start: str, end: str) -> float:
    """Return the milliseconds between two ISO 8601 times."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000
