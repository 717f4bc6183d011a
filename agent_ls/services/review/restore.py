"""Rebuild ledgers when a stored session is opened, from the hunks in its log and the current files.

A killed process may have written a file without recording the result, but its log announced the write (an
intent). If the file has the announced content, the change is recorded now. If it has the old content, the
write did not happen. In any other case the user gets a warning, because the cause cannot be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import dirname, realpath

import anyio.to_thread

from agent_ls.environments.base import Attribution, ExecutionEnvironment, sha256
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local.commit import is_written_in_place, sweep
from agent_ls.environments.remote.place import path_of
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import FileChange, HunkStateChanged, RecordedEvent, Warning
from agent_ls.review.agent_edits import apply_agent_edit
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger, LedgerChange, open_ledger
from agent_ls.review.reopened_hunks import is_missing
from agent_ls.review.restore import StoredHunk, restore_ledger
from agent_ls.services.review.change_events import file_change, shared_fields
from agent_ls.services.review.notebooks import user_edited
from agent_ls.services.review.proposal_notes import orphan_notice
from agent_ls.services.review.proposals import Proposals
from agent_ls.services.review.restore_proposals import (
    WaitingCall,
    place_hunk,
    read_decisions,
    read_waiting,
    restore_proposal,
)
from agent_ls.services.review.reviewed_file import Proposal, call_of, is_text, maybe_bytes, text_of
from agent_ls.services.review.state import ReviewedSession, ReviewState
from agent_ls.services.review.waiting import CallReview
from agent_ls.store.journal import NO_FILE, HunkPosition, Intent, RecordedWrite, fingerprint, text_fingerprint
from agent_ls.store.locks import Owner
from agent_ls.store.reader import StoredSession
from agent_ls.store.sessions import OpenSession

UNSETTLED = "unsettled_change"

_AS_WRITTEN = ("pending", "proposed")

_KINDS = (b'"kind":"file_change"', b'"kind":"hunk_state"')


@dataclass(frozen=True, slots=True)
class Evidence:
    """Contents of the session's log and of the files named in it.

    `hunks` and `intents` are by path. `now` has each file that can be read (None: it does not
    exist). `preimages` maps the names of blobs in the store to the contents of files before an edit. `waiting`
    are calls that wait for decisions. `put_out` is the process that owned the session before a forced
    take-over; `late` are the files that it may still write. `texts` has the last text of each file that the store
    has: the one with the recorded positions, else the one after the session's last write.
    """

    hunks: Mapping[str, list[StoredHunk]]
    intents: Mapping[str, Intent]
    now: Mapping[str, bytes | None]
    preimages: Mapping[str, bytes]
    waiting: Mapping[str, WaitingCall] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    put_out: Owner | None = None
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogComparison:
    """Result of the comparison of log and files.

    `events` belong to the interrupted turn. `changes` are ledgers with the hunks that differ from the log.
    `proposals` are pending again. `waiting` are the calls that still wait for decisions, `decided` those that
    were fully decided before their process ended. `missing` are open hunks, by path, that no file contains.
    `written` are the writes that the log announced and does not have, for a later roll back.
    """

    events: tuple[RecordedEvent, ...] = ()
    changes: tuple[LedgerChange, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    waiting: tuple[WaitingCall, ...] = ()
    decided: tuple[WaitingCall, ...] = ()
    missing: Mapping[str, tuple[StoredHunk, ...]] = field(default_factory=dict)
    written: tuple[RecordedWrite, ...] = ()

    @property
    def paths(self) -> set[str]:
        ledgers = {change.ledger.path for change in self.changes}
        return ledgers | {proposal.write.path for proposal in self.proposals}

    @property
    def pending_calls(self) -> dict[str, str]:
        """The call id of each pending hunk that a waiting call proposed, by hunk id."""
        calls = {it.attribution.call_id for it in self.waiting}
        return {
            hunk.id: hunk.call_id
            for it in self.proposals
            for hunk in it.pending_hunks
            if hunk.call_id in calls
        }


async def gather(
    opened: OpenSession,
    stored: StoredSession,
    files: ExecutionEnvironment,
    ledger: Callable[[str], object] = lambda path: None,
) -> Evidence:
    """Read the log and files for `find`; remove temporary files of a killed or replaced process.

    Files that cannot be read are left out. `ledger` returns the current ledger of a file, or None.
    If it returns another object after the file was read, the file is read again. Call `find` next,
    without an await in between.
    """

    session_id = stored.header.session_id

    def from_store() -> Evidence:
        waiting = read_waiting(opened, session_id, stored.state.reviews.values())
        decisions = read_decisions((event.encoded for event in stored.events), waiting)
        waiting = {id_: replace(it, judged=tuple(decisions.get(id_, ()))) for id_, it in waiting.items()}
        hunks = stored_hunks(event.encoded for event in stored.events)
        wanted = {path: items for path, items in hunks.items() if any(item.awaits for item in items)}
        intents = _find_unrecorded(stored)
        names = {intent.preimage for intent in intents.values()}
        late = frozenset(
            path
            for path, intent in intents.items()
            if opened.put_out and opened.put_out.pid == intent.pid and is_written_in_place(path)
        )
        preimages = {name: data for name in names if (data := opened.read_blob(name)) is not None}
        for intent in stored.state.intents:
            is_put_out = opened.put_out is not None and opened.put_out.pid == intent.pid
            sweep([dirname(realpath(intent.path))], intent.pid, is_put_out=is_put_out)
        if killed := opened.lock.killed:  # the writes of decisions and roll backs are not announced
            paths = {*hunks, *(intent.path for intent in stored.state.intents)}
            sweep({dirname(realpath(path)) for path in paths}, killed.pid)
        by_path = {path: hunks.get(path, []) for path in (*wanted, *intents)}
        return Evidence(by_path, intents, {}, preimages, waiting, late, opened.put_out)

    known = await anyio.to_thread.run_sync(from_store)
    now: dict[str, bytes | None] = {}
    texts: dict[str, str] = {}
    seen: dict[str, object] = {}
    while unread := [path for path in known.hunks if path not in seen or seen[path] is not ledger(path)]:
        for path in unread:
            seen[path] = ledger(path)
            now.pop(path, None)
            with suppress(EnvError):
                now[path] = await maybe_bytes(files, path)
            recorded = stored.state.hunk_positions.get(path)
            is_as_recorded = path in now and recorded and recorded.text == fingerprint(now[path])
            if path in texts or (is_as_recorded and path not in known.intents):
                continue  # the last text is not needed
            if (text := await anyio.to_thread.run_sync(_last_text, opened, stored, path)) is not None:
                texts[path] = text
    return replace(known, now=now, texts=texts)


def find(state: ReviewState, stored: StoredSession, evidence: Evidence) -> LogComparison:
    """Compare the log with the files, and merge the hunks that other sessions have in the same
    files.
    """
    events: list[RecordedEvent] = []
    changes: list[LedgerChange] = []
    proposals: list[Proposal] = []
    missing: dict[str, tuple[StoredHunk, ...]] = {}
    look = _Look(state, stored, evidence)
    for path, items in evidence.hunks.items():
        state.looked.restore(items)
        if path in evidence.now:
            ledger, news = look.ledger_and_events(path)
            found, lost = look.proposals(path)
            proposals += found
            ledger = replace(ledger, closed=(*ledger.closed, *lost))
            if (items or news) and state.is_reviewed(path):
                changes.append(LedgerChange(ledger, tuple(_not_as_known(ledger, items, state.ledger(path)))))
            events += news
            if lost_here := tuple(item for item in items if is_missing(ledger, item)):
                missing[path] = lost_here
        elif path in evidence.intents:
            events.append(warn_unclear(path, "cannot be read"))
    waits = {proposal.attribution.call_id for proposal in proposals if proposal.pending_hunks}
    waiting: list[WaitingCall] = []
    decided: list[WaitingCall] = []
    for call_id, it in evidence.waiting.items():
        (waiting if call_id in waits else decided).append(it)
    written = tuple(write for path in evidence.now if (write := look.find_write(path)))
    return LogComparison(
        tuple(events), tuple(changes), tuple(proposals), tuple(waiting), tuple(decided), missing, written
    )


def restore_proposals(proposals: Proposals, found: LogComparison, session: ReviewedSession) -> None:
    """Restore proposals and register their calls as waiting.

    For each call that no longer waits, the model gets a notice of the decisions, because it never received the
    call's result.
    """
    for it in found.waiting:
        own = [proposal for proposal in found.proposals if proposal.call == call_of(it.attribution)]
        proposals.wait_again(CallReview(it.attribution, it.writes, list(it.judged)), own, "editor")
    waiting = {call_of(it.attribution) for it in found.waiting}
    for proposal in found.proposals:
        if proposal.call not in waiting:
            proposals.add_proposal(proposal, "editor")
    for it in found.decided:
        if it.judged:
            session.notice(orphan_notice(it.judged, session.files.working_directory()))


@dataclass(frozen=True, slots=True)
class _Look:
    """Compares the log with one file at a time."""

    state: ReviewState
    stored: StoredSession
    evidence: Evidence

    def ledger_and_events(self, path: str) -> tuple[FileLedger, list[RecordedEvent]]:
        """Return the current ledger, and the events about a write that was interrupted when its process ended."""
        now, intent = self.evidence.now[path], self.evidence.intents.get(path)
        as_it_is = self._restored(path, text_of(now))
        is_kept = intent is not None and any(
            item.is_beside and item.hunk.call_id == intent.call_id for item in self.evidence.hunks[path]
        )
        if intent is None or is_kept:
            return as_it_is, []
        if intent.before == fingerprint(now):
            return as_it_is, [
                _may_come_late(path, self.evidence.put_out)
            ] if path in self.evidence.late else []
        if intent.after != fingerprint(now):
            return as_it_is, [
                warn_unclear(path, "has neither the content from before the change nor the new content")
            ]
        before = self.evidence.preimages.get(intent.preimage)
        if not is_text(now) or not is_text(before) or (before is None and intent.before != NO_FILE):
            return as_it_is, [warn_unclear(path, "was changed, and its earlier content is unknown")]
        return self._replay_intent(path, intent, text_of(before), text_of(now))

    def find_write(self, path: str) -> RecordedWrite | None:
        """Return the announced write of a file, if the file contains it and its earlier content is stored."""
        now, intent = self.evidence.now[path], self.evidence.intents.get(path)
        if intent is None or intent.after != fingerprint(now) or intent.before == intent.after:
            return None
        if intent.before != NO_FILE and intent.preimage not in self.evidence.preimages:
            return None
        after = "" if now is None else sha256(now)
        return RecordedWrite(path, intent.call_id, intent.turn_id, intent.preimage, after)

    def proposals(self, path: str) -> tuple[list[Proposal], list[LedgerHunk]]:
        """Return the proposals of a file, and hunks that have no position in it any more."""
        stored = [it for it in self.evidence.hunks[path] if it.is_beside and it.awaits]
        live = self.state.files.get(path)
        known = {hunk.id for it in live.proposals for hunk in it.hunks} if live else set()
        recorded = self.stored.state.hunk_positions.get(path)
        positions, text_then = (recorded.positions, recorded.text) if recorded else ({}, "?")
        found: list[Proposal] = []
        lost: list[LedgerHunk] = []
        for call_id in dict.fromkeys(it.hunk.call_id for it in stored):
            hunks = [it for it in stored if it.hunk.call_id == call_id and it.hunk.id not in known]
            if not hunks:
                continue
            who = Attribution(self.stored.header.session_id, hunks[0].hunk.turn_id, call_id)
            waiting = self.evidence.waiting.get(call_id) or WaitingCall(who, ())
            proposal, gone = restore_proposal(
                path, hunks, waiting, self.evidence.now[path], positions, text_then
            )
            lost += gone
            if proposal.hunks:
                found.append(proposal)
        return found, lost

    def _find_positions(self, path: str, text: str | None) -> Mapping[str, HunkPosition]:
        recorded = self.stored.state.hunk_positions.get(path)
        return recorded.positions if recorded and recorded.text == text_fingerprint(text) else {}

    def _replay_intent(
        self, path: str, intent: Intent, before: str | None, now: str | None
    ) -> tuple[FileLedger, list[RecordedEvent]]:
        header = self.stored.header
        author = Attribution(header.session_id, intent.turn_id, intent.call_id)
        if self.state.is_reviewed(path):
            change = apply_agent_edit(self._restored(path, before), now, author)
        else:
            change = LedgerChange(open_ledger(path, now), ())
        event = file_change(
            before, now, change, call_id=intent.call_id, folder=path_of(header.workspace_folder)
        )
        return change.ledger, [event]

    def _restored(self, path: str, text: str | None) -> FileLedger:
        """Return a ledger with the session's hunks in this text, and the hunks that other sessions have there."""
        live, items = self.state.ledger(path), self._items_in(path, text)
        if live is None:
            return restore_ledger(path, items, text)
        live = user_edited(live, text).ledger
        own = [item for item in items if _maybe_same(live, item.hunk) is None]
        if not own:
            return live
        others = [StoredHunk(hunk, live.lines_of(hunk), is_placed=True) for hunk in live.hunks]
        merged = restore_ledger(path, [*others, *own], text)
        return replace(merged, closed=(*live.closed, *merged.closed))

    def _items_in(self, path: str, text: str | None) -> list[StoredHunk]:
        """Return the session's hunks with their positions in `text`, as far as they are known.

        What changed since the last known text counts as the user's edit, as in an open session.
        """
        items = [item for item in self.evidence.hunks[path] if not item.is_beside]
        positions, then = self._find_positions(path, text), self.evidence.texts.get(path)
        if positions or text is None or then is None:
            return [_at(item, positions) for item in items]
        positions = self._find_positions(path, then)
        known = restore_ledger(path, [_at(item, positions) for item in items], then)
        now = user_edited(known, text).ledger
        return [_as_in(now, item) for item in items]


