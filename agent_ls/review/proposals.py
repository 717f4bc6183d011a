"""Hunks that stand beside a file: what a call would change in it, and where that is in the text of this moment.

With review `before` nothing is written until a person keeps it (PROTOCOL, Edits). A sheet holds what one call proposes
for one file, and the text that this was made for; each new text of the file is compared with that one:

    proposed   its lines stand somewhere, and that is its place; the user's typing elsewhere moves it
    stale      the user rewrote its place, or another change lands there. Put back (his undo), it is proposed again
    kept       it was kept, or the user made the same change himself; final
    undone     refused; final
    gone       dropped with the call that proposed it; final

Values only: it does not know who asks, nor how a file is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.patch.hunks import LineHunk, hunk_ids
from agent_ls.patch.lines import apply_hunks, line_hunks
from agent_ls.patch.rebase import AlreadyThere, Conflict, Placed, RebasedHunk, rebase_hunks
from agent_ls.review.hunks import Author, LedgerHunk, Lines, State, What, new_hunk
from agent_ls.review.portions import Part, parts
from agent_ls.text import split_lines

WAITING: frozenset[State] = frozenset({"proposed", "stale"})
"""The states in which a proposal waits for a verdict."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """`hunks` have their place in `origin` as base range, in `current` as range. None: there is no file.

    `is_opaque`: the content is no text; its one hunk has no lines, and no place.
    """

    path: str
    origin: Lines | None
    current: Lines | None
    hunks: tuple[LedgerHunk, ...]
    is_opaque: bool = False

    @property
    def waiting(self) -> tuple[LedgerHunk, ...]:
        return tuple(hunk for hunk in self.hunks if hunk.state in WAITING)

    @property
    def is_whole(self) -> bool:
        """It is about the file as a whole: made, deleted, or no text."""
        return self.is_opaque or any(hunk.what != "content" for hunk in self.hunks)


def propose(path: str, before: str | None, after: str | None, author: Author) -> Sheet:
    """What leads from `before`, which is the file's text now, to `after`; they differ."""
    old, new = _lines(before), _lines(after)
    if old is None or new is None:
        what: What = "create" if old is None else "delete"
        return _whole(path, what, old, new or (), author)
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
    return Sheet(path, old, old, hunks)


def propose_bytes(path: str, what: What, author: Author) -> Sheet:
    """A change between contents of which one is no text."""
    return replace(_whole(path, what, None, (), author), is_opaque=True)


def moved(sheet: Sheet, text: str | None) -> Sheet:
    """The sheet beside the file's new text."""
    lines = _lines(text)
    if sheet.is_opaque or lines == sheet.current:
        return sheet
    if sheet.is_whole:
        hunks = tuple(_whole_beside(hunk, sheet.origin, lines) for hunk in sheet.hunks)
        return replace(sheet, current=lines, hunks=hunks)
    if lines is None or sheet.origin is None:
        return replace(_with_states(sheet, {hunk.id for hunk in sheet.waiting}, "stale"), current=lines)
    runs = [
        LineHunk(hunk.base_start, hunk.base_end, hunk.base_lines, hunk.agent_lines) for hunk in sheet.waiting
    ]
    found = dict(
        zip((hunk.id for hunk in sheet.waiting), rebase_hunks(sheet.origin, runs, lines), strict=True)
    )
    hunks = tuple(_beside(hunk, found[hunk.id]) if hunk.id in found else hunk for hunk in sheet.hunks)
    return replace(sheet, current=lines, hunks=hunks)


def stand_beside(path: str, hunks: Sequence[LedgerHunk], origin: str | None, text: str | None) -> Sheet:
    """Stored proposals, whose places are known in the text `origin`, beside the file as it is now."""
    lines = _lines(origin)
    placed = tuple(
        replace(hunk, base_start=hunk.start, base_end=hunk.end)
        for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end))
    )
    return moved(Sheet(path, lines, lines, placed), text)


def whole_again(path: str, hunk: LedgerHunk, text: str | None) -> Sheet:
    """The stored proposal of a file that is to be made or deleted."""
    origin = None if hunk.what == "create" else hunk.base_lines
    lines = _lines(text)
    return Sheet(path, origin, lines, (_whole_beside(hunk, origin, lines),))


