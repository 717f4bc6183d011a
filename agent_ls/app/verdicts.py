"""What a person decides about hunks, carried out: files are looked at, changed where need be, and all are told.

One verdict at a time for a file; files with both ends of a move together, all or nothing. It is computed from the files
as they are at that moment and, where somebody wrote to them in between, computed anew. An editor's word that it applied
an edit is no proof: its host tells when the text shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace as with_fields
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_ls.app.change_events import shown
from agent_ls.app.review_notices import replacement_notice, verdict_notice
from agent_ls.app.reviewed_file import ReviewedFile, Undoing, text_of
from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events import Hunk
from agent_ls.review.hunks import LedgerHunk
from agent_ls.review.ledger import FileLedger
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
OTHER_TURN = (
    "another turn has changed these lines too, and what they were in between is not known: undo the hunk by itself, "
    "which takes both back"
)
NO_SUCH_HUNK = "no such hunk; open its session first"

Verdict: TypeAlias = Literal["keep", "undo"]
Group: TypeAlias = tuple[str, str, str]


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

    `lines` and `replacement` as in review/verdicts.py, for exactly one hunk. `turn_id`: it is about what this turn did.
    """

    verdict: Verdict
    comment: str = ""
    confirm: bool = False
    lines: tuple[int, int] | None = None
    replacement: str | None = None
    turn_id: str | None = None

    def decision(self, ids: Sequence[str]) -> Decision:
        state: Literal["kept", "undone"] = "kept" if self.verdict == "keep" else "undone"
        return Decision(frozenset(ids), state, self.lines, self.replacement)


@dataclass(slots=True)
class Task:
    """A verdict on hunks of one file, being carried out. `refused` gathers why some are left alone.

    `groups` has what each linked one belongs to. `decided` are the hunks that it was carried out on, as they were;
    `changed` what came of it.
    """

    file: ReviewedFile
    ids: frozenset[str]
    asked: Asked
    groups: Mapping[str, Group]
    refused: dict[str, str] = field(default_factory=dict)
    decided: list[Hunk] = field(default_factory=list)
    changed: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.file.path

    def refuse_rest(self, reason: str) -> None:
        done = {hunk.id for hunk in (*self.decided, *self.changed)}
        for id_ in self.ids - done - self.refused.keys():
            self.refused[id_] = reason