def _last_text(opened: OpenSession, stored: StoredSession, path: str) -> str | None:
    """Return the text of a file when its hunks were last recorded, else after the session's last write. Blocks."""
    recorded = stored.state.hunk_positions.get(path)
    for name in (recorded.text if recorded else "", stored.state.contents.get(path, "")):
        if (text := text_of(opened.read_blob(name))) is not None:
            return text
    return None


def _as_in(ledger: FileLedger, item: StoredHunk) -> StoredHunk:
    """Return a stored hunk as it is in the ledger."""
    hunk = _maybe_same(ledger, item.hunk)
    if hunk is None or not any(_is_same(hunk, other) for other in ledger.hunks):
        return replace(item, hunk=hunk or item.hunk)
    return replace(item, hunk=hunk, lines=ledger.lines_of(hunk), is_placed=True)


def _at(item: StoredHunk, positions: Mapping[str, HunkPosition]) -> StoredHunk:
    if item.hunk.id not in positions:
        return item
    return StoredHunk(place_hunk(item.hunk, positions), item.lines, is_placed=True)


def _not_as_known(
    ledger: FileLedger, items: Sequence[StoredHunk], live: FileLedger | None
) -> Iterator[LedgerHunk]:
    """Yield the hunks whose state or text differs from the last event that clients have received."""
    others = [StoredHunk(hunk, live.lines_of(hunk)) for hunk in live.hunks] if live else []
    of_others = [item for item in others if not any(_is_same(item.hunk, own.hunk) for own in items)]
    for item in (*items, *of_others):
        hunk = _maybe_same(ledger, item.hunk)
        if hunk and (hunk.state != item.hunk.state or (hunk.is_open and ledger.lines_of(hunk) != item.lines)):
            yield hunk


