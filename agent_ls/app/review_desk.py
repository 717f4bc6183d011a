"""The review of all sessions of this process: one ledger per changed file, and the flow around it.

The rules are `review/`'s; here is who is told. Editors report what stands in open documents, environments what was
written, users their verdicts; sessions get events, and the model a notice of the verdicts at its next safe
boundary (PROTOCOL, Edits). All calls but `review` are plain and run on the event loop's thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_fields
from functools import partial
from typing import Protocol, TypeVar

import anyio

from agent_ls.app.change_events import action, file_change, maybe_standing, relative_name, shown
from agent_ls.app.hunk_news import By, HunkNews, Start
from agent_ls.app.proposal_verdicts import ProposalVerdicts
from agent_ls.app.proposals import Proposals
from agent_ls.app.relaid_notebooks import user_edited
from agent_ls.app.review_notices import gone_notice
from agent_ls.app.reviewed_file import ReviewedFile, Undoing, is_text, maybe_bytes, text_of, written_as
from agent_ls.app.saved_files import SavedFiles
from agent_ls.app.under_way import UnderWay
from agent_ls.app.verdicts import Asked, Selection, Verdict, Verdicts
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.errors import EnvError
from agent_ls.loop.events import FileChange, Hunk, HunkStateChanged, RecordedEvent
from agent_ls.loop.seams import Clock
from agent_ls.notebook.align import ShownCell
from agent_ls.review.agent_edits import agent_edit, linked
from agent_ls.review.coming_back import come_back, is_missing
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change, FileLedger, open_ledger
from agent_ls.review.restore import StoredHunk
from agent_ls.review.user_edits import user_edit
from agent_ls.review.verdicts import Decision, decided
from agent_ls.store.journal import Standing

H = TypeVar("H", Hunk, LedgerHunk)


class Audience(Protocol):
    """A session as the desk needs it."""

    def emit(self, event: RecordedEvent) -> object: ...

    def notice(self, text: str, about: str = "") -> None:
        """For the model, at the next safe boundary; `about` is the file whose text it tells of."""
        ...

    def stand(self, standing: Standing) -> None:
        """For the log: where its hunks of a file are now."""
        ...

    async def apply(
        self, writes: Sequence[FileWrite], attribution: Attribution, *, is_running: bool
    ) -> Sequence[FileState]:
        """Writes what a person kept of a call's proposals: announced in the log, then committed.

        `is_running`: the call waits for it, and is held to what was judged when it began. Else the call has ended, and
        what was kept is the person's own act, as an undo is.

        Raises:
            EnvError: as a commit.
        """
        ...

    def is_asked(self, call_id: str) -> bool:
        """Whether a person is asked about this call and has not answered."""
        ...

    @property
    def is_stopped(self) -> bool:
        """The user has ended the turn. Where a call is cancelled otherwise, the process ends."""
        ...

    @property
    def files(self) -> ExecutionEnvironment:
        """Where undone hunks are written: the session's environment, without the ledger's own wrapper."""
        ...


class ReviewDesk:
    """`audience` finds the live session of an id, None when it is not live."""

    def __init__(self, audience: Callable[[str], Audience | None], *, clock: Clock, start: Start) -> None:
        self.audience = audience
        self._start = start
        self._news = HunkNews(self.tell, clock, start)
        self.files: dict[str, ReviewedFile] = {}
        self._stood: dict[tuple[str, str], Standing] = {}
        self.proposals = Proposals(self)
        self._verdicts = Verdicts(self, ProposalVerdicts(self, self.proposals))
        self.texts_changed: Callable[[str], None] = lambda path: None
        self._writing: Counter[str] = Counter()
        self._links: dict[str, str] = {}
        self._missing: dict[str, tuple[StoredHunk, ...]] = {}
        self._written = anyio.Event()
        self.saved = SavedFiles()
        self.under_way = UnderWay()

    # -- what editors tell

    def document_opened(self, path: str, text: str) -> None:
        self.user_edit(path, text)

    def document_closed(self, path: str) -> None:
        """The disk is what counts now: a task compares it. What was not saved is `gone`."""
        if (file := self.files.get(path)) and (file.ledger.hunks or file.proposals):
            self._start(partial(self._look_at_disk, file))

    def document_saved(self, path: str, text: str) -> None:
        """What the disk has of the file now is the editor's own."""
        self.saved.note(path, text)

    def notebook_saved(self, path: str, cells: Sequence[ShownCell]) -> None:
        """The same of a notebook that the editor tells by cells."""
        self.saved.note_cells(path, cells)

    def user_edit(self, path: str, text: str | None) -> None:
        """The file's text now; what changed since the last call is the user's."""
        if (file := self.files.get(path)) and file.ledger.current_text != text:
            self.turn_page(file, user_edited(file.ledger, text), "editor")
            if back := come_back(file.ledger, self._missing.get(path, ())):
                self.turn_page(file, back, "editor")

    def agent_edit(self, path: str, before: str | None, after: str | None, attribution: Attribution) -> None:
        """A call's change of a file; told twice for the same call, the second is known already."""
        if self.proposals.is_landing(path, before or "", after or "", attribution):
            return
        file = self.files.get(path)
        if file and self.knows_call(path, attribution) and file.ledger.current_text == after:
            return
        if file is None:
            file = self.files[path] = ReviewedFile(open_ledger(path, before))
        self.user_edit(path, before)
        self._news.flush(path)
        file.recorded.add((attribution.session_id, attribution.call_id))
        change = linked(agent_edit(file.ledger, after, attribution), self._links.get(path, ""))
        self._announce_change(file, before, after, change, attribution)

    def begin(self, path: str, text: str | None) -> None:
        """A file that something is proposed for: its text is this one now."""
        if path in self.files:
            self.user_edit(path, text)
        else:
            self.files[path] = ReviewedFile(open_ledger(path, text))

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """An edit that a verdict asked for stands in the document."""
        file = self.files.get(path)
        if file is None:
            return
        self.user_edit(path, before)
        if undoing := file.undoing:
            file.undoing = None
            self.land(file, undoing)
        self.user_edit(path, after)

    def land(self, file: ReviewedFile, undoing: Undoing) -> None:
        """A decision stands in the file, whose text before it the ledger has.

        Who typed meanwhile inside a hunk of which some lines were decided has made another hunk of it: then the text
        that comes next is told as any.
        """
        try:
            undoing.outcome = decided(file.ledger, undoing.decision)
        except ValueError:
            return
        self.turn_page(file, undoing.outcome, "user", undoing.comment)

    def take_back(self, file: ReviewedFile, ledger: FileLedger) -> None:
        """A decision does not stand after all: another of its files could not be written. `ledger` is as before it."""
        text, known = file.ledger.current_text, {hunk.id: hunk.state for hunk in _all(file.ledger)}
        change = user_edited(ledger, text)
        back = tuple(hunk for hunk in _all(change.ledger) if hunk.state != known.get(hunk.id))
        self.turn_page(file, with_fields(change, changed=back), "agent")

    # -- what environments tell

    @contextmanager
    def writing(self, paths: Collection[str], links: Mapping[str, str] | None = None) -> Iterator[None]:
        """An agent writes these files: what is found in them before it has told of that is not the user's.

        `links` name, by path, what belongs together of it: both ends of a move.
        """
        self._writing.update(paths)
        self._links.update(links or {})
        try:
            yield
        finally:
            self._writing -= Counter(paths)
            for path in links or ():
                self._links.pop(path, None)
            self._written.set()
            self._written = anyio.Event()

    def committed(self, state: FileState, attribution: Attribution) -> None:
        """What a commit did to a file, unless the editor has told it already."""
        if state.before == state.after or self.knows_call(state.path, attribution):
            return
        if is_text(state.before) and is_text(state.after):
            self.agent_edit(state.path, text_of(state.before), text_of(state.after), attribution)
            self.files[state.path].written_as = written_as(state.before or state.after or b"")
        else:
            self._changed_bytes(state, attribution)

    def knows_call(self, path: str, attribution: Attribution) -> bool:
        """Whether this call's change of the file is in the ledger already."""
        file = self.files.get(path)
        return file is not None and (attribution.session_id, attribution.call_id) in file.recorded

    def ledger(self, path: str) -> FileLedger | None:
        """The ledger of this file, None when none is kept."""
        file = self.files.get(path)
        return file.ledger if file else None

    def current_texts(self) -> Mapping[str, object]:
        """What stands in each file with a ledger: the same object as long as it is the same."""
        return {path: file.ledger.current for path, file in self.files.items()}

    def adopt(self, change: Change) -> None:
        """Takes a ledger that was built from a stored session, and tells `change.changed`: what is not as stored."""
        path = change.ledger.path
        file = self.files.setdefault(path, ReviewedFile(change.ledger))
        self.turn_page(file, change, "editor")
        self._news.flush(path)
        self.notify(file, [hunk for hunk in change.changed if hunk.state == "gone"], gone_notice)

    def await_missing(self, missing: Mapping[str, Sequence[StoredHunk]]) -> None:
        """Hunks of adopted ledgers, by path, that another editor may save: they are open again once a file has them."""
        for path, items in missing.items():
            self._missing[path] = (*self._missing.get(path, ()), *items)

    def awaited(self, session_id: str) -> list[str]:
        """The files of a live session that `await_missing` still waits for."""
        if self.audience(session_id) is None:
            return []
        return [
            path
            for path, items in self._missing.items()
            if (file := self.files.get(path))
            and any(it.hunk.session_id == session_id and is_missing(file.ledger, it) for it in items)
        ]

    def standings(self, session_id: str) -> list[Standing]:
        """Where the hunks of a session are, file by file, if its log does not know: a resume need not look for them."""
        found = (maybe_standing(file.ledger, session_id, _proposed(file)) for file in self.files.values())
        return [it for it in found if it and self._stood.get((session_id, it.path)) != it]

    def paths(self, session_id: str) -> list[str]:
        """The files that a session has changed, as far as ledgers know."""
        return [
            path
            for path, file in self.files.items()
            if any(hunk.session_id == session_id for hunk in _all(file.ledger))
        ]

    def forget(self, session_id: str) -> None:
        """Another process has the session, and its hunks: what stands in the files is as good as accepted here."""
        self._stood = {key: it for key, it in self._stood.items() if key[0] != session_id}
        for path, items in self._missing.items():
            self._missing[path] = tuple(it for it in items if it.hunk.session_id != session_id)
        for path, file in list(self.files.items()):
            own = frozenset(hunk.id for hunk in file.ledger.hunks if hunk.session_id == session_id)
            beside = [it for it in file.proposals if it.call[0] != session_id]
            if not own and len(beside) == len(file.proposals):
                continue
            file.ledger, file.proposals = decided(file.ledger, Decision(own, "kept")).ledger, beside
            if not file.ledger.hunks and not beside:
                del self.files[path]
            self.texts_changed(path)

    def flush(self) -> None:
        """Tells what was kept for a moment: a turn or a session is about to end."""
        self._news.flush_all()

    def watch_texts(self, changed: Callable[[str], None]) -> None:
        """`changed` is told the path of a file whose base or proposed text is another now. It must not raise."""
        self.texts_changed = changed

    # -- what users ask

    def open_hunks(
        self, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
    ) -> dict[str, list[Hunk]]:
        """Hunks that await a verdict, by absolute path, in the order of their places."""
        found: dict[str, list[Hunk]] = {}
        for name, file in self.files.items():
            if path is not None and name != path:
                continue
            hunks = [shown(file.ledger, hunk) for hunk in file.ledger.open_hunks]
            chosen = [
                hunk
                for hunk in sorted([*hunks, *self.proposals.open_hunks(file)], key=_place)
                if session_id in (None, hunk.session_id)
                and turn_id in (None, hunk.turn_id, *hunk.later_turns)
            ]
            if chosen:
                found[name] = chosen
        return found

    def knows(self, path: str) -> bool:
        return path in self.files

    def base_text(self, path: str) -> str | None:
        """What the user has accepted of a file with hunks."""
        file = self.files.get(path)
        return file.ledger.base_text if file else None

    def proposed_text(self, path: str) -> str | None:
        """What a file with hunks would hold if all that is proposed were kept."""
        file = self.files.get(path)
        return self.proposals.text(file) if file else None

    async def review(
        self,
        *,
        verdict: Verdict,
        hunk_ids: Sequence[str] | None = None,
        path: str | None = None,
        turn_id: str | None = None,
        session_id: str | None = None,
        comment: str = "",
        confirm: bool = False,
        lines: tuple[int, int] | None = None,
        replacement: str | None = None,
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """Carries out a verdict; what changed, and what was refused with the reason.

        `lines` and `replacement` (review/verdicts.py) are about exactly one hunk, named by its id.
        """
        return await self._verdicts.carry_out(
            Selection(hunk_ids, path, turn_id, session_id),
            Asked(verdict, comment, confirm, lines, replacement, turn_id),
        )

    # -- inside: files

    async def look_at_disk(self, path: str) -> None:
        """Somebody may have changed this file: what the ledger does not know of is the user's.

        Not while a command is waited for: what that changed is filed when it ends.
        """
        await self.seen_on_disk(path)

    async def seen_on_disk(self, path: str) -> bytes | None:
        """`look_at_disk`, and what it read of the file; None where it read nothing."""
        await self.under_way.settle()
        if (file := self.files.get(path)) and not self.under_way.is_waited_for:
            return await self._seen_on_disk(file)
        return None

    async def _look_at_disk(self, file: ReviewedFile) -> None:
        await self._seen_on_disk(file)

    async def _seen_on_disk(self, file: ReviewedFile) -> bytes | None:
        """What the disk does not have is gone, and the model is told once."""
        beside = [hunk for proposal in file.proposals for hunk in proposal.waiting]
        owners = dict.fromkeys(hunk.session_id for hunk in (*file.ledger.hunks, *beside))
        audience = next((found for owner in owners if (found := self.audience(owner))), None)
        if audience is None:
            return None
        before = file.ledger.open_hunks
        try:
            data = await self.catch_up(file, audience.files)
        except EnvError:
            return None
        lost = [hunk for hunk in before if (now := file.ledger.find(hunk.id)) and now.state == "gone"]
        self.notify(file, lost, gone_notice)
        return data

    async def catch_up(self, file: ReviewedFile, files: ExecutionEnvironment) -> bytes | None:
        """The file's content now, None when there is none; what the ledger did not know of is the user's.

        Raises:
            EnvError: it cannot be read.
        """
        path = file.ledger.path
        self._news.flush(path)
        while True:
            while self._writing[path]:
                await self._written.wait()
            known = file.ledger
            data = await maybe_bytes(files, path)
            if file.ledger is known and not self._writing[path]:
                break
        self.user_edit(path, text_of(data))
        if data is not None:
            file.written_as = written_as(data)
        return data

    def _changed_bytes(self, state: FileState, attribution: Attribution) -> None:
        """What is no text has no lines to review: nothing of it is undone by guess."""
        if file := self.files.get(state.path):
            self.turn_page(file, user_edit(file.ledger, None), "agent")
            if not file.proposals:
                del self.files[state.path]
        event = FileChange(attribution.call_id, state.path, action(state.before, state.after), 0, 0, "")
        self.tell(attribution.session_id, event)

    # -- inside: telling

    def turn_page(self, file: ReviewedFile, change: Change, by: By, comment: str = "") -> None:
        before, file.ledger = file.ledger, change.ledger
        self._news.take(before, change, by, comment)
        if file.proposals and before.current != change.ledger.current:
            self.proposals.follow(file)
        if before.base != change.ledger.base:
            self.texts_changed(change.ledger.path)

    def _announce_change(
        self,
        file: ReviewedFile,
        before: str | None,
        after: str | None,
        change: Change,
        attribution: Attribution,
    ) -> None:
        new = {hunk.id for hunk in change.new}
        if audience := self.audience(attribution.session_id):
            folder = audience.files.working_directory()
            audience.emit(file_change(before, after, change, call_id=attribution.call_id, folder=folder))
        others = tuple(hunk for hunk in change.changed if hunk.id not in new)
        self.turn_page(file, with_fields(change, changed=others), "agent")
        self._record_standing(file, attribution.session_id)

    def tell(self, session_id: str, event: RecordedEvent) -> None:
        if audience := self.audience(session_id):
            audience.emit(event)
        if isinstance(event, HunkStateChanged) and (file := self.files.get(event.path)):
            self._record_standing(file, session_id)

    def _record_standing(self, file: ReviewedFile, session_id: str) -> None:
        """Beside each event of a hunk: the places of all that the session has in the file have moved with it."""
        standing, audience = (
            maybe_standing(file.ledger, session_id, _proposed(file)),
            self.audience(session_id),
        )
        if standing and audience:
            self._stood[session_id, standing.path] = standing
            audience.stand(standing)

    def notify(
        self, file: ReviewedFile, hunks: Sequence[H], words: Callable[[str, Sequence[H]], str]
    ) -> None:
        for session_id in dict.fromkeys(hunk.session_id for hunk in hunks):
            if audience := self.audience(session_id):
                name = relative_name(file.ledger.path, audience.files.working_directory())
                own = [hunk for hunk in hunks if hunk.session_id == session_id]
                audience.notice(words(name, own), file.ledger.path)

    def maybe_audience(self, file: ReviewedFile, ids: Collection[str]) -> Audience | None:
        """A live session that owns one of these hunks."""
        hunks = (*file.ledger.hunks, *file.ledger.closed)
        owners = (hunk.session_id for hunk in hunks if hunk.id in ids)
        return next((found for owner in owners if (found := self.audience(owner))), None)


def _proposed(file: ReviewedFile) -> list[LedgerHunk]:
    """Hunks beside the file that have a place in it."""
    return [hunk for it in file.proposals for hunk in it.waiting if hunk.state == "proposed"]


def _all(ledger: FileLedger) -> tuple[LedgerHunk, ...]:
    return (*ledger.hunks, *ledger.closed)


def _place(hunk: Hunk) -> tuple[int, int]:
    return hunk.start, hunk.end
