"""Proposed hunks of a tool call whose changes are not written yet, tracked while the file's text changes.

With the review setting `before`, a change is written only when the user keeps it. A group holds the proposals of
one call for one file, and the text for which they were made. Each new text of the file is compared with the
stored text. The states of a proposed hunk:

    proposed   the file has its base lines; their position is the hunk's position, and typing elsewhere moves it
    stale      the user changed its base lines, or another change overlaps them; proposed again if that is undone
    kept       the user kept it, or made the same change; final
    undone     the user refused it; final
    gone       dropped together with its call; final

Groups are immutable. They do not depend on who decides, nor on how a file is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.patch.line_diff import apply_hunks, line_hunks
from agent_ls.patch.rebase import AlreadyApplied, Conflict, PlacedHunk, RebasedHunk, rebase_hunks
from agent_ls.review.hunks import Author, HunkKind, HunkState, LedgerHunk, Lines, find_lines, new_hunk
from agent_ls.review.sub_hunks import LinePair, free_ids, split_hunk_lines
from agent_ls.text import split_lines

PENDING_STATES: frozenset[HunkState] = frozenset({"proposed", "stale"})
"""The states in which a proposal awaits a decision."""


@dataclass(frozen=True, slots=True)
class HunkGroup:
    """The proposals of one call for one file.

    `origin` is the text for which the proposals were made, `current` the file's text now; None means no file.
    `base_start` and `base_end` of a hunk are lines of `origin`; `start` and `end` are lines of `current`.
    `is_opaque`: the content is not text, and the only hunk has no lines and no position.
    """

    path: str
    origin: Lines | None
    current: Lines | None
    hunks: tuple[LedgerHunk, ...]
    is_opaque: bool = False

    @property
    def pending_hunks(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for hunk in self.hunks if hunk.state in PENDING_STATES)

    @property
    def is_whole(self) -> bool:
        """Return whether the group concerns the whole file: created, deleted, or not text."""
        return self.is_opaque or any(hunk.what != "content" for hunk in self.hunks)


def propose(path: str, before: str | None, after: str | None, author: Author) -> HunkGroup:
    """Return proposals that change `before`, the file's current text, into `after`. The two texts must differ."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        what: HunkKind = "create" if old is None else "delete"
        return _whole_file_group(path, what, old, new or (), author)
    runs = line_hunks(old, new)
    hunks = tuple(
        replace(
            new_hunk(author, "content", run.removed, run.added),
            id=id_,
            state="proposed",
            base_start=run.base_start,
            base_end=run.base_end,
            start=run.base_start,
            end=run.base_end,
        )
        for run, id_ in zip(runs, _ids(author, path, runs), strict=True)
    )
    return HunkGroup(path, old, old, hunks)


def propose_bytes(path: str, what: HunkKind, author: Author) -> HunkGroup:
    """Return the proposal of a change whose old or new content is not text."""
    return replace(_whole_file_group(path, what, None, (), author), is_opaque=True)


def rebase_group(group: HunkGroup, text: str | None) -> HunkGroup:
    """Return the group after the file's text has become `text`: its hunks get new positions and states."""
    lines = _lines(text)
    if group.is_opaque or lines == group.current:
        return group
    if group.is_whole:
        hunks = tuple(_whole_file_state(hunk, group.origin, lines) for hunk in group.hunks)
        return replace(group, current=lines, hunks=hunks)
    if lines is None or group.origin is None:
        return replace(_with_states(group, {hunk.id for hunk in group.pending_hunks}, "stale"), current=lines)
    runs = [
        LineHunk(hunk.base_start, hunk.base_end, hunk.base_lines, hunk.agent_lines)
        for hunk in group.pending_hunks
    ]
    found = dict(
        zip((hunk.id for hunk in group.pending_hunks), rebase_hunks(group.origin, runs, lines), strict=True)
    )
    hunks = tuple(_apply_rebase(hunk, found[hunk.id]) if hunk.id in found else hunk for hunk in group.hunks)
    return replace(group, current=lines, hunks=hunks)


def place_stored(path: str, hunks: Sequence[LedgerHunk], origin: str | None, text: str | None) -> HunkGroup:
    """Return a group of stored proposals for the file's current `text`. Their positions are lines of `origin`."""
    lines = _lines(origin)
    placed = tuple(
        replace(hunk, base_start=hunk.start, base_end=hunk.end)
        for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))
    )
    return rebase_group(HunkGroup(path, lines, lines, placed), text)


def restore_whole_file(path: str, hunk: LedgerHunk, text: str | None) -> HunkGroup:
    """Return the stored proposal of a file to be created or deleted."""
    origin = None if hunk.what == "create" else hunk.base_lines
    lines = _lines(text)
    return HunkGroup(path, origin, lines, (_whole_file_state(hunk, origin, lines),))