def _maybe_same(ledger: FileLedger, hunk: LedgerHunk) -> LedgerHunk | None:
    return next((other for other in (*ledger.hunks, *ledger.closed) if _is_same(other, hunk)), None)


def _is_same(one: LedgerHunk, other: LedgerHunk) -> bool:
    """Return whether both are the same hunk, by id and session.

    The id alone is not enough, because it contains the provider's call id, which two sessions may share.
    """
    return (one.id, one.session_id) == (other.id, other.session_id)


def _find_unrecorded(stored: StoredSession) -> dict[str, Intent]:
    """Return the last announced write of each file that was never recorded as done. Blocks."""
    # An editor may report a file by another name than the call used, through a symbolic link.
    filed = {(call_id, realpath(path)) for call_id, path in stored.state.filed}
    return {
        intent.path: intent
        for intent in stored.state.intents
        if (intent.call_id, realpath(intent.path)) not in filed
    }


def warn_unclear(path: str, what: str, cause: str = "agent-ls ended while it was changing a file") -> Warning:
    """Return the warning that nobody knows who made the content of a file."""
    return Warning(f"{cause}: {path} {what}. Check the file: this change cannot be undone here.", UNSETTLED)


def _may_come_late(path: str, owner: Owner | None) -> Warning:
    return Warning(
        f"The former owner of this session ({owner}) was about to change {path}. If that process continues, it "
        "may still write the change, which you could not undo here. End that process, or check the file later.",
        UNSETTLED,
    )


