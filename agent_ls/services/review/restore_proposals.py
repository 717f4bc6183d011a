"""Rebuild proposals from the log after their process has ended, relative to the current files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.types import Hunk, HunkStateChanged
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.proposals import (
    PENDING_STATES,
    HunkGroup,
    place_stored,
    restore_proposals,
    restore_whole_file,
)
from agent_ls.review.restore import StoredHunk
from agent_ls.services.review.proposal_notes import JudgedHunk
from agent_ls.services.review.proposals import write_kind
from agent_ls.services.review.reviewed_file import Proposal, is_text, text_of
from agent_ls.store.journal import HunkPosition, ProposalRecord, text_fingerprint
from agent_ls.store.sessions import OpenSession

_HUNK_STATE = b'"kind":"hunk_state"'


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that has proposed `writes` and has not ended. `judged` are the decisions so far."""

    attribution: Attribution
    writes: tuple[FileWrite, ...]
    judged: tuple[JudgedHunk, ...] = ()


def read_waiting(
    opened: OpenSession, session_id: str, reviews: Iterable[ProposalRecord]
) -> dict[str, WaitingCall]:
    """Return the waiting calls by call id, except calls whose file contents are not all stored. Blocks."""
    found: dict[str, WaitingCall] = {}
    for review in reviews:
        names = {name for file in review.files for name in (file.before, file.after) if name is not None}
        blobs = {name: data for name in names if (data := opened.read_blob(name)) is not None}
        if names == blobs.keys():
            writes = tuple(
                FileWrite(
                    file.path,
                    None if file.after is None else blobs[file.after],
                    None if file.before is None else blobs[file.before],
                    file.mode_from,
                )
                for file in review.files
            )
            who = Attribution(session_id, review.turn_id, review.call_id)
            found[review.call_id] = WaitingCall(who, writes)
    return found


def read_decisions(events: Iterable[bytes], calls: Iterable[str]) -> dict[str, list[JudgedHunk]]:
    """Return the recorded decisions about the proposals of these calls, by call id, from old to new."""
    wanted = set(calls)
    proposed: dict[str, Hunk] = {}
    judged: dict[str, JudgedHunk] = {}
    for encoded in events if wanted else ():
        envelope = event_codec.decode(encoded) if _HUNK_STATE in encoded[:200] else None
        if envelope is None or not isinstance(envelope.event, HunkStateChanged):
            continue
        change = envelope.event
        for hunk in change.hunks:
            if hunk.call_id not in wanted:
                continue
            if hunk.state in PENDING_STATES:  # a kept hunk is pending again if the write was reverted
                proposed[hunk.id] = hunk
                judged.pop(hunk.id, None)
            elif hunk.state == "undone":
                judged[hunk.id] = JudgedHunk(change.path, hunk, "undone", None, change.comment)
            elif hunk.state == "kept":
                judged[hunk.id] = _restore_decision(change, hunk, proposed.get(hunk.id, hunk))
    found: dict[str, list[JudgedHunk]] = {}
    for it in judged.values():
        found.setdefault(it.hunk.call_id, []).append(it)
    return found


def _restore_decision(change: HunkStateChanged, hunk: Hunk, proposed: Hunk) -> JudgedHunk:
    shown = replace(hunk, lines=proposed.lines)
    if change.by != "user":
        return JudgedHunk(change.path, shown, "made")
    own = None if hunk.lines == proposed.lines else "".join(hunk.lines)
    return JudgedHunk(change.path, shown, "kept", own, change.comment)


def restore_proposal(
    path: str,
    stored: Sequence[StoredHunk],
    waiting: WaitingCall,
    now: bytes | None,
    positions: Mapping[str, HunkPosition],
    text_of_positions: str,
) -> tuple[Proposal, tuple[LedgerHunk, ...]]:
    """Return the proposal of a call for a file with the content `now`, and hunks without a position.

    `stored` are the proposal's pending hunks. `positions` are positions of hunks in the text with the
    fingerprint `text_of_positions`.
    """
    write = next((it for it in waiting.writes if it.path == path), None)
    text = text_of(now)
    hunks = [place_hunk(item.hunk, positions) for item in stored]
    published = {it.hunk.id: (it.hunk.state, it.hunk.base_lines, it.hunk.agent_lines) for it in stored}
    lost: tuple[LedgerHunk, ...] = ()
    groups: tuple[HunkGroup, ...]
    if write and not (is_text(write.base) and is_text(write.content)):
        groups = (HunkGroup(path, None, None, tuple(hunks), is_opaque=True),)
    elif write and write_kind(write) != "content":
        groups = tuple(restore_whole_file(path, hunk, text) for hunk in hunks)
    elif (
        write
        and text_fingerprint(text_of(write.base)) == text_of_positions
        and all(hunk.id in positions for hunk in hunks)
    ):
        groups = (place_stored(path, hunks, text_of(write.base), text),)
    else:
        placed = positions if text_fingerprint(text) == text_of_positions else {}
        groups, lost = restore_proposals(path, hunks, text, placed)
    return Proposal(waiting.attribution, write or FileWrite(path, None, None), groups, published), lost


def place_hunk(hunk: LedgerHunk, positions: Mapping[str, HunkPosition]) -> LedgerHunk:
    if hunk.id not in positions:
        return hunk
    base_start, base_end, start, end = positions[hunk.id]
    return replace(hunk, base_start=base_start, base_end=base_end, start=start, end=end)