def stand_again(
    path: str, hunks: Sequence[LedgerHunk], text: str | None, placed: Collection[str]
) -> tuple[tuple[Sheet, ...], tuple[LedgerHunk, ...]]:
    """Proposals of a call as they were stored, beside the file as it is now; and those that have no place any more.

    `placed`: hunks of which it is known that they stand where they were stored. Any other is where its lines occur
    exactly once; where only the proposed ones do, it is kept; else it is stale, and stays so: nothing is guessed. One
    that has no lines at all is `gone`: what is no text is not stored.
    """
    lines = _lines(text)
    sheets: list[Sheet] = []
    standing: list[LedgerHunk] = []
    stale: list[LedgerHunk] = []
    lost: list[LedgerHunk] = []
    for hunk in hunks:
        if not hunk.base_lines and not hunk.agent_lines:
            lost.append(replace(hunk, state="gone"))
        elif hunk.what != "content":
            sheets.append(whole_again(path, hunk, text))
        else:
            found = _found_again(hunk, lines, is_placed=hunk.id in placed)
            (stale if found.state == "stale" else standing).append(found)
    standing.sort(key=lambda hunk: (hunk.start, hunk.end))
    if standing:
        sheets.append(Sheet(path, lines, lines, tuple(standing)))
    if stale:  # without the text that they were made for, no text is one that they fit
        sheets.append(Sheet(path, None, lines, tuple(stale)))
    return tuple(sheets), tuple(lost)


def _found_again(hunk: LedgerHunk, lines: Lines | None, *, is_placed: bool) -> LedgerHunk:
    if lines is None:
        return replace(hunk, state="stale")
    places = [hunk.start] if is_placed else _places(hunk.base_lines, lines)
    if len(places) == 1 and lines[places[0] : places[0] + len(hunk.base_lines)] == hunk.base_lines:
        start, end = places[0], places[0] + len(hunk.base_lines)
        return replace(hunk, state="proposed", base_start=start, base_end=end, start=start, end=end)
    return replace(hunk, state="kept" if len(_places(hunk.agent_lines, lines)) == 1 else "stale")


def _places(wanted: Lines, lines: Lines) -> list[int]:
    """Where these lines occur; no lines are nowhere."""
    if not wanted:
        return []
    return [k for k, line in enumerate(lines) if line == wanted[0] and lines[k : k + len(wanted)] == wanted]


def text_with(current: str | None, hunks: Iterable[LedgerHunk]) -> str | None:
    """The file's text with these proposed hunks, which have their places in it. None: it is deleted.

    Of two on the same lines (of two calls) the first one counts.
    """
    runs: list[LineHunk] = []
    for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end)):
        if hunk.what != "content":
            return "".join(hunk.agent_lines) if hunk.what == "create" else None
        if not runs or hunk.start >= runs[-1].base_end:
            runs.append(LineHunk(hunk.start, hunk.end, hunk.base_lines, hunk.agent_lines))
    return "".join(apply_hunks(_lines(current) or (), runs))


def decided(sheet: Sheet, ids: Collection[str], state: State) -> Sheet:
    """These hunks have their verdict, and nothing about the text has changed."""
    return _with_states(sheet, ids, state)


def landed(sheet: Sheet, ids: Collection[str], after: str | None) -> tuple[Sheet, ...]:
    """These hunks have been written: the file's text, which was `sheet.current`, is `after`.

    Where that is exactly what was to come of it, the places of the others are known exactly; they are then beside the
    new text as if they had been proposed for it. Else they are looked for as after any change.
    """
    mine = [hunk for hunk in sheet.hunks if hunk.id in ids]
    done = decided(sheet, ids, "kept")
    lines = _lines(after)
    if sheet.is_whole or lines is None or text_with("".join(sheet.current or ()), mine) != after:
        return (moved(done, after),)
    written = [(at, hunk) for at, hunk in enumerate(sheet.hunks) if hunk.id in ids]
    shifted = tuple(
        _shifted(hunk, written, at) for at, hunk in enumerate(done.hunks) if hunk.state == "proposed"
    )
    rest = replace(done, hunks=tuple(hunk for hunk in done.hunks if hunk.state != "proposed"))
    return tuple(it for it in (moved(rest, after), Sheet(sheet.path, lines, lines, shifted)) if it.hunks)


