"""Ledgers built again when a stored session is opened: hunks as its log tells them, files as they are now.

A killed process may have written a file and not said so. Its log announced the write (an intent): when the file holds
what was to be written, the change is filed now; when it holds what was there before, nothing happened; anything else
is told to the user and never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os.path import dirname, realpath

import anyio.to_thread

from agent_ls.app.change_events import file_change
from agent_ls.app.proposal_notes import orphan_notice
from agent_ls.app.proposals import Proposals, Wait, call_of
from agent_ls.app.relaid_notebooks import user_edited
from agent_ls.app.review_desk import Audience, ReviewDesk
from agent_ls.app.reviewed_file import Proposal, is_text, maybe_bytes, text_of
from agent_ls.app.stored_proposals import Waiting, judged_by, read_waiting, stands_again
from agent_ls.environments.base import Attribution, ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.environments.local.commit import is_written_in_place, sweep
from agent_ls.loop import event_codec
from agent_ls.loop.events import FileChange, Hunk, HunkStateChanged, RecordedEvent, Warning
from agent_ls.review.agent_edits import agent_edit
from agent_ls.review.coming_back import is_missing
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import Change, FileLedger
from agent_ls.review.restore import StoredHunk, restore
from agent_ls.store.journal import NO_FILE, Intent, Place, fingerprint, text_fingerprint
from agent_ls.store.locks import Owner
from agent_ls.store.reader import StoredSession
from agent_ls.store.sessions import OpenSession

UNSETTLED = "unsettled_change"

_AS_WRITTEN = ("pending", "proposed")

_KINDS = (b'"kind":"file_change"', b'"kind":"hunk_state"')


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the log says of files, and what they hold.

    `hunks` and `intents` are by path. `now` has each of those files that can be read, None for one that does not
    exist; `preimages` the old contents that were kept, by name. `waiting` are calls that wait for verdicts. `late` has
    the files that a process which was put out of its right, `put_out`, may still write.
    """

    hunks: Mapping[str, list[StoredHunk]]
    intents: Mapping[str, Intent]
    now: Mapping[str, bytes | None]
    preimages: Mapping[str, bytes]
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    late: frozenset[str] = frozenset()
    put_out: Owner | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """`events` belong to the turn that was cut; `changes` are ledgers, each with what is not as it was stored.

    `proposals` stand beside files again. `waiting` are the calls whose proposals these are, as far as they wait for
    verdicts; `decided` those that have nothing left to wait for, though their process ended before they did. `missing`
    are hunks, by file, that were open and are in none.
    """

    events: tuple[RecordedEvent, ...] = ()
    changes: tuple[Change, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    decided: tuple[Waiting, ...] = ()
    missing: Mapping[str, tuple[StoredHunk, ...]] = field(default_factory=dict)

    @property
    def paths(self) -> set[str]:
        ledgers = {change.ledger.path for change in self.changes}
        return ledgers | {proposal.write.path for proposal in self.proposals}

    @property
    def proposed(self) -> dict[str, str]:
        """The call of each hunk that waits, of the calls that wait."""
        calls = {it.attribution.call_id for it in self.waiting}
        return {
            hunk.id: hunk.call_id for it in self.proposals for hunk in it.waiting if hunk.call_id in calls
        }


async def gather(
    opened: OpenSession,
    stored: StoredSession,
    files: ExecutionEnvironment,
    ledger: Callable[[str], object] = lambda path: None,
) -> Evidence:
    """Reads what `find` needs, and removes half-written files of a process that was killed or put out of its right.

    Files that cannot be read are left out: nothing is guessed of them. `ledger` is what is known of a file by now; a
    file of which more is known than when it was read is read again, so `find` is to follow before anything else does.
    """

    session_id = stored.header.session_id

    def from_store() -> Evidence:
        waiting = read_waiting(opened, session_id, stored.fold.reviews.values())
        verdicts = judged_by((event.encoded for event in stored.events), waiting)
        waiting = {id_: replace(it, judged=tuple(verdicts.get(id_, ()))) for id_, it in waiting.items()}
        hunks = stored_hunks(event.encoded for event in stored.events)
        wanted = {path: items for path, items in hunks.items() if any(item.awaits for item in items)}
        intents = _unfiled(stored)
        names = {intent.preimage for intent in intents.values()}
        late = frozenset(
            path
            for path, intent in intents.items()
            if opened.put_out and opened.put_out.pid == intent.pid and is_written_in_place(path)
        )
        preimages = {name: data for name in names if (data := opened.kept(name)) is not None}
        for intent in stored.fold.intents:
            is_put_out = opened.put_out is not None and opened.put_out.pid == intent.pid
            sweep([dirname(realpath(intent.path))], intent.pid, is_put_out=is_put_out)
        by_path = {path: hunks.get(path, []) for path in (*wanted, *intents)}
        return Evidence(by_path, intents, {}, preimages, waiting, late, opened.put_out)

    known = await anyio.to_thread.run_sync(from_store)
    now: dict[str, bytes | None] = {}
    seen: dict[str, object] = {}
    while unread := [path for path in known.hunks if path not in seen or seen[path] is not ledger(path)]:
        for path in unread:
            seen[path] = ledger(path)
            now.pop(path, None)
            with suppress(EnvError):
                now[path] = await maybe_bytes(files, path)
    return replace(known, now=now)


def find(desk: ReviewDesk, stored: StoredSession, evidence: Evidence) -> Found:
    """What the log and the files come to together, beside the hunks that the desk has of other sessions."""
    events: list[RecordedEvent] = []
    changes: list[Change] = []
    proposals: list[Proposal] = []
    missing: dict[str, tuple[StoredHunk, ...]] = {}
    look = _Look(desk, stored, evidence)
    for path, items in evidence.hunks.items():
        if path in evidence.now:
            ledger, told = look.ledger_and_events(path)
            found, lost = look.proposals(path)
            proposals += found
            ledger = replace(ledger, closed=(*ledger.closed, *lost))
            if items or told:
                changes.append(Change(ledger, tuple(_not_as_known(ledger, items, desk.ledger(path)))))
            events += told
            if lost_here := tuple(item for item in items if is_missing(ledger, item)):
                missing[path] = lost_here
        elif path in evidence.intents:
            events.append(_unsettled(path, "cannot be read"))
    waits = {proposal.attribution.call_id for proposal in proposals if proposal.waiting}
    waiting: list[Waiting] = []
    decided: list[Waiting] = []
    for call_id, it in evidence.waiting.items():
        (waiting if call_id in waits else decided).append(it)
    return Found(tuple(events), tuple(changes), tuple(proposals), tuple(waiting), tuple(decided), missing)


def stand_found(proposals: Proposals, found: Found, audience: Audience) -> None:
    """What was proposed stands beside its files again, and the calls that waited for verdicts on it wait on.

    Of a call that does not, the model is told the verdicts that there were: it never got its result.
    """
    for it in found.waiting:
        own = [proposal for proposal in found.proposals if proposal.call == call_of(it.attribution)]
        proposals.wait_again(Wait(it.attribution, it.writes, list(it.judged)), own, "editor")
    waiting = {call_of(it.attribution) for it in found.waiting}
    for proposal in found.proposals:
        if proposal.call not in waiting:
            proposals.stand(proposal, "editor")
    for it in found.decided:
        if it.judged:
            audience.notice(orphan_notice(it.judged, audience.files.working_directory()))


@dataclass(frozen=True, slots=True)
class _Look:
    desk: ReviewDesk
    stored: StoredSession
    evidence: Evidence

    def ledger_and_events(self, path: str) -> tuple[FileLedger, list[RecordedEvent]]:
        """The ledger as of now, and what is to be told of a write that was under way."""
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
            return as_it_is, [_unsettled(path, "is neither what it was before nor what it was to be")]
        before = self.evidence.preimages.get(intent.preimage)
        if not is_text(now) or not is_text(before) or (before is None and intent.before != NO_FILE):
            return as_it_is, [_unsettled(path, "was changed, and what it held before is not known here")]
        return self._filed(path, intent, text_of(before), text_of(now))

    def proposals(self, path: str) -> tuple[list[Proposal], list[LedgerHunk]]:
        """What stands beside the file again, and hunks that have no place any more."""
        stored = [it for it in self.evidence.hunks[path] if it.is_beside and it.awaits]
        live = self.desk.files.get(path)
        known = {hunk.id for it in live.proposals for hunk in it.hunks} if live else set()
        standing = self.stored.fold.standings.get(path)
        places, text_then = (standing.places, standing.text) if standing else ({}, "?")
        found: list[Proposal] = []
        lost: list[LedgerHunk] = []
        for call_id in dict.fromkeys(it.hunk.call_id for it in stored):
            hunks = [it for it in stored if it.hunk.call_id == call_id and it.hunk.id not in known]
            if not hunks:
                continue
            who = Attribution(self.stored.header.session_id, hunks[0].hunk.turn_id, call_id)
            waiting = self.evidence.waiting.get(call_id) or Waiting(who, ())
            proposal, gone = stands_again(path, hunks, waiting, self.evidence.now[path], places, text_then)
            lost += gone
            if proposal.hunks:
                found.append(proposal)
        return found, lost

    def _places(self, path: str, text: str | None) -> Mapping[str, Place]:
        standing = self.stored.fold.standings.get(path)
        return standing.places if standing and standing.text == text_fingerprint(text) else {}

    def _filed(
        self, path: str, intent: Intent, before: str | None, now: str | None
    ) -> tuple[FileLedger, list[RecordedEvent]]:
        header = self.stored.header
        author = Attribution(header.session_id, intent.turn_id, intent.call_id)
        change = agent_edit(self._restored(path, before), now, author)
        event = file_change(before, now, change, call_id=intent.call_id, folder=header.workspace_folder)
        return change.ledger, [event]

    def _restored(self, path: str, text: str | None) -> FileLedger:
        """The session's hunks in this text, with those that other sessions have there."""
        live, places = self.desk.ledger(path), self._places(path, text)
        items = [item for item in self.evidence.hunks[path] if not item.is_beside]
        if live is None:
            return restore(path, [_at(item, places) for item in items], text)
        live = user_edited(live, text).ledger
        own = [_at(item, places) for item in items if _maybe_same(live, item.hunk) is None]
        if not own:
            return live
        others = [StoredHunk(hunk, live.lines_of(hunk), is_placed=True) for hunk in live.hunks]
        merged = restore(path, [*others, *own], text)
        return replace(merged, closed=(*live.closed, *merged.closed))


def _at(item: StoredHunk, places: Mapping[str, Place]) -> StoredHunk:
    if item.hunk.id not in places:
        return item
    return StoredHunk(_moved_to(item.hunk, places), item.lines, is_placed=True)


def _moved_to(hunk: LedgerHunk, places: Mapping[str, Place]) -> LedgerHunk:
    if hunk.id not in places:
        return hunk
    base_start, base_end, start, end = places[hunk.id]
    return replace(hunk, base_start=base_start, base_end=base_end, start=start, end=end)


def _not_as_known(
    ledger: FileLedger, items: Sequence[StoredHunk], live: FileLedger | None
) -> Iterator[LedgerHunk]:
    """Hunks that clients know, but not like this."""
    others = [StoredHunk(hunk, live.lines_of(hunk)) for hunk in live.hunks] if live else []
    of_others = [item for item in others if not any(_is_same(item.hunk, own.hunk) for own in items)]
    for item in (*items, *of_others):
        hunk = _maybe_same(ledger, item.hunk)
        if hunk and (hunk.state != item.hunk.state or (hunk.is_open and ledger.lines_of(hunk) != item.lines)):
            yield hunk


def _maybe_same(ledger: FileLedger, hunk: LedgerHunk) -> LedgerHunk | None:
    return next((other for other in (*ledger.hunks, *ledger.closed) if _is_same(other, hunk)), None)


def _is_same(one: LedgerHunk, other: LedgerHunk) -> bool:
    """Ids are made of what the provider calls a call, which two sessions may share."""
    return (one.id, one.session_id) == (other.id, other.session_id)


def _unfiled(stored: StoredSession) -> dict[str, Intent]:
    """The last write that was announced for each file and never told of. Blocks."""
    # An editor may tell of a file by another name than the call's: through a link.
    filed = {(call_id, realpath(path)) for call_id, path in stored.fold.filed}
    return {
        intent.path: intent
        for intent in stored.fold.intents
        if (intent.call_id, realpath(intent.path)) not in filed
    }


def _unsettled(path: str, what: str) -> Warning:
    return Warning(
        f"agent-ls was ended while it changed {path}, which {what}. Look at it: this change cannot be undone here.",
        UNSETTLED,
    )


def _may_come_late(path: str, owner: Owner | None) -> Warning:
    return Warning(
        f"The former owner of this session ({owner}) was about to change {path}. That file is written in place, so the "
        "change may still come when that process goes on, and cannot be undone here then. End that process, or look "
        "at the file when it goes on.",
        UNSETTLED,
    )


def stored_hunks(events: Iterable[bytes]) -> dict[str, list[StoredHunk]]:
    """The last that a log says of each hunk, by path, in the order of their first mention."""
    found: dict[str, dict[str, StoredHunk]] = {}
    for encoded in events:
        if not any(kind in encoded[:200] for kind in _KINDS):
            continue
        envelope = event_codec.decode(encoded)
        match envelope.event if envelope else None:
            case FileChange(path=path, hunks=hunks):
                for hunk in hunks:
                    found.setdefault(path, {})[hunk.id] = StoredHunk(
                        _ledger_hunk(hunk, hunk.lines), hunk.lines
                    )
            case HunkStateChanged(path=path, hunks=hunks):
                for hunk in hunks:
                    known = found.setdefault(path, {}).get(hunk.id)
                    # What the agent wrote is what stood there while nobody else had touched it.
                    agent_lines = (
                        known.hunk.agent_lines if known and hunk.state not in _AS_WRITTEN else hunk.lines
                    )
                    is_beside = known.is_beside if known else hunk.state == "proposed"
                    stored = StoredHunk(_ledger_hunk(hunk, agent_lines), hunk.lines, is_beside=is_beside)
                    found[path][hunk.id] = stored
            case _:
                pass
    return {path: list(hunks.values()) for path, hunks in found.items()}


def _ledger_hunk(hunk: Hunk, agent_lines: tuple[str, ...]) -> LedgerHunk:
    return LedgerHunk(
        id=hunk.id,
        session_id=hunk.session_id,
        turn_id=hunk.turn_id,
        call_id=hunk.call_id,
        what=hunk.what,
        state=hunk.state,
        base_start=hunk.base_start,
        base_end=hunk.base_end,
        start=hunk.start,
        end=hunk.end,
        base_lines=hunk.base_lines,
        agent_lines=agent_lines,
        link=hunk.link,
        later_turns=hunk.later_turns,
    )
