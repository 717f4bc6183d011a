"""Pure: render a session's events as the text of a chat document: the model's text, and a line for each action."""

from __future__ import annotations

import re

from agent_ls.display.requests import describe_request
from agent_ls.display.words import END_WORDS, Remark, sentence, tally
from agent_ls.display.writer import TextWriter
from agent_ls.loop.calls.approval import asks_for_trust
from agent_ls.loop.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    Delta,
    Envelope,
    FileChange,
    HunkStateChanged,
    ProcessingEnd,
    QuestionAsked,
    SessionEvent,
    ToolCallEnd,
)
from agent_ls.patterns import regex
from agent_ls.server.chat.chat_text import escape_headings, may_be_heading
from agent_ls.server.chat.words import diffs, one_line
from agent_ls.text import format_code_block, strip_controls

_SHOWN_ENDS = ("interrupted", "limit", "aborted", "refused")
HOW = "The agent does this only if you allow it: in the prompt, with a code action here, or with `agentLs.approve`."
"""The document only grows, so this line must still be true after the user's decision."""
HOW_TRUST = "Answer in the prompt, with a code action here, or with `agent-ls trust add` in the folder."
PROPOSED = "the changes are made when you keep them there with a code action."
ANSWER = "Write the answer below and save."
ANSWER_OR_NUMBER = "Write the answer, or its number, below and save."
_NOTE_CHARS = 500

_CALL = regex(r"> [✓✗] .*\n?", re.MULTILINE)


def read_answer_text(answer: str) -> str:
    """Return the text of an answer in a chat document without the lines that list its tool calls."""
    return _CALL.sub("", answer).strip()


class ChatTranscript(TextWriter):
    """Renders events; `feed` returns the text to append. Lines that could become a heading are held until they are
    complete.
    """

    def __init__(self) -> None:
        super().__init__()
        self._held = ""
        self._is_note = False
        self._missed: frozenset[str] = frozenset()
        self._proposed: set[str] = set()

    def set_missed_starts(self, parts: frozenset[str]) -> None:
        """Set the ids (`parts`) of streamed texts whose first events were not passed to `feed`.

        Each of these texts is rendered as a whole when it ends.
        """
        self._missed = parts

    def feed(self, envelope: Envelope) -> str:
        event = envelope.event
        return "" if isinstance(event, Delta) and event.part_id in self._missed else super().feed(envelope)

    def write_event(self, event: SessionEvent, envelope: Envelope) -> None:
        match event:
            case ToolCallEnd(name=name, summary=summary, is_error=failed):
                self._note(f"{'✗' if failed else '✓'} {name}: {one_line(summary)}")
            case FileChange(path=path, action=done, added=added, removed=removed):
                self._note(f"{done} `{one_line(path)}` {tally(added, removed)}")
            case ApprovalRequested() as request:
                self._request(request)
            case ApprovalResolved(decision=decision, reason=reason):
                why = f": {one_line(reason)}" if reason else ""
                self._note("Allowed." if decision == "allow" else f"Denied{why}")
            case HunkStateChanged() as change:
                self._proposes(change)
            case QuestionAsked() as asked:
                self._question(asked)
            case ProcessingEnd(reason=reason):
                if reason in _SHOWN_ENDS:
                    self._note(sentence(END_WORDS[reason]))
                self.fresh_line()
                self._begin_anew()
            case _:
                pass

    def note(self, line: Remark) -> None:
        self._note(one_line(line.text, _NOTE_CHARS))

    def write_error(self, message: str, hint: str) -> None:
        self._note(f"**Error.** {one_line(sentence(message.rstrip('.')), _NOTE_CHARS)}")
        if hint:
            self._note(one_line(hint, _NOTE_CHARS))

    def _proposes(self, change: HunkStateChanged) -> None:
        """Tell the user about newly proposed changes. The turn waits until the user has decided about them."""
        new = {hunk.id for hunk in change.hunks if hunk.state == "proposed"} - self._proposed
        self._proposed |= new
        if new:
            self._note(f"**Proposed changes** in `{one_line(change.path)}`: {PROPOSED}")

    def _request(self, request: ApprovalRequested) -> None:
        what, details = describe_request(request)
        self._note(f"**Asks for approval.** The agent wants to {one_line(what, 1_000)}")
        self._block(f"{format_code_block(details.rstrip(), 'sh')}\n" if details else "")
        self._block(diffs(request))
        if request.reason:
            self._note(one_line(request.reason, 1_000))
        self._note(HOW_TRUST if asks_for_trust(request) else HOW)

    def _question(self, asked: QuestionAsked) -> None:
        self._note(f"**A question for you.** {ANSWER_OR_NUMBER if asked.choices else ANSWER}")
        self._block(f"{strip_controls(asked.question).strip()}\n")
        self._block(
            "".join(f"{at}. {one_line(choice, 500)}\n" for at, choice in enumerate(asked.choices, start=1))
        )
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget how the last text ended, because the next text starts below a new heading."""
        self.newlines, self._is_note = 2, False

    def write_prose(self, text: str) -> None:
        whole, newline, last = (self._held + text).rpartition("\n")
        self._held = last if may_be_heading(last) else ""
        text = whole + newline + ("" if self._held else last)
        self._is_note = self._is_note and not text
        self._words(text)

    def end_prose(self, mark: str) -> None:
        self._release_held()
        super().end_prose(mark)

    def _release_held(self) -> None:
        held, self._held = self._held, ""
        self._words(held)

    def _words(self, text: str) -> None:
        """Escape headings in the text. The rest of a line that was already begun cannot be a heading."""
        rest, newline, following = text.partition("\n") if not self.newlines else ("", "", text)
        self.write(rest + newline + escape_headings(following))

    def _block(self, text: str) -> None:
        """Write lines with a blank line before them; nothing for ""."""
        if text:
            self.gap()
            self.write(escape_headings(text))
            self._is_note = False

    def _note(self, text: str) -> None:
        self._release_held()
        if self._is_note:
            self.fresh_line()
        else:
            self.gap()
        self._is_note = True
        self.write(f"> {text}\n")
