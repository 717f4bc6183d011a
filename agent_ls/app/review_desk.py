"""The review of all sessions of this process: one ledger per changed file, and the flow around it.

The rules are `review/`'s; here is who is told. Editors report what stands in open documents, environments what was
written, users their verdicts; sessions get events, and the model a notice of the verdicts at its next safe
boundary (PROTOCOL, Edits). All calls but `review` are plain and run on the event loop's thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from functools import partial
from typing import Literal, Protocol, TypeAlias, TypeVar

import anyio

from agent_ls.app.change_events import action, file_change, maybe_standing, relative_name, shown
from agent_ls.app.hunk_news import By, HunkNews, Start
from agent_ls.app.review_notices import gone_notice, verdict_notice
from agent_ls.app.reviewed_file import ReviewedFile, Undoing, is_text, maybe_bytes, text_of, written_as
from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events import FileChange, Hunk, HunkStateChanged, RecordedEvent
from agent_ls.loop.seams import Clock
from agent_ls.review.agent_edits import agent_edit
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change, FileLedger, open_ledger
from agent_ls.review.user_edits import user_edit
from agent_ls.review.verdicts import keep, undo_plan, undone
from agent_ls.store.journal import Standing
from agent_ls.text import encode

UNDO_TRIES = 3  # a file may change between the look and the write; then it is looked at again

TYPED_INSIDE = "you typed inside it: undo it with confirm to lose that too"
KEEPS_CHANGING = "something else keeps changing the file; try again when it is done"
CLOSED_SESSION = "its session is closed; open it again to decide about its changes"
_WHY_CLOSED = {
    "stale": "it can no longer be told apart from other changes: look at the file itself",
    "gone": "its lines are back as they were",
}

Verdict: TypeAlias = Literal["keep", "undo"]
H = TypeVar("H", Hunk, LedgerHunk)


class Audience(Protocol):
    """A session as the desk needs it."""

    def emit(self, event: RecordedEvent) -> object: ...

    def notice(self, text: str) -> None:
        """For the model, at the next safe boundary."""
        ...

    def stand(self, standing: Standing) -> None:
        """For the log: where its hunks of a file are now."""
        ...

    @property
    def files(self) -> ExecutionEnvironment:
        """Where undone hunks are written: the session's environment, without the ledger's own wrapper."""
        ...


@dataclass(frozen=True, slots=True)
class _Decision:
    """A verdict on hunks of one file. `refused` gathers the reasons for those that are left alone."""

    ids: frozenset[str]
    verdict: Verdict
    comment: str
    confirm: bool
    refused: dict[str, str] = field(default_factory=dict)


class ReviewDesk:
    """`audience` finds the live session of an id, None when it is not live."""

    def __init__(self, audience: Callable[[str], Audience | None], *, clock: Clock, start: Start) -> None:
        self._audience = audience
        self._start = start
        self._news = HunkNews(self._tell, clock, start)
        self._files: dict[str, ReviewedFile] = {}
        self._stood: dict[tuple[str, str], Standing] = {}
        self._writing: Counter[str] = Counter()
        self._written = anyio.Event()

    # -- what editors tell

    def document_opened(self, path: str, text: str) -> None:
        self.user_edit(path, text)

    def document_closed(self, path: str) -> None:
        """The disk is what counts now: a task compares it. What was not saved is `gone`."""
        if (file := self._files.get(path)) and file.ledger.hunks:
            self._start(partial(self._look_at_disk, file))

    def user_edit(self, path: str, text: str | None) -> None:
        """The file's text now; what changed since the last call is the user's."""
        if (file := self._files.get(path)) and file.ledger.current_text != text:
            self._turn_page(file, user_edit(file.ledger, text), "editor")

    def agent_edit(self, path: str, before: str | None, after: str | None, attribution: Attribution) -> None:
        """A call's change of a file; told twice for the same call, the second is known already."""
        file = self._files.get(path)
        if file and self.knows_call(path, attribution) and file.ledger.current_text == after:
            return
        if file is None:
            file = self._files[path] = ReviewedFile(open_ledger(path, before))
        self.user_edit(path, before)
        self._news.flush(path)
        file.recorded.add((attribution.session_id, attribution.call_id))
        self._announce_change(file, before, after, agent_edit(file.ledger, after, attribution), attribution)

    def undo_applied(self, path: str, before: str, after: str) -> None:
        """An edit that a verdict asked for stands in the document."""
        file = self._files.get(path)
        if file is None:
            return
        self.user_edit(path, before)
        if file.undoing:
            self._turn_page(file, undone(file.ledger, file.undoing.ids), "user", file.undoing.comment)
            file.undoing = None
        self.user_edit(path, after)

    # -- what environments tell

    @contextmanager
    def writing(self, paths: Collection[str]) -> Iterator[None]:
        """An agent writes these files: what is found in them before it has told of that is not the user's."""
        self._writing.update(paths)
        try:
            yield
        finally:
            self._writing -= Counter(paths)
            self._written.set()
            self._written = anyio.Event()

    def committed(self, state: FileState, attribution: Attribution) -> None:
        """What a commit did to a file, unless the editor has told it already."""
        if state.before == state.after or self.knows_call(state.path, attribution):
            return
        if is_text(state.before) and is_text(state.after):
            self.agent_edit(state.path, text_of(state.before), text_of(state.after), attribution)
            self._files[state.path].written_as = written_as(state.before or state.after or b"")
        else:
            self._changed_bytes(state, attribution)

    def knows_call(self, path: str, attribution: Attribution) -> bool:
        """Whether this call's change of the file is in the ledger already."""
        file = self._files.get(path)
        return file is not None and (attribution.session_id, attribution.call_id) in file.recorded

    def ledger(self, path: str) -> FileLedger | None:
        """The ledger of this file, None when none is kept."""
        file = self._files.get(path)
        return file.ledger if file else None

    def adopt(self, change: Change) -> None:
        """Takes a ledger that was built from a stored session, and tells `change.changed`: what is not as stored."""
        path = change.ledger.path
        file = self._files.setdefault(path, ReviewedFile(change.ledger))
        self._turn_page(file, change, "editor")
        self._news.flush(path)
        self._notify(file, [hunk for hunk in change.changed if hunk.state == "gone"], gone_notice)

    def standings(self, session_id: str) -> list[Standing]:
        """Where the hunks of a session are, file by file, if its log does not know: a resume need not look for them."""
        found = (maybe_standing(file.ledger, session_id) for file in self._files.values())
        return [it for it in found if it and self._stood.get((session_id, it.path)) != it]

    def flush(self) -> None:
        """Tells what was kept for a moment: a turn or a session is about to end."""
        self._news.flush_all()

    # -- what users ask

    def open_hunks(
        self, *, session_id: str | None = None, path: str | None = None, turn_id: str | None = None
    ) -> dict[str, list[Hunk]]:
        """Hunks that await a verdict, by absolute path, in the order of their places."""
        found: dict[str, list[Hunk]] = {}
        for name, file in self._files.items():
            if path is not None and name != path:
                continue
            hunks = [
                shown(file.ledger, hunk)
                for hunk in file.ledger.open_hunks
                if session_id in (None, hunk.session_id) and turn_id in (None, hunk.turn_id)
            ]
            if hunks:
                found[name] = hunks
        return found

    def base_text(self, path: str) -> str | None:
        """What the user has accepted of a file with hunks."""
        file = self._files.get(path)
        return file.ledger.base_text if file else None

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
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """Carries out a verdict; what changed, and what was refused with the reason."""
        chosen = self.open_hunks(session_id=session_id, path=path, turn_id=turn_id)
        wanted = None if hunk_ids is None else set(hunk_ids)
        changed: list[Hunk] = []
        refused: dict[str, str] = {}
        found: set[str] = set()
        for name, hunks in chosen.items():
            ids = frozenset(hunk.id for hunk in hunks if wanted is None or hunk.id in wanted)
            if ids:
                decision = _Decision(ids, verdict, comment, confirm)
                changed += await self._decide(self._files[name], decision)
                refused |= decision.refused
                found |= ids
        settled = {hunk.id for hunk in changed} | refused.keys()
        refused |= {id_: self._why_closed(id_) for id_ in sorted((found | (wanted or set())) - settled)}
        return changed, list(refused.items())

    # -- inside: verdicts

    async def _decide(self, file: ReviewedFile, decision: _Decision) -> list[Hunk]:
        """One file's part of a verdict; the hunks that it changed."""
        audience = self._maybe_audience(file, decision.ids)
        if audience is None:
            decision.refused.update(dict.fromkeys(decision.ids, CLOSED_SESSION))
            return []
        done: dict[str, Hunk] = {}
        async with file.deciding:
            try:
                done = await self._carried_out(file, decision, audience)
            except EnvError as error:
                decision.refused.update({id_: str(error) for id_ in decision.ids - decision.refused.keys()})
        self._notify(
            file,
            list(done.values()),
            lambda name, hunks: verdict_notice(name, hunks, decision.verdict, decision.comment),
        )
        return [shown(file.ledger, hunk) for id_ in done if (hunk := file.ledger.find(id_))]

    async def _carried_out(
        self, file: ReviewedFile, decision: _Decision, audience: Audience
    ) -> dict[str, Hunk]:
        """The hunks, as they were, that the verdict was carried out on. The file is looked at first.

        Raises:
            EnvError: it cannot be read or written.
        """
        for _ in range(UNDO_TRIES):
            data = await self._catch_up(file, audience.files)
            told = self._to_decide(file, decision)
            if decision.verdict == "keep":
                self._turn_page(file, keep(file.ledger, told), "user", decision.comment)
                return told
            undoing = Undoing(tuple(told), decision.comment)
            if not told or await self._is_undone(file, undoing, data, audience):
                return told
        decision.refused.update(dict.fromkeys(decision.ids - decision.refused.keys(), KEEPS_CHANGING))
        return {}

    def _to_decide(self, file: ReviewedFile, decision: _Decision) -> dict[str, Hunk]:
        """Those that the verdict may be carried out on, as they stand now."""
        hunks = [shown(file.ledger, hunk) for hunk in file.ledger.open_hunks if hunk.id in decision.ids]
        for hunk in hunks:
            if self._audience(hunk.session_id) is None:
                decision.refused[hunk.id] = CLOSED_SESSION
            elif decision.verdict == "undo" and hunk.state == "edited" and not decision.confirm:
                decision.refused[hunk.id] = TYPED_INSIDE
        return {hunk.id: hunk for hunk in hunks if hunk.id not in decision.refused}

    async def _is_undone(
        self, file: ReviewedFile, undoing: Undoing, data: bytes | None, audience: Audience
    ) -> bool:
        """Takes the hunks out of the file whose content is `data`; False when it is not what was expected.

        Raises:
            EnvError: it could not be written.
        """
        path, plan = file.ledger.path, undo_plan(file.ledger, undoing.ids)
        expected = plan.expected
        content = None if expected is None else encode(with_fields(file.written_as, text=expected))
        file.undoing = undoing
        try:
            await audience.files.commit([FileWrite(path, content, data)], Attribution(label="undo"))
        except StaleFileError:
            return False
        finally:
            is_told, file.undoing = file.undoing is None, None  # an editor tells itself that it is done
        if is_told:
            return True
        if text_of(await maybe_bytes(audience.files, path)) != expected:
            return False
        self._turn_page(file, undone(file.ledger, undoing.ids), "user", undoing.comment)
        return True

    # -- inside: files

    async def _look_at_disk(self, file: ReviewedFile) -> None:
        """After a document was closed: what the disk does not have is gone, and the model is told once."""
        audience = self._maybe_audience(file, {hunk.id for hunk in file.ledger.hunks})
        if audience is None:
            return
        before = file.ledger.open_hunks
        try:
            await self._catch_up(file, audience.files)
        except EnvError:
            return
        lost = [hunk for hunk in before if (now := file.ledger.find(hunk.id)) and now.state == "gone"]
        self._notify(file, lost, gone_notice)

    async def _catch_up(self, file: ReviewedFile, files: ExecutionEnvironment) -> bytes | None:
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
        if file := self._files.get(state.path):
            self._turn_page(file, user_edit(file.ledger, None), "agent")
            del self._files[state.path]
        event = FileChange(attribution.call_id, state.path, action(state.before, state.after), 0, 0, "")
        self._tell(attribution.session_id, event)

    # -- inside: telling

    def _turn_page(self, file: ReviewedFile, change: Change, by: By, comment: str = "") -> None:
        before, file.ledger = file.ledger, change.ledger
        self._news.take(before, change, by, comment)

    def _announce_change(
        self,
        file: ReviewedFile,
        before: str | None,
        after: str | None,
        change: Change,
        attribution: Attribution,
    ) -> None:
        new = {hunk.id for hunk in change.new}
        if audience := self._audience(attribution.session_id):
            folder = audience.files.working_directory()
            audience.emit(file_change(before, after, change, call_id=attribution.call_id, folder=folder))
        others = tuple(hunk for hunk in change.changed if hunk.id not in new)
        self._turn_page(file, with_fields(change, changed=others), "agent")
        self._record_standing(file, attribution.session_id)

    def _tell(self, session_id: str, event: RecordedEvent) -> None:
        if audience := self._audience(session_id):
            audience.emit(event)
        if isinstance(event, HunkStateChanged) and (file := self._files.get(event.path)):
            self._record_standing(file, session_id)

    def _record_standing(self, file: ReviewedFile, session_id: str) -> None:
        """Beside each event of a hunk: the places of all that the session has in the file have moved with it."""
        standing, audience = maybe_standing(file.ledger, session_id), self._audience(session_id)
        if standing and audience:
            self._stood[session_id, standing.path] = standing
            audience.stand(standing)

    def _notify(
        self, file: ReviewedFile, hunks: Sequence[H], words: Callable[[str, Sequence[H]], str]
    ) -> None:
        for session_id in dict.fromkeys(hunk.session_id for hunk in hunks):
            if audience := self._audience(session_id):
                name = relative_name(file.ledger.path, audience.files.working_directory())
                audience.notice(words(name, [hunk for hunk in hunks if hunk.session_id == session_id]))

    def _maybe_audience(self, file: ReviewedFile, ids: Collection[str]) -> Audience | None:
        """A live session that owns one of these hunks."""
        owners = (hunk.session_id for hunk in file.ledger.hunks if hunk.id in ids)
        return next((found for owner in owners if (found := self._audience(owner))), None)

    def _why_closed(self, hunk_id: str) -> str:
        for file in self._files.values():
            if hunk := file.ledger.find(hunk_id):
                return _WHY_CLOSED.get(hunk.state, f"it is {hunk.state} already")
        return "no such hunk; open its session first"