def restore_proposals(
    path: str, hunks: Sequence[LedgerHunk], text: str | None, placed: Collection[str]
) -> tuple[tuple[HunkGroup, ...], tuple[LedgerHunk, ...]]:
    """Return groups of the stored proposals of a call for the current `text`, and the hunks that are lost.

    `placed` are the ids of hunks that are known to be at their stored position. Any other hunk is located where
    its base lines occur exactly once. If instead its new lines occur exactly once, the hunk counts as kept.
    Otherwise the hunk is stale, because no position is guessed. A hunk without lines is lost (`gone`), because
    content that is not text is not stored.
    """
    lines = _lines(text)
    groups: list[HunkGroup] = []
    standing: list[LedgerHunk] = []
    stale: list[LedgerHunk] = []
    lost: list[LedgerHunk] = []
    for hunk in hunks:
        if not hunk.base_lines and not hunk.agent_lines:
            lost.append(replace(hunk, state="gone"))
        elif hunk.what != "content":
            groups.append(restore_whole_file(path, hunk, text))
        else:
            found = _locate_stored(hunk, lines, is_placed=hunk.id in placed)
            (stale if found.state == "stale" else standing).append(found)
    standing.sort(key=lambda hunk: (hunk.start, hunk.end))
    if standing:
        groups.append(HunkGroup(path, lines, lines, tuple(standing)))
    if stale:  # the text that these proposals were made for is unknown, so they have no position
        groups.append(HunkGroup(path, None, lines, tuple(stale)))
    return tuple(groups), tuple(lost)


def _locate_stored(hunk: LedgerHunk, lines: Lines | None, *, is_placed: bool) -> LedgerHunk:
    if lines is None:
        return replace(hunk, state="stale")
    places = [hunk.start] if is_placed else find_lines(hunk.base_lines, lines)
    if len(places) == 1 and lines[places[0] : places[0] + len(hunk.base_lines)] == hunk.base_lines:
        start, end = places[0], places[0] + len(hunk.base_lines)
        return replace(hunk, state="proposed", base_start=start, base_end=end, start=start, end=end)
    return replace(hunk, state="kept" if len(find_lines(hunk.agent_lines, lines)) == 1 else "stale")


def text_with_proposals(current: str | None, hunks: Iterable[LedgerHunk]) -> str | None:
    """Return the file's text with these proposed hunks applied, or None if a hunk deletes the file.

    If two hunks (of two calls) overlap, only the first is applied.
    """
    runs: list[LineHunk] = []
    for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end)):
        if hunk.what != "content":
            return "".join(hunk.agent_lines) if hunk.what == "create" else None
        if not runs or hunk.start >= runs[-1].base_end:
            runs.append(LineHunk(hunk.start, hunk.end, hunk.base_lines, hunk.agent_lines))
    return "".join(apply_hunks(_lines(current) or (), runs))


def mark_decided(group: HunkGroup, ids: Collection[str], state: HunkState) -> HunkGroup:
    """Return the group with the hunks `ids` in `state`. The group's text does not change."""
    return _with_states(group, ids, state)


def mark_written(group: HunkGroup, ids: Collection[str], after: str | None) -> tuple[HunkGroup, ...]:
    """Return the group after the hunks `ids` were written (maybe split in two); this changed the file from
    `group.current` to `after`.

    If `after` is exactly the expected result, the positions of the other hunks are known, and these hunks become
    proposals for the new text. Otherwise `rebase_group` locates the other hunks.
    """
    mine = [hunk for hunk in group.hunks if hunk.id in ids]
    done = mark_decided(group, ids, "kept")
    lines = _lines(after)
    is_placed = not group.is_whole and all(hunk.state == "proposed" for hunk in mine)
    if not is_placed or lines is None or text_with_proposals("".join(group.current or ()), mine) != after:
        return (rebase_group(done, after),)
    written = [(at, hunk) for at, hunk in enumerate(group.hunks) if hunk.id in ids]
    shifted = tuple(
        _shift(hunk, written, at) for at, hunk in enumerate(done.hunks) if hunk.state == "proposed"
    )
    rest = replace(done, hunks=tuple(hunk for hunk in done.hunks if hunk.state != "proposed"))
    return tuple(
        it for it in (rebase_group(rest, after), HunkGroup(group.path, lines, lines, shifted)) if it.hunks
    )


