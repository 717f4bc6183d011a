"""Write a growing answer into a chat document, while the user may type in it. Each edit is checked against
the document's current text.

User text is never overwritten: if the answer is no longer in the document as it was written, the rest is written under
a new heading at the end of the document.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio

from agent_ls.environments.base import Attribution
from agent_ls.environments.editor_host import LineEdit, OpenDocument
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.server.chat.chat_text import (
    YOU,
    Region,
    append_answer,
    heading,
    insert_notice,
    make_opening,
    read_below,
    read_chat,
)
from agent_ls.server.chat.last_turn import has_answer, split_answer
from agent_ls.server.editor.host import LspEditorHost

log = logging.getLogger(__name__)

FLUSH_S = 0.2
"""Time between two edits. Each edit is an undo step, and some editors take half a second to report an edit.
"""

TRIES = 8  # attempts of one edit; each may fail because the user types
CLOSE = f"\n{YOU}\n"
HELD = (
    "This editor accepts edits only as the result of a command: run the code action 'Show the answer' to "
    "write the answer into the chat."
)
ATTRIBUTION = Attribution(label="agent-ls: the answer")


@dataclass(frozen=True, slots=True)
class _UnconfirmedEdit:
    """An edit that the editor may or may not have applied. `text` is the text that the edit adds. `region` is
    the answer including this text. `version` is the document's version before the edit.
    """

    version: int
    region: Region
    text: str


class ChatWriter:
    """Writes text into the document at `path`. `write` collects text; `run` writes it. `refused` is called
    with the reason of a failure.
    """

    def __init__(
        self,
        host: LspEditorHost,
        path: str,
        session_id: str,
        refused: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._host = host
        self._path = path
        self._session_id = session_id
        self._refused = refused
        self._sleep = sleep
        self._region: Region | None = None
        self._waiting = self._message = self._notices = ""
        self._unconfirmed_notice: int | None = None
        """The document's version before an edit with a notice that the editor may or may not have applied."""
        self._unconfirmed: _UnconfirmedEdit | None = None
        self._is_held = self._has_reported = self._begins_new_answer = False
        self.has_written = False
        """The document has a heading that names the session."""
        self._wake = anyio.Event()
        self._has_flushed = anyio.Event()

    @property
    def is_held(self) -> bool:
        """Whether collected text waits until the user runs a command, because the editor accepts edits only
        after a command.
        """
        return self._is_held and bool(self._waiting or self._notices)

    @property
    def is_behind(self) -> bool:
        """Whether part of the answer is not in the document yet."""
        return bool(self._waiting)

    def retry(self) -> None:
        """Retry writing the collected text, because the user has run a command."""
        if self._is_held:
            self._is_held = False
            self._wake.set()

    def continue_answer(self, message: str, answer: str) -> bool:
        """Write the part of the agent's answer (second argument) that the document does not have yet.

        The document must end with a part of this answer, or with the message `message` without an answer. Otherwise
        nothing is written, and the result is False.
        """
        document = self._host.open_document(self._path)
        chat = read_chat(document.text) if document else None
        if document is None or chat is None:
            return False
        marker = heading(chat.session_id, chat.count)
        below = read_below(document.text, marker)
        if chat.is_answer_last and below is not None:
            written, rest = split_answer(below, answer)
            self._region = Region(marker, written)
            self.write(rest)
            return True
        if self.lacks_answer(message, answer):
            self.write(answer)
            return True
        return False

    def lacks_answer(self, message: str, answer: str) -> bool:
        """Return whether the document ends with the message `message` and has no part of its answer."""
        document = self._host.open_document(self._path)
        chat = read_chat(document.text) if document else None
        if document is None or chat is None or not chat.message or not message.startswith(chat.message):
            return False
        below = read_below(document.text, heading(chat.session_id, chat.count))
        return not has_answer(below or "", answer)

    def write(self, text: str) -> None:
        if text:
            self._waiting += text
            if not self._is_held:
                self._wake.set()

    def write_notice(self, text: str) -> None:
        """Write text that belongs to no turn. It is written above the user's next message, because text below an
        answer's heading is never sent to the model.
        """
        if notice := text.strip("\n"):
            self._notices += f"\n{notice}" if self._notices else notice
            if not self._is_held:
                self._wake.set()

    def set_message(self, message: str) -> None:
        """Set the message below which the next answer is written."""
        self._message = message

    def begin_new_answer(self) -> None:
        """Write the following text under a new heading, because the user has added a message."""
        self._begins_new_answer = True

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            await self._flush()
            flushed, self._has_flushed = self._has_flushed, anyio.Event()
            flushed.set()
            await self._sleep(FLUSH_S)

    async def wait_until_written(self) -> None:
        """Wait until the collected text is in the document. Returns at once if the document is closed, or if
        the editor takes edits only after a command.
        """
        while self._waiting and not self._is_held and self._host.open_document(self._path):
            await self._has_flushed.wait()

    async def _flush(self) -> None:
        if self._is_held:
            return
        if not self._is_last_edit_confirmed():
            self._wake.set()  # try later; until then text is collected
            return
        await self._flush_notices()
        for _ in range(TRIES):
            more = _cut_at_close(self._waiting)
            document = self._host.open_document(self._path)
            if document is None or not more:
                return  # the document is closed; the session has the text for the next opening
            if self._begins_new_answer:  # checked only here, because an edit may have been in flight before
                self._region, self._begins_new_answer = None, False
            region = self._region
            edits = append_answer(document.text, region, more) if region else None
            if region is None or edits is None:
                region = Region(heading(self._session_id, read_chat(document.text).count + 1), "\n")
                edits = make_opening(
                    document.text, Region(region.marker, region.written + more), self._message
                )
            region = Region(region.marker, region.written + more)
            outcome = await self._try_edit(document, edits)
            if outcome == "stale":
                continue
            if outcome == "unknown":
                self._unconfirmed = _UnconfirmedEdit(document.version, region, more)
                self._wake.set()
            elif outcome == "applied":
                self._note_written(region, more)
            return
        self._wake.set()  # the user types without a pause: try later

    async def _flush_notices(self) -> None:
        """Write the notices, unless the end of an answer has to be written first."""
        if not self._notices:
            return
        for _ in range(TRIES):
            document = self._host.open_document(self._path)
            if document is None or self._is_notice_in_flight(document):
                return
            chat, notices = read_chat(document.text), self._notices
            if not chat.session_id and not self.has_written:  # the first answer begins with the notices
                self._waiting, self._notices = f"\n{notices}\n{self._waiting}", ""
                return
            # The user has removed the heading below the last answer.
            if chat.is_answer_last and not self._waiting and not self._region:
                self._waiting, self._notices = f"\n{notices}\n{CLOSE}", ""
                return
            # A sent message must keep its line until its answer is written, because only the line distinguishes
            # it from a new message.
            is_unanswered = bool(chat.message) and chat.message == self._message
            edits = None if is_unanswered else insert_notice(document.text, notices)
            if edits is None:
                return
            outcome = await self._try_edit(document, edits)
            if outcome == "stale":
                continue
            if outcome == "unknown":
                self._unconfirmed_notice = document.version
                self._wake.set()
            elif outcome == "applied":
                self._notices = self._notices[len(notices) :].lstrip("\n")
            return
        self._wake.set()  # the user types without a pause: try later

    async def _try_edit(
        self, document: OpenDocument, edits: Sequence[LineEdit]
    ) -> Literal["applied", "stale", "held", "unknown"]:
        """Apply an edit. "held": the editor takes edits only after a command of the user.

        "unknown": the editor reported an error, but the edit may still be applied, and writing it again would
        duplicate it. Some editors report changes late, for example Emacs while it asks a question. The next text that
        the editor sends shows whether the edit was applied.
        """
        try:
            await self._host.apply_edit(document, edits, ATTRIBUTION)
        except StaleFileError:
            return "stale"
        except EnvError as error:
            if self._host.takes_edits_after_commands:
                self._hold()
                return "held"
            log.warning("text could not be written into %s: %s", self._path, error)
            self._refused(str(error))
            return "unknown"
        return "applied"

    def _is_notice_in_flight(self, document: OpenDocument) -> bool:
        """Return whether the result of the last edit with a notice is unknown. If it was applied, the notice counts as
        written.
        """
        if self._unconfirmed_notice is None:
            return False
        if document.version == self._unconfirmed_notice:
            self._wake.set()
            return True
        self._unconfirmed_notice = None
        if self._notices in document.text.replace("\r\n", "\n"):
            self._notices = ""
        return not self._notices

    def _hold(self) -> None:
        self._is_held = True
        if not self._has_reported:
            self._has_reported = True
            self._refused(HELD)

    def _note_written(self, region: Region, text: str) -> None:
        self.has_written = True
        self._waiting = self._waiting[len(text) :]
        self._region = None if text.endswith(CLOSE) else region
        if self._waiting or self._notices:
            self._wake.set()

    def _is_last_edit_confirmed(self) -> bool:
        """Return whether the result of the last edit is known. If the edit was applied, its text counts as
        written, else the text is written again.
        """
        unconfirmed = self._unconfirmed
        document = self._host.open_document(self._path)
        if unconfirmed is None or document is None:
            return True
        if document.version == unconfirmed.version:
            return False
        self._unconfirmed = None
        if append_answer(document.text, unconfirmed.region, "") is not None:
            self._note_written(unconfirmed.region, unconfirmed.text)
        return True

    async def wait_until_finished(self) -> None:
        """Wait until all collected text is in the document or cannot be written."""
        before = ("", "")
        while (self._waiting, self._notices) != before:
            before = (self._waiting, self._notices)
            await self._flush()


def _cut_at_close(text: str) -> str:
    """Return the text up to and including CLOSE, which ends an answer. The text after CLOSE gets its own
    heading. The model's text cannot contain CLOSE, because `escape_headings` escapes it.
    """
    end = text.find(CLOSE)
    return text if end < 0 else text[: end + len(CLOSE)]