@dataclass(slots=True)
class _Step:
    """What a decision makes of one file, which holds `data`: the text `expected`, None for no file."""

    task: Task
    undoing: Undoing
    data: bytes | None
    expected: str | None
    decided: list[Hunk]
    ledger: FileLedger

    @property
    def writes(self) -> bool:
        return self.expected != self.ledger.current_text


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
        for tasks in _together(self._tasks(ids, set(selection.hunk_ids or ()), asked)):
            await self._in_files(tasks)
            for task in tasks:
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

    def _tasks(self, wanted: set[str], named: set[str], asked: Asked) -> list[Task]:
        """By file. A stale hunk has to be named: it is only put aside by who looked at it."""
        tasks = []
        for file in self._desk.files.values():
            hunks = [hunk for hunk in file.ledger.open_hunks if hunk.id in wanted]
            hunks += [hunk for hunk in file.ledger.closed if hunk.state == "stale" and hunk.id in named]
            if hunks:
                groups = {hunk.id: _group(hunk) for hunk in hunks if hunk.link}
                tasks.append(Task(file, frozenset(hunk.id for hunk in hunks), asked, groups))
        return tasks

    async def _in_files(self, tasks: Sequence[Task]) -> None:
        """In all of these files, or in none."""
        audiences = (self._desk.maybe_audience(task.file, task.ids) for task in tasks)
        audience = next((found for found in audiences if found), None)
        async with AsyncExitStack() as locks:
            for task in sorted(tasks, key=lambda task: task.path):
                await locks.enter_async_context(task.file.deciding)
            try:
                reason = await self._carried_out(tasks, audience) if audience else CLOSED_SESSION
            except EnvError as error:
                reason = str(error)
        for task in tasks:
            if reason:
                task.refuse_rest(reason)
            self._tell_model(task)

    def _tell_model(self, task: Task) -> None:
        asked = task.asked
        if asked.replacement is not None:
            text = asked.replacement
            self._desk.notify(
                task.file,
                task.decided,
                lambda name, hunks: replacement_notice(name, hunks, text, asked.comment),
            )
        else:
            self._desk.notify(
                task.file,
                task.decided,
                lambda name, hunks: verdict_notice(name, hunks, asked.verdict, asked.comment),
            )

    async def _carried_out(self, tasks: Sequence[Task], audience: Audience) -> str:
        """Why it could not be, "" when it is.

        Raises:
            EnvError: a file cannot be read or written.
        """
        for _ in range(TRIES):
            contents = [await self._desk.catch_up(task.file, audience.files) for task in tasks]
            if any(
                text_of(data) != task.file.ledger.current_text
                for task, data in zip(tasks, contents, strict=True)
            ):
                continue  # somebody typed in the first while the last was read
            chosen = self._chosen(tasks)
            steps = [
                _step(task, ids, data) for task, ids, data in zip(tasks, chosen, contents, strict=True) if ids
            ]
            if not steps or await self._is_done(steps, audience):
                return ""
        return KEEPS_CHANGING

    def _chosen(self, tasks: Sequence[Task]) -> list[list[str]]:
        """For each task the hunks that the verdict may be carried out on; of a move both ends or none."""
        chosen = [self._to_decide(task) for task in tasks]
        ready = {id_ for ids in chosen for id_ in ids}
        unfit = {group for task in tasks for id_, group in task.groups.items() if id_ not in ready}
        for task, ids in zip(tasks, chosen, strict=True):
            for id_ in [id_ for id_ in ids if task.groups.get(id_) in unfit]:
                ids.remove(id_)
                task.refused[id_] = OTHER_END
        return chosen

    def _to_decide(self, task: Task) -> list[str]:
        """Those that the verdict may be carried out on, as they stand now."""
        file, asked, ids = task.file, task.asked, []
        for hunk in (*file.ledger.open_hunks, *file.ledger.closed):
            if hunk.id not in task.ids or hunk.id in task.refused:
                continue
            if self._desk.audience(hunk.session_id) is None:
                task.refused[hunk.id] = CLOSED_SESSION
            elif hunk.link and (asked.lines or asked.replacement is not None):
                task.refused[hunk.id] = LINKED
            elif asked.turn_id and asked.verdict == "undo" and set(hunk.turns) != {asked.turn_id}:
                task.refused[hunk.id] = OTHER_TURN
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

    async def _is_done(self, steps: Sequence[_Step], audience: Audience) -> bool:
        """False when a file is not what was expected; then all are as they were.

        Raises:
            EnvError: one could not be written; then all are as they were.
        """
        writing = [step for step in steps if step.writes]
        if writing and not await self._are_written(writing, audience):
            return False
        for step in steps:
            if step.undoing.outcome is None:  # an editor tells itself that it is done
                self._desk.land(step.task.file, step.undoing)
            step.task.decided, step.task.changed = step.decided, step.undoing.changed()
        for step in writing:
            with suppress(EnvError):
                await self._desk.catch_up(step.task.file, audience.files)
        return True

    async def _are_written(self, steps: Sequence[_Step], audience: Audience) -> bool:
        for step in steps:
            step.task.file.undoing = step.undoing
        writes = [_write(step, steps) for step in steps]
        is_done = False
        try:
            with self._desk.writing([write.path for write in writes]):
                await audience.files.commit(writes, Attribution(label=steps[0].task.asked.verdict))
            is_done = True
        except StaleFileError:
            pass
        finally:
            for step in steps:
                step.task.file.undoing = None
                if not is_done and step.undoing.outcome:
                    self._desk.take_back(step.task.file, step.ledger)
        return is_done

    def _why_closed(self, hunk_id: str) -> str:
        for file in self._desk.files.values():
            if state := file.decided.get(hunk_id):
                return f"it is {state} already"
            if hunk := file.ledger.find(hunk_id):
                if hunk.state == "stale":
                    return STALE
                return GONE if hunk.state == "gone" else f"it is {hunk.state} already"
        return NO_SUCH_HUNK


def _group(hunk: LedgerHunk) -> Group:
    """What a linked hunk belongs to: the name of a link is unique in its call."""
    return (hunk.session_id, hunk.call_id, hunk.link)


def _together(tasks: Sequence[Task]) -> list[list[Task]]:
    """Files that have ends of the same moves are decided together, each other one by itself."""
    found: list[list[Task]] = []
    for task in tasks:
        own = set(task.groups.values())
        joined = [it for it in found if any(own & set(other.groups.values()) for other in it)]
        found = [it for it in found if it not in joined]
        found.append([*(other for it in joined for other in it), task])
    return found


def _step(task: Task, ids: Sequence[str], data: bytes | None) -> _Step:
    ledger, decision = task.file.ledger, task.asked.decision(ids)
    divided, chosen = narrowed(ledger, decision)
    stale = [hunk for hunk in divided.closed if hunk.id in chosen and hunk.state == "stale"]
    shown_before = [shown(divided, hunk) for hunk in (*divided.open_hunks, *stale) if hunk.id in chosen]
    undoing = Undoing(decision, task.asked.comment)
    return _Step(task, undoing, data, plan(ledger, decision).expected, shown_before, ledger)


def _write(step: _Step, steps: Sequence[_Step]) -> FileWrite:
    file = step.task.file
    if step.expected is None:
        return FileWrite(file.path, None, step.data)
    groups = set(step.task.groups.values())
    ends = (it for it in steps if it is not step and groups & set(it.task.groups.values()))
    # A file that comes back from a move has the permission bits that it took there.
    mode_from = next((it.task.path for it in ends if it.data is not None), "") if step.data is None else ""
    return FileWrite(
        file.path, encode(with_fields(file.written_as, text=step.expected)), step.data, mode_from
    )