def with_new_lines(group: HunkGroup, lines: Mapping[str, Lines]) -> HunkGroup:
    """Return the group with the new lines of some hunks replaced. `lines` maps hunk ids to new lines."""
    hunks = tuple(replace(hunk, agent_lines=lines.get(hunk.id, hunk.agent_lines)) for hunk in group.hunks)
    return replace(group, hunks=hunks)


def split_proposal(group: HunkGroup, hunk_id: str, first: int, last: int) -> tuple[HunkGroup, str]:
    """Make lines [first, last) of a proposed hunk a separate hunk (see sub_hunks.py).

    Return the group and the id of the separate hunk.

    Raises:
        ValueError: the hunk does not have these lines, or the hunk concerns a whole file.
    """
    hunk = next((found for found in group.hunks if found.id == hunk_id), None)
    if hunk is None or hunk.state != "proposed":
        raise ValueError("this change no longer fits the current text, so it cannot be decided line by line")
    if group.is_whole:
        raise ValueError(
            "a new or deleted file can only be kept or undone as a whole; to change its text, keep the file "
            "with a replacement"
        )
    found = split_hunk_lines(hunk.base_lines, hunk.agent_lines, first, last)
    if first == 0 and last == len(hunk.agent_lines):
        return group, hunk_id
    names = free_ids(hunk_id, {other.id for other in group.hunks})
    if found.head[1]:
        named = ((hunk_id, found.head), (names[0], found.chosen), (names[1], found.tail))
    else:
        named = ((hunk_id, found.head), (names[0], found.chosen), (hunk_id, found.tail))
    at = group.hunks.index(hunk)
    pieces = _lay_out(hunk, named)
    return replace(group, hunks=(*group.hunks[:at], *pieces, *group.hunks[at + 1 :])), names[0]


def _lay_out(hunk: LedgerHunk, named: Sequence[tuple[str, LinePair]]) -> list[LedgerHunk]:
    """Return the parts of a hunk as hunks with consecutive positions. `named` lists the id and the lines of
    each part. Parts without new lines are left out.
    """
    laid = []
    base_at, at = hunk.base_start, hunk.start
    for id_, (old, new) in named:
        base_end, end = base_at + len(old), at + len(old)
        if new:
            laid.append(
                replace(
                    hunk,
                    id=id_,
                    base_start=base_at,
                    base_end=base_end,
                    start=at,
                    end=end,
                    base_lines=old,
                    agent_lines=new,
                )
            )
        base_at, at = base_end, end
    return laid


def _shift(hunk: LedgerHunk, written: Sequence[tuple[int, LedgerHunk]], index: int) -> LedgerHunk:
    """Return the hunk at its new position after the hunks `written` (with their index in the group) were written."""
    by = sum(
        len(other.agent_lines) - (other.end - other.start)
        for at, other in written
        if (other.start, at) < (hunk.start, index)
    )
    start, end = hunk.start + by, hunk.end + by
    return replace(hunk, base_start=start, base_end=end, start=start, end=end)


def _whole_file_group(path: str, what: HunkKind, old: Lines | None, new: Lines, author: Author) -> HunkGroup:
    hunk = new_hunk(author, what, old or (), new)
    end = len(old or ())
    run = LineHunk(0, end, old or (), new)
    (id_,) = _ids(author, path, [run])
    placed = replace(hunk, id=id_, state="proposed", base_end=end, end=end)
    return HunkGroup(path, old, old, (placed,))


def _ids(author: Author, path: str, runs: Sequence[LineHunk]) -> Sequence[str]:
    return hunk_ids(f"{author.session_id}/{author.call_id}", path, runs)


def _apply_rebase(hunk: LedgerHunk, found: RebasedHunk) -> LedgerHunk:
    match found:
        case PlacedHunk(run):
            return replace(hunk, state="proposed", start=run.base_start, end=run.base_end)
        case AlreadyApplied():
            return replace(hunk, state="kept")
        case Conflict(start=start, end=end):
            return replace(hunk, state="stale", start=start, end=end)


def _whole_file_state(hunk: LedgerHunk, origin: Lines | None, lines: Lines | None) -> LedgerHunk:
    if hunk.state not in PENDING_STATES:
        return hunk
    if lines == (hunk.agent_lines if hunk.what == "create" else None):
        return replace(hunk, state="kept")
    return replace(hunk, state="proposed" if lines == origin else "stale", start=0, end=len(lines or ()))


def _with_states(group: HunkGroup, ids: Collection[str], state: HunkState) -> HunkGroup:
    hunks = tuple(replace(hunk, state=state) if hunk.id in ids else hunk for hunk in group.hunks)
    return replace(group, hunks=hunks)


def _lines(text: str | None) -> Lines | None:
    return None if text is None else tuple(split_lines(text))