def stored_hunks(events: Iterable[bytes]) -> dict[str, list[StoredHunk]]:
    """Return the last recorded state of each hunk, by path, in the order of first mention."""
    found: dict[str, dict[str, StoredHunk]] = {}
    for encoded in events:
        if not any(kind in encoded[:200] for kind in _KINDS):
            continue
        envelope = event_codec.decode(encoded)
        match envelope.event if envelope else None:
            case FileChange(path=path, hunks=hunks):
                found.setdefault(path, {})  # a binary file has no hunks
                for hunk in hunks:
                    found[path][hunk.id] = StoredHunk(
                        LedgerHunk(agent_lines=hunk.lines, **shared_fields(hunk)), hunk.lines
                    )
            case HunkStateChanged(path=path, hunks=hunks):
                for hunk in hunks:
                    known = found.setdefault(path, {}).get(hunk.id)
                    # As long as nobody else changes the hunk, its text is the text that the agent wrote.
                    agent_lines = (
                        known.hunk.agent_lines if known and hunk.state not in _AS_WRITTEN else hunk.lines
                    )
                    is_beside = known.is_beside if known else hunk.state == "proposed"
                    stored = StoredHunk(
                        LedgerHunk(agent_lines=agent_lines, **shared_fields(hunk)),
                        hunk.lines,
                        is_beside=is_beside,
                        is_looked=hunk.looked,
                    )
                    found[path][hunk.id] = stored
            case _:
                pass
    return {path: list(hunks.values()) for path, hunks in found.items()}