def with_lines(sheet: Sheet, lines: Mapping[str, Lines]) -> Sheet:
    """The sheet with other new lines for these hunks."""
    hunks = tuple(replace(hunk, agent_lines=lines.get(hunk.id, hunk.agent_lines)) for hunk in sheet.hunks)
    return replace(sheet, hunks=hunks)


def divided(sheet: Sheet, hunk_id: str, first: int, last: int) -> tuple[Sheet, str]:
    """The sheet with lines [first, last) of a proposed hunk as a hunk of their own, and its id (portions.py).

    Raises:
        ValueError: there are no such lines, or the hunk is not one of lines.
    """
    hunk = next((found for found in sheet.hunks if found.id == hunk_id), None)
    if hunk is None or hunk.state != "proposed":
        raise ValueError("it has no lines to choose from: only a hunk that fits the text can be divided")
    if sheet.is_whole:
        raise ValueError(
            "a whole file is kept or undone as one; keep it with a replacement to change its text"
        )
    found = parts(hunk.base_lines, hunk.agent_lines, first, last)
    if first == 0 and last == len(hunk.agent_lines):
        return sheet, hunk_id
    names = _names(hunk_id, {other.id for other in sheet.hunks})
    if found.head[1]:
        named = ((hunk_id, found.head), (names[0], found.chosen), (names[1], found.tail))
    else:
        named = ((hunk_id, found.head), (names[0], found.chosen), (hunk_id, found.tail))
    at = sheet.hunks.index(hunk)
    pieces = _laid_out(hunk, named)
    return replace(sheet, hunks=(*sheet.hunks[:at], *pieces, *sheet.hunks[at + 1 :])), names[0]


def _laid_out(hunk: LedgerHunk, named: Sequence[tuple[str, Part]]) -> list[LedgerHunk]:
    """Parts of a hunk one after the other, those without new lines left out."""
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


def _names(hunk_id: str, taken: Collection[str]) -> list[str]:
    numbered = (f"{hunk_id}.{n}" for n in range(1, len(taken) + 3))
    return [name for name in numbered if name not in taken]


def _shifted(hunk: LedgerHunk, written: Sequence[tuple[int, LedgerHunk]], index: int) -> LedgerHunk:
    """At its exact place after others were written, each given with its index in the sheet."""
    by = sum(
        len(other.agent_lines) - (other.end - other.start)
        for at, other in written
        if (other.start, at) < (hunk.start, index)
    )
    start, end = hunk.start + by, hunk.end + by
    return replace(hunk, base_start=start, base_end=end, start=start, end=end)


def _whole(path: str, what: What, old: Lines | None, new: Lines, author: Author) -> Sheet:
    hunk = new_hunk(author, what, old or (), new)
    end = len(old or ())
    run = LineHunk(0, end, old or (), new)
    (id_,) = _ids(author, path, [run])
    placed = replace(hunk, id=id_, state="proposed", base_end=end, end=end)
    return Sheet(path, old, old, (placed,))


def _ids(author: Author, path: str, runs: Sequence[LineHunk]) -> Sequence[str]:
    return hunk_ids(f"{author.session_id}/{author.call_id}", path, runs)


def _beside(hunk: LedgerHunk, found: RebasedHunk) -> LedgerHunk:
    match found:
        case Placed(run):
            return replace(hunk, state="proposed", start=run.base_start, end=run.base_end)
        case AlreadyThere():
            return replace(hunk, state="kept")
        case Conflict(start=start, end=end):
            return replace(hunk, state="stale", start=start, end=end)


def _whole_beside(hunk: LedgerHunk, origin: Lines | None, lines: Lines | None) -> LedgerHunk:
    if hunk.state not in WAITING:
        return hunk
    if lines == (hunk.agent_lines if hunk.what == "create" else None):
        return replace(hunk, state="kept")
    return replace(hunk, state="proposed" if lines == origin else "stale", start=0, end=len(lines or ()))


def _with_states(sheet: Sheet, ids: Collection[str], state: State) -> Sheet:
    hunks = tuple(replace(hunk, state=state) if hunk.id in ids else hunk for hunk in sheet.hunks)
    return replace(sheet, hunks=hunks)


def _lines(text: str | None) -> Lines | None:
    return None if text is None else tuple(split_lines(text))
