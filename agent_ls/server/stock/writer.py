"""Writes a growing answer into a chat document, by verified edits, beside a user who types in it.

Nothing is ever written over what the user changed: an answer that no longer stands as it was written is left alone, and
the rest of it begins anew at the end of the document.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from agent_ls.environments.base import Attribution
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.server.editor_host import LspEditorHost
from agent_ls.server.stock.catching_up import has_answer, split_shown
from agent_ls.server.stock.chat_text import YOU, Region, found_below, growing, heading, opening, read_chat

log = logging.getLogger(__name__)

FLUSH_S = 0.2
"""Between two edits: each is an undo step, and some editors take half a second to tell of it."""

TRIES = 8  # the user may be typing
CLOSE = f"\n{YOU}\n"
HELD = (
    "This editor takes edits after a command only: the code action 'Show the answer' brings it into the chat."
)
ATTRIBUTION = Attribution(label="agent-ls: the answer")


@dataclass(frozen=True, slots=True)
class _Unseen:
    """An edit of which the editor has told nothing: it brings `text`; `region` is then there. `version`: before it."""

    version: int
    region: Region
    text: str


class ChatWriter:
    """`text` is gathered at any time; `run` brings it into the document at `path`. `refused` is told why it is not."""

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
        self._waiting = self._said = ""
        self._unseen: _Unseen | None = None
        self._is_held = self._has_told = self._begins_anew = False
        self.has_written = False
        """The document was given a heading that names the session."""
        self._wake = anyio.Event()
        self._has_flushed = anyio.Event()

    @property
    def is_held(self) -> bool:
        """The editor takes edits after commands only: what was gathered waits for one."""
        return self._is_held and bool(self._waiting)

    @property
    def is_behind(self) -> bool:
        """Something of the answer is not in the document yet."""
        return bool(self._waiting)

    def retry(self) -> None:
        """The user has carried out a command."""
        if self._is_held:
            self._is_held = False
            self._wake.set()

    def take_up(self, said: str, told: str) -> bool:
        """Brings in what the document lacks of the answer `told` to what the user `said`; whether it has a place there.

        The document ends with that answer, or with the user's message, whose answer was never saved.
        """
        document = self._host.open_document(self._path)
        chat = read_chat(document.text) if document else None
        if document is None or chat is None:
            return False
        marker = heading(chat.session_id, chat.count)
        below = found_below(document.text, marker)
        if chat.is_answer_last and below is not None:
            written, rest = split_shown(below, told)
            self._region = Region(marker, written)
            self.write(rest)
            return True
        if self.lacks(said, told):
            self.write(told)
            return True
        return False

    def lacks(self, said: str, told: str) -> bool:
        """Whether the document ends with what the user `said`, and has nothing of the answer `told` to that."""
        document = self._host.open_document(self._path)
        chat = read_chat(document.text) if document else None
        if document is None or chat is None or not chat.message or not said.startswith(chat.message):
            return False
        below = found_below(document.text, heading(chat.session_id, chat.count))
        return not has_answer(below or "", told)

    def write(self, text: str) -> None:
        if text:
            self._waiting += text
            if not self._is_held:
                self._wake.set()

    def heard(self, said: str) -> None:
        """The next answer belongs below these words of the user's."""
        self._said = said

    def begin_anew(self) -> None:
        """The user has said something below: what comes is written behind that."""
        self._begins_anew = True

    def close_answer(self) -> None:
        """The turn is over: below it is the user's."""
        self.write(CLOSE)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            await self._flush()
            flushed, self._has_flushed = self._has_flushed, anyio.Event()
            flushed.set()
            await self._sleep(FLUSH_S)

    async def shown(self) -> None:
        """Until nothing of what was gathered waits that the editor would take now."""
        while self._waiting and not self._is_held and self._host.open_document(self._path):
            await self._has_flushed.wait()

    async def _flush(self) -> None:
        if self._is_held:
            return
        if not self._is_seen():
            self._wake.set()  # later: until then all that comes is gathered
            return
        for _ in range(TRIES):
            more = _up_to_close(self._waiting)
            document = self._host.open_document(self._path)
            if document is None or not more:
                return  # closed: the session has all of it, and the next opening of the document says so
            if self._begins_anew:  # only here: an edit may have been on its way
                self._region, self._begins_anew = None, False
            region = self._region
            edits = growing(document.text, region, more) if region else None
            if region is None or edits is None:
                region = Region(heading(self._session_id, read_chat(document.text).count + 1), "\n")
                edits = opening(document.text, Region(region.marker, region.written + more), self._said)
            region = Region(region.marker, region.written + more)
            try:
                await self._host.apply_edit(document, edits, ATTRIBUTION)
            except StaleFileError:
                continue
            except EnvError as error:
                if self._host.takes_edits_after_commands:
                    self._hold()
                    return
                # It may still turn up, and writing it again could double it: an editor may tell late of a change, as
                # Emacs does while it asks something. The next text that it tells decides.
                log.warning("the answer could not be written into %s: %s", self._path, error)
                self._refused(str(error))
                self._unseen = _Unseen(document.version, region, more)
                self._wake.set()
                return
            self._wrote(region, more)
            return
        self._wake.set()  # somebody types without a pause: later

    def _hold(self) -> None:
        self._is_held = True
        if not self._has_told:
            self._has_told = True
            self._refused(HELD)

    def _wrote(self, region: Region, text: str) -> None:
        self.has_written = True
        self._waiting = self._waiting[len(text) :]
        self._region = None if text.endswith(CLOSE) else region
        if self._waiting:
            self._wake.set()

    def _is_seen(self) -> bool:
        """Whether it is known what became of the last edit; then it counts as written, or is written again."""
        unseen = self._unseen
        document = self._host.open_document(self._path)
        if unseen is None or document is None:
            return True
        if document.version == unseen.version:
            return False
        self._unseen = None
        if growing(document.text, unseen.region, "") is not None:
            self._wrote(unseen.region, unseen.text)
        return True

    async def finished(self) -> None:
        """When all that was gathered stands in the document, or cannot."""
        before = ""
        while self._waiting != before:
            before = self._waiting
            await self._flush()


def _up_to_close(text: str) -> str:
    """What comes behind it has a heading of its own. (What a model says cannot look like it: `guarded`.)"""
    end = text.find(CLOSE)
    return text if end < 0 else text[: end + len(CLOSE)]
