"""What a person decides about hunks, carried out: files are looked at, changed where need be, and all are told.

One verdict at a time for a file. It is computed from the file as it is at that moment and, where somebody wrote to it
in between, computed anew. An editor's word that it applied an edit is no proof: its host tells when the text shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace as with_fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_ls.app.change_events import shown
from agent_ls.app.review_notices import replacement_notice, verdict_notice
from agent_ls.app.reviewed_file import ReviewedFile, Undoing, maybe_bytes, text_of
from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events import Hunk
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.verdicts import Decision, narrowed, plan
from agent_ls.text import encode

if TYPE_CHECKING:
    from agent_ls.app.proposal_verdicts import ProposalVerdicts
    from agent_ls.app.review_desk import Audience, ReviewDesk

TRIES = 3  # a file may change between the look and the write; then it is looked at again

TYPED_INSIDE = "you typed inside it: undo it with confirm to lose that too"
TYPED_IN_LINES = "you typed inside it: change its text as you like, then keep or undo it as a whole"
KEEPS_CHANGING = "something else keeps changing the file; try again when it is done"
CLOSED_SESSION = "its session is closed; open it again to decide about its changes"
STALE = (
    "it can no longer be told apart from other changes, so it cannot be undone here: look at the file and change it by "
    "hand, then keep the hunk to put it aside"
)
GONE = "its lines are back as they were: there is nothing left to decide"
LINKED = "it belongs to a move: keep or undo it as a whole"
OTHER_END = "it belongs to a move whose other end stays as it is"
NO_SUCH_HUNK = "no such hunk; open its session first"

Verdict: TypeAlias = Literal["keep", "undo"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which hunks: exactly one of these is given, or ids together with what narrows them."""

    hunk_ids: Sequence[str] | None = None
    path: str | None = None
    turn_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of them. `confirm`: what the user typed inside them may be lost.

    `lines` and `replacement` as in review/verdicts.py, for exactly one hunk.
    """

    verdict: Verdict
    comment: str = ""
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None

    def decision(self, ids: Sequence[str]) -> Decision:
        state: Literal["kept", "undone"] = "kept" if self.verdict == "keep" else "undone"
        return Decision(frozenset(ids), state, self.lines, self.replacement)


@dataclass(slots=True)
class Task:
    """A verdict on hunks of one file, being carried out. `refused` gathers why some are left alone.

    `decided` are the hunks that it was carried out on, as they were; `changed` what came of it.
    """

    ids: frozenset[str]
    asked: Asked
    refused: dict[str, str] = field(default_factory=dict)
    decided: list[Hunk] = field(default_factory=list)
    changed: list[Hunk] = field(default_factory=list)

    def refuse_rest(self, reason: str) -> None:
        done = {hunk.id for hunk in (*self.decided, *self.changed)}
        for id_ in self.ids - done - self.refused.keys():
            self.refused[id_] = reason


class Verdicts:
    def __init__(self, desk: ReviewDesk, proposed: ProposalVerdicts) -> None:
        self._desk = desk
        self._proposed = proposed

    async def carry_out(self, selection: Selection, asked: Asked) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """What changed, and what was left alone with the reason."""
        changed: list[Hunk] = []
        refused: dict[str, str] = {}
        found: set[str] = set()
        ids = self._with_linked(self._ids(selection))
        for done in await self._proposed.carry_out(ids, asked):
            changed += done.changed
            refused |= done.refused
            found |= done.wanted
        selected = self._selected(ids, set(selection.hunk_ids or ()))
        unfit = {_group(hunk) for _, hunks in selected for hunk in hunks if _why_not_moved(hunk, asked)}
        for file, hunks in selected:
            task = Task(frozenset(hunk.id for hunk in hunks), asked)
            for hunk in hunks:
                if hunk.link and _group(hunk) in unfit:
                    task.refused[hunk.id] = _why_not_moved(hunk, asked) or OTHER_END
            await self._in_file(file, task)
            settled = {hunk.id for hunk in task.changed}
            unfit |= {_group(hunk) for hunk in hunks if hunk.id not in settled}
            changed += task.changed
            refused |= task.refused
            found |= task.ids
        settled = {hunk.id for hunk in changed} | refused.keys()
        wanted = found | set(selection.hunk_ids or ())
        refused |= {id_: self._why_closed(id_) for id_ in sorted(wanted - settled)}
        return changed, list(refused.items())

    def _ids(self, chosen: Selection) -> set[str]:
        hunks_by_path = self._desk.open_hunks(
            session_id=chosen.session_id, path=chosen.path, turn_id=chosen.turn_id
        )
        ids = {hunk.id for hunks in hunks_by_path.values() for hunk in hunks}
        return ids if chosen.hunk_ids is None else ids & set(chosen.hunk_ids)

    def _with_linked(self, ids: set[str]) -> set[str]:
        """With the other ends of moves."""
        hunks = [hunk for file in self._desk.files.values() for hunk in file.ledger.open_hunks if hunk.link]
        groups = {_group(hunk) for hunk in hunks if hunk.id in ids}
        return ids | {hunk.id for hunk in hunks if _group(hunk) in groups}

    def _selected(self, wanted: set[str], named: set[str]) -> list[tuple[ReviewedFile, list[LedgerHunk]]]:
        """Hunks by file. A stale one has to be named: it is only put aside by who looked at it.

        What a move took away comes first: when that cannot be brought back, what it made is left alone.
        """
        selected = []
        for file in self._desk.files.values():
            hunks = [hunk for hunk in file.ledger.open_hunks if hunk.id in wanted]
            hunks += [hunk for hunk in file.ledger.closed if hunk.state == "stale" and hunk.id in named]
            if hunks:
                selected.append((file, hunks))
        return sorted(selected, key=lambda it: not any(hunk.link and hunk.what == "delete" for hunk in it[1]))

    async def _in_file(self, file: ReviewedFile, task: Task) -> None:
        audience = self._desk.maybe_audience(file, task.ids)
        if audience is None:
            task.refuse_rest(CLOSED_SESSION)
            return
        async with file.deciding:
            try:
                await self._carried_out(file, task, audience)
            except EnvError as error:
                task.refuse_rest(str(error))
        asked = task.asked
        if asked.replacement is not None:
            text = asked.replacement
            self._desk.notify(
                file, task.decided, lambda name, hunks: replacement_notice(name, hunks, text, asked.comment)
            )
        else:
            self._desk.notify(
                file,
                task.decided,
                lambda name, hunks: verdict_notice(name, hunks, asked.verdict, asked.comment),
            )

    async def _carried_out(self, file: ReviewedFile, task: Task, audience: Audience) -> None:
        """
        Raises:
            EnvError: the file cannot be read or written.
        """
        for _ in range(TRIES):
            data = await self._desk.catch_up(file, audience.files)
            ids = self._to_decide(file, task)
            if not ids or await self._is_done(file, task, task.asked.decision(ids), data, audience):
                return
        task.refuse_rest(KEEPS_CHANGING)

    def _to_decide(self, file: ReviewedFile, task: Task) -> list[str]:
        """Those that the verdict may be carried out on, as they stand now."""
        asked, ids = task.asked, []
        for hunk in (*file.ledger.open_hunks, *file.ledger.closed):
            if hunk.id not in task.ids or hunk.id in task.refused:
                continue
            if self._desk.audience(hunk.session_id) is None:
                task.refused[hunk.id] = CLOSED_SESSION
            elif hunk.state == "stale" and asked.verdict == "undo":
                task.refused[hunk.id] = STALE
            elif hunk.state == "edited" and asked.lines:
                task.refused[hunk.id] = TYPED_IN_LINES
            elif hunk.state == "edited" and asked.verdict == "undo" and not asked.confirm:
                task.refused[hunk.id] = TYPED_INSIDE
            elif hunk.is_open or hunk.state == "stale":
                ids.append(hunk.id)
        if asked.lines and ids:
            try:
                narrowed(file.ledger, asked.decision(ids))
            except ValueError as error:
                task.refused[ids.pop()] = str(error)
        return ids

    async def _is_done(
        self, file: ReviewedFile, task: Task, decision: Decision, data: bytes | None, audience: Audience
    ) -> bool:
        """False when the file, whose content was `data`, is not what was expected.

        Raises:
            EnvError: it could not be written.
        """
        expected = plan(file.ledger, decision).expected
        undoing = Undoing(decision, task.asked.comment)
        if expected == file.ledger.current_text:
            self._decide(file, task, undoing)
            return True
        path = file.ledger.path
        content = None if expected is None else encode(with_fields(file.written_as, text=expected))
        divided, ids = narrowed(file.ledger, decision)
        before = [shown(divided, hunk) for hunk in divided.open_hunks if hunk.id in ids]
        file.undoing = undoing
        try:
            await audience.files.commit(
                [FileWrite(path, content, data)], Attribution(label=task.asked.verdict)
            )
        except StaleFileError:
            return False
        finally:
            file.undoing = None  # an editor tells itself that it is done
        if undoing.outcome:
            task.decided, task.changed = before, undoing.changed()
            return True
        if text_of(await maybe_bytes(audience.files, path)) != expected:
            return False
        self._decide(file, task, undoing)
        return True

    def _decide(self, file: ReviewedFile, task: Task, undoing: Undoing) -> None:
        divided, ids = narrowed(file.ledger, undoing.decision)
        stale = [hunk for hunk in divided.closed if hunk.id in ids and hunk.state == "stale"]
        hunks = (*divided.open_hunks, *stale)
        task.decided = [shown(divided, hunk) for hunk in hunks if hunk.id in ids]
        self._desk.land(file, undoing)
        task.changed = undoing.changed()

    def _why_closed(self, hunk_id: str) -> str:
        for file in self._desk.files.values():
            if state := file.decided.get(hunk_id):
                return f"it is {state} already"
            if hunk := file.ledger.find(hunk_id):
                if hunk.state == "stale":
                    return STALE
                return GONE if hunk.state == "gone" else f"it is {hunk.state} already"
        return NO_SUCH_HUNK


def _group(hunk: LedgerHunk) -> tuple[str, str, str]:
    """What a linked hunk belongs to: the name of a link is unique in its call."""
    return (hunk.session_id, hunk.call_id, hunk.link)


def _why_not_moved(hunk: LedgerHunk, asked: Asked) -> str:
    """Why this end of a move cannot be decided as asked, "" where it can, or is none."""
    if not hunk.link:
        return ""
    if asked.lines or asked.replacement is not None:
        return LINKED
    return TYPED_INSIDE if hunk.state == "edited" and asked.verdict == "undo" and not asked.confirm else ""
