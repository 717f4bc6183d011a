"""Pure: render a session's events as the text of a chat document: the model's text, and a line for each action."""

from __future__ import annotations

import re

from agent_ls.loop.events.origin import Noted
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    Error,
    FileChange,
    HunkStateChanged,
    PlanChanged,
    ProcessingEnd,
    QuestionAsked,
    Retry,
    SteeringInjected,
    ToolCallEnd,
    TurnFacts,
)
from agent_ls.server.chat.chat_text import escape_headings, may_be_heading
from agent_ls.server.chat.words import action, diffs, format_code_block, one_line, strip_controls
from agent_ls.text import join_sentences

_ENDS = {
    "interrupted": "Stopped.",
    "limit": "Stopped at a limit.",
    "aborted": "The session was ended.",
    "refused": "Ended, because the actions of the agent were refused.",
}
HOW = "The agent does this only if you allow it: in the prompt, with a code action here, or with `agentLs.approve`."
"""The document only grows, so this line must still be true after the user's decision."""
PROPOSED = "the changes are made when you keep them there with a code action."
ANSWER = "Write the answer below and save."
ANSWER_OR_NUMBER = "Write the answer, or its number, below and save."
INTERRUPTED = " … (interrupted)"
_PLAN = {"pending": "[ ]", "active": "[>]", "done": "[x]"}


_CALL = re.compile(r"> [✓✗] .*\n?", re.MULTILINE)


def read_answer_text(answer: str) -> str:
    """Return the text of an answer in a chat document without the lines that list its tool calls."""
    return _CALL.sub("", answer).strip()


class ChatTranscript:
    """Renders events; `feed` returns the text to append. Lines that could become a heading are held until they are
    complete.
    """

    def __init__(self) -> None:
        self._newlines = 2
        self._held = ""
        self._is_note = False
        self._streamed: set[str] = set()
        self._missed: frozenset[str] = frozenset()
        self._proposed: set[str] = set()

    def set_missed_starts(self, parts: frozenset[str]) -> None:
        """Set the ids (`parts`) of streamed texts whose first events were not passed to `feed`.

        Each of these texts is rendered as a whole when it ends.
        """
        self._missed = parts

    def feed(self, envelope: Envelope) -> str:
        match envelope.event:
            case Delta(kind="assistant_text_delta", part_id=part, text=text):
                if part in self._missed:
                    return ""
                self._streamed.add(part)
                return self._write_text(strip_controls(text))
            case AssistantTextStart():
                return self._gap()
            case AssistantTextEnd(part_id=part, text=text, interrupted=interrupted):
                rest = "" if part in self._streamed else self._write_text(strip_controls(text))
                return (
                    rest
                    + self._release_held()
                    + self._count_newlines(INTERRUPTED if interrupted else "")
                    + self._line()
                )
            case ToolCallEnd(name=name, summary=summary, is_error=failed):
                return self._note(f"{'✗' if failed else '✓'} {name}: {one_line(summary)}")
            case FileChange(path=path, action=done, added=added, removed=removed):
                return self._note(f"{done} `{one_line(path)}` +{added} −{removed}")
            case ApprovalRequested() as request:
                return self._format_request(request)
            case ApprovalResolved(decision=decision, reason=reason):
                why = f": {one_line(reason)}" if reason else ""
                return self._note("Allowed." if decision == "allow" else f"Denied{why}")
            case HunkStateChanged() as change:
                return self._proposes(change)
            case QuestionAsked() as asked:
                told = self._question(asked)
                self._begin_anew()
                return told
            case PlanChanged(items=items):
                return "".join(self._note(f"{_PLAN[item.status]} {one_line(item.text)}") for item in items)
            case SteeringInjected(text=text):
                return self._note(f"sent to the model: {one_line(text)}")
            case Error(message=message, hint=hint):
                return self._note(f"**Error.** {one_line(join_sentences(message, hint), 500)}")
            case Retry(message=message):
                return self._note(f"{one_line(message, 300)} (trying again)")
            case Noted(message=message):
                return self._note(one_line(message, 500))
            case TurnFacts(text=text):
                return self._note(one_line(text, 500))
            case ProcessingEnd(reason=reason):
                end = self._note(_ENDS[reason]) if reason in _ENDS else self._line()
                self._begin_anew()
                return end
            case _:
                return ""

    def _proposes(self, change: HunkStateChanged) -> str:
        """Return a line that tells the user about newly proposed changes; "" if there are none.

        The turn waits until the user has decided about them.
        """
        new = {hunk.id for hunk in change.hunks if hunk.state == "proposed"} - self._proposed
        self._proposed |= new
        what = f"**Proposed changes** in `{one_line(change.path)}`: {PROPOSED}"
        return self._note(what) if new else ""

    def _format_request(self, request: ApprovalRequested) -> str:
        what, command = action(request)
        body = (format_code_block(command, "sh") if command else "") + diffs(request)
        told = self._note(f"**Asks for approval.** The agent wants to {one_line(what, 1_000)}")
        body = self._gap() + self._count_newlines(escape_headings(body)) if body else ""
        self._is_note = self._is_note and not body
        why = self._note(one_line(request.reason, 1_000)) if request.reason else ""
        return told + body + why + self._note(HOW)

    def _question(self, asked: QuestionAsked) -> str:
        how = ANSWER_OR_NUMBER if asked.choices else ANSWER
        words = escape_headings(strip_controls(asked.question).strip())
        told = self._note(f"**A question for you.** {how}") + self._gap() + self._count_newlines(f"{words}\n")
        self._is_note = False
        choices = [f"{at}. {one_line(choice, 500)}\n" for at, choice in enumerate(asked.choices, start=1)]
        return told + (self._gap() + self._count_newlines("".join(choices)) if choices else "")

    def _begin_anew(self) -> None:
        """Forget how the last text ended, because the next text starts below a new heading."""
        self._newlines, self._is_note = 2, False

    def _write_text(self, text: str) -> str:
        text = self._held + text
        whole, newline, last = text.rpartition("\n")
        if may_be_heading(last):
            self._held = last
            text = whole + newline
        else:
            self._held = ""
        self._is_note = self._is_note and not text
        return self._words(text)

    def _release_held(self) -> str:
        held, self._held = self._held, ""
        return self._words(held)

    def _words(self, text: str) -> str:
        """Escape headings in the text. The rest of a line that was already begun cannot be a heading."""
        rest, newline, following = text.partition("\n") if not self._newlines else ("", "", text)
        return self._count_newlines(rest + newline + escape_headings(following))

    def _note(self, text: str) -> str:
        before = self._release_held()
        before += self._line() if self._is_note else self._gap()
        self._is_note = True
        return before + self._count_newlines(f"> {text}\n")

    def _gap(self) -> str:
        return self._count_newlines("\n" * max(0, 2 - self._newlines))

    def _line(self) -> str:
        return self._count_newlines("\n" if not self._newlines else "")

    def _count_newlines(self, text: str) -> str:
        if text:
            ended = len(text) - len(text.rstrip("\n"))
            self._newlines = ended if text.strip("\n") else self._newlines + ended
        return text
