"""Carry out decisions about hunks: check the files, change them where necessary, and report the result.

Only one decision per file runs at a time. The two files of a move are decided together, all or nothing. A
decision is computed from the files as they are; if a file changes before the write, it is computed again. An
editor's reply that it applied an edit is not trusted: the edit counts as applied once the file's text contains
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace as with_fields
from typing import TypeAlias

import anyio

from agent_ls.environments.base import Attribution, FileState, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.loop.events.types import Hunk
from agent_ls.review.decisions import Decision, apply_decision, narrow_to_lines
from agent_ls.review.hunks import LedgerHunk
from agent_ls.services.review.change_events import build_hunk
from agent_ls.services.review.decision_request import (
    CLOSED_SESSION,
    KEEPS_CHANGING,
    LINKED,
    LOOK_SECONDS,
    TRIES,
    DecisionRequest,
    Selection,
)
from agent_ls.services.review.open_hunks import open_hunks
from agent_ls.services.review.proposal_decisions import ProposalDecisions
from agent_ls.services.review.reports import DecisionBegun, DecisionEnded, DecisionWritten
from agent_ls.services.review.review_notices import decision_notice, replacement_notice
from agent_ls.services.review.reviewed_file import ReviewedFile, text_of
from agent_ls.services.review.saved_files import UndoneSaves
from agent_ls.services.review.state import ReviewedSession, ReviewState
from agent_ls.text import NotEncodableError, encode

TYPED_INSIDE = "the text of this change was edited since: confirm the undo to remove that text too"
TYPED_IN_LINES = (
    "the text of this change was edited since: edit it in the file, then keep or undo the change as a whole"
)
STALE = (
    "this change can no longer be separated from other changes, so it cannot be undone here: edit the file "
    "by hand, then keep the change to close it"
)
GONE = "the lines of this change are back in their earlier state, so there is nothing left to decide"
NO_FILE = "the file of this change does not exist any more, so there is nothing left to decide"
OTHER_END = "this change is part of a move whose other part cannot be kept or undone now"
OTHER_TURN = (
    "another turn changed these lines too: undo this change by itself, which reverts the edits of both turns"
)
NO_SUCH_HUNK = "this change is unknown; open its session first"

Group: TypeAlias = tuple[str, str, str]
"""Identifies a moved file: session id, call id, and the link of both hunks of the move."""


@dataclass(slots=True)
class FileDecision:
    """A decision about hunks of one file, while it is carried out.

    `groups` maps the ids of linked hunks to their move. `refused` maps hunk ids to reasons.
    `decided` lists the decided hunks as they were before the decision, `changed` lists the resulting hunks.
    """

    path: str
    ids: frozenset[str]
    asked: DecisionRequest
    groups: Mapping[str, Group]
    refused: dict[str, str] = field(default_factory=dict)
    decided: list[Hunk] = field(default_factory=list)
    changed: list[Hunk] = field(default_factory=list)

    def refuse_rest(self, reason: str) -> None:
        done = {hunk.id for hunk in (*self.decided, *self.changed)}
        for id_ in self.ids - done - self.refused.keys():
            self.refused[id_] = reason


@dataclass(slots=True)
class _Step:
    """The effect of a decision on one file.

    `data` is the file's current content, `expected` its new text (None: the file will not exist).
    """

    task: FileDecision
    decision: Decision
    file: ReviewedFile
    data: bytes | None
    expected: str | None
    decided: list[Hunk]

    @property
    def path(self) -> str:
        return self.task.path

    @property
    def begun(self) -> DecisionBegun:
        return DecisionBegun(self.decision, self.task.asked.comment)

    @property
    def writes(self) -> bool:
        return self.expected != self.file.ledger.current_text


class HunkDecisions:
    """Carries out decisions about written and proposed hunks.

    `proposed` carries out decisions about hunks that are not written yet. `saves` saves files in the editor
    after an undo.
    """

    def __init__(self, state: ReviewState, proposed: ProposalDecisions, saves: UndoneSaves) -> None:
        self._state = state
        self._proposed = proposed
        self._saves = saves

    async def carry_out(
        self, selection: Selection, asked: DecisionRequest
    ) -> tuple[list[Hunk], list[tuple[str, str]]]:
        """Carry out the decision. Return the changed hunks, and the refused hunk ids with reasons."""
        changed: list[Hunk] = []
        refused: dict[str, str] = {}
        found: set[str] = set()
        ids = self._with_linked(self._ids(selection))
        for done in await self._proposed.carry_out(ids, asked):
            changed += done.changed
            refused |= done.refused
            found |= done.wanted
        for tasks in _group_moves(self._tasks(ids, set(selection.hunk_ids or ()), asked)):
            await self._in_files(tasks)
            for task in tasks:
                changed += task.changed
                refused |= task.refused
                found |= task.ids
        if asked.decision != "keep" and changed:
            await self._saves.save(
                dict.fromkeys(hunk.path for hunk in changed),
                dict.fromkeys(hunk.session_id for hunk in changed),
            )
        handled = {hunk.id for hunk in changed} | refused.keys()
        wanted = found | set(selection.hunk_ids or ())
        refused |= {id_: self._explain_closed(id_) for id_ in sorted(wanted - handled)}
        return changed, list(refused.items())

    def _ids(self, chosen: Selection) -> set[str]:
        files = self._state.files.values()
        hunks_by_path = open_hunks(
            files, session_id=chosen.session_id, path=chosen.path, turn_id=chosen.turn_id
        )
        ids = {hunk.id for hunks in hunks_by_path.values() for hunk in hunks}
        return ids if chosen.hunk_ids is None else ids & set(chosen.hunk_ids)

    def _with_linked(self, ids: set[str]) -> set[str]:
        """Return these ids and, for moved files, the ids of hunks at the other end of the move."""
        hunks = [hunk for file in self._state.files.values() for hunk in file.ledger.open_hunks if hunk.link]
        groups = {_group(hunk) for hunk in hunks if hunk.id in ids}
        return ids | {hunk.id for hunk in hunks if _group(hunk) in groups}

    def _tasks(self, wanted: set[str], named: set[str], asked: DecisionRequest) -> list[FileDecision]:
        """Create one task per file.

        A stale hunk is included only if the request names its id, so that only a user who saw the hunk closes
        it.
        """
        tasks = []
        for file in self._state.files.values():
            hunks = [hunk for hunk in file.ledger.open_hunks if hunk.id in wanted]
            hunks += [hunk for hunk in file.ledger.closed if hunk.state == "stale" and hunk.id in named]
            if hunks:
                groups = {hunk.id: _group(hunk) for hunk in hunks if hunk.link}
                tasks.append(FileDecision(file.path, frozenset(hunk.id for hunk in hunks), asked, groups))
        return tasks

    async def _in_files(self, tasks: Sequence[FileDecision]) -> None:
        """Carry out the decision in all of these files, or in none if one of them fails."""
        sessions = (self._state.owner_of(self._state.files[task.path], task.ids) for task in tasks)
        session = next((found for found in sessions if found), None)
        async with AsyncExitStack() as locks:
            for task in sorted(tasks, key=lambda task: task.path):
                await locks.enter_async_context(self._state.deciding(task.path))
            try:
                reason = await self._carry_out(tasks, session) if session else CLOSED_SESSION
            except (EnvError, NotEncodableError) as error:
                reason = str(error)
        for task in tasks:
            if reason:
                task.refuse_rest(reason)
            self._tell_model(task)

    def _tell_model(self, task: FileDecision) -> None:
        asked = task.asked
        if asked.replacement is not None:
            text = asked.replacement
            self._state.notify(
                task.path,
                task.decided,
                lambda name, hunks: replacement_notice(name, hunks, text, asked.comment),
                is_decided=True,
            )
        else:
            self._state.notify(
                task.path,
                task.decided,
                lambda name, hunks: decision_notice(name, hunks, asked.decision, asked.comment),
                is_decided=True,
            )

    async def _carry_out(self, tasks: Sequence[FileDecision], session: ReviewedSession) -> str:
        """Carry out the tasks. Return the reason why the tasks cannot be carried out, "" if they were.

        Raises:
            EnvError: a file cannot be read or written.
        """
        for _ in range(TRIES):
            contents = [await self._state.catch_up(task.path, session.files) for task in tasks]
            files = [file for task in tasks if (file := self._state.files.get(task.path))]
            if len(files) < len(tasks):
                return NO_SUCH_HUNK  # the file is not text any more, or its session was taken over
            if any(
                text_of(data) != file.ledger.current_text for file, data in zip(files, contents, strict=True)
            ):
                continue  # the user typed in one file while another was read
            chosen = self._chosen(tasks, files)
            steps = [
                _step(task, file, ids, data)
                for task, file, ids, data in zip(tasks, files, chosen, contents, strict=True)
                if ids
            ]
            if not steps or await self._apply_steps(steps, session):
                return ""
        return KEEPS_CHANGING

    def _chosen(self, tasks: Sequence[FileDecision], files: Sequence[ReviewedFile]) -> list[list[str]]:
        """Return the hunks to decide for each task. Both ends of a move are included, or neither."""
        chosen = [self._to_decide(task, file) for task, file in zip(tasks, files, strict=True)]
        ready = {id_ for ids in chosen for id_ in ids}
        unfit = {group for task in tasks for id_, group in task.groups.items() if id_ not in ready}
        for task, ids in zip(tasks, chosen, strict=True):
            for id_ in [id_ for id_ in ids if task.groups.get(id_) in unfit]:
                ids.remove(id_)
                task.refused[id_] = OTHER_END
        return chosen

    def _to_decide(self, task: FileDecision, file: ReviewedFile) -> list[str]:
        """Return the hunks that can be decided now; for each other hunk, record why it cannot be decided."""
        ids = []
        for hunk in file.all_hunks:
            if hunk.id not in task.ids or hunk.id in task.refused:
                continue
            if self._state.find_session(hunk.session_id) is None:
                task.refused[hunk.id] = CLOSED_SESSION
            elif reason := _why_not(hunk, task.asked):
                task.refused[hunk.id] = reason
            elif hunk.is_open or hunk.state == "stale":
                ids.append(hunk.id)
        if task.asked.lines and ids:
            try:
                narrow_to_lines(file.ledger, task.asked.make_decision(ids))
            except ValueError as error:
                task.refused[ids.pop()] = str(error)
        return ids

    async def _apply_steps(self, steps: Sequence[_Step], session: ReviewedSession) -> bool:
        """Apply the steps. Return False if a file has changed; in that case, no step remains applied.

        Raises:
            EnvError: a file could not be written; then all files have their previous content.
        """
        writing = [step for step in steps if step.writes]
        undone = [FileState(it.path, it.base, it.content) for it in (_write(step, steps) for step in writing)]
        if writing and not await self._write_steps(writing, session):
            return False
        for step in steps:
            if not step.writes:
                self._state.report(step.path, step.begun)
            self._state.report(step.path, DecisionWritten())
            file = self._state.files.get(step.path)
            pending = file.pending_decision if file else None
            step.task.decided, step.task.changed = step.decided, pending.list_changed() if pending else []
            self._state.report(step.path, DecisionEnded(is_written=True))
        await self._catch_up([step.path for step in writing], session)
        decided = [hunk for step in writing for hunk in step.decided]
        for session_id in dict.fromkeys(hunk.session_id for hunk in decided):
            if owner := self._state.find_session(session_id):
                await owner.follow_undo(undone)
        return True

    async def _write_steps(self, steps: Sequence[_Step], session: ReviewedSession) -> bool:
        """Write the steps. What a failed or cancelled commit has written nevertheless counts as the user's edit."""
        for step in steps:
            self._state.report(step.path, step.begun)
        writes = [_write(step, steps) for step in steps]
        is_written = False
        written: list[str] = []

        async def record(states: Sequence[FileState]) -> None:
            written.extend(state.path for state in states)

        try:
            with self._state.writing([write.path for write in writes]):
                who = Attribution(label=steps[0].task.asked.decision)
                await session.commit_decided(writes, who, record)
            is_written = True
        except StaleFileError:
            pass
        finally:
            if not is_written:
                for step in steps:
                    self._state.report(step.path, DecisionEnded(is_written=False))
                with anyio.move_on_after(LOOK_SECONDS, shield=True):
                    await self._catch_up([step.path for step in steps if step.path in written], session)
        return is_written

    async def _catch_up(self, paths: Sequence[str], session: ReviewedSession) -> None:
        for path in paths:
            with suppress(EnvError):
                await self._state.catch_up(path, session.files)

    def _explain_closed(self, hunk_id: str) -> str:
        for file in self._state.files.values():
            if state := file.decided.get(hunk_id):
                return f"this change is already {state}"
            if hunk := file.ledger.find(hunk_id):
                if hunk.state == "stale":
                    return STALE
                if hunk.state != "gone":
                    return f"this change is already {hunk.state}"
                return NO_FILE if file.ledger.current is None and hunk.what != "delete" else GONE
        return NO_SUCH_HUNK


def _why_not(hunk: LedgerHunk, asked: DecisionRequest) -> str:
    """Return why a hunk cannot be decided as requested, or ""."""
    if hunk.link and (asked.lines or asked.replacement is not None):
        return LINKED
    if asked.turn_id and asked.decision != "keep" and set(hunk.turns) != {asked.turn_id}:
        return OTHER_TURN
    if hunk.state == "stale" and asked.decision != "keep":
        return STALE
    if hunk.state == "edited" and asked.lines:
        return TYPED_IN_LINES
    if hunk.state == "edited" and asked.decision != "keep" and not asked.confirm:
        return TYPED_INSIDE
    return ""


def _group(hunk: LedgerHunk) -> Group:
    """Return the key of a linked hunk's move.

    The key includes the call, because link names are unique per call only.
    """
    return (hunk.session_id, hunk.call_id, hunk.link)


def _group_moves(tasks: Sequence[FileDecision]) -> list[list[FileDecision]]:
    """Group files that are connected by moves; every other file forms a group of its own."""
    found: list[list[FileDecision]] = []
    for task in tasks:
        own = set(task.groups.values())
        joined = [it for it in found if any(own & set(other.groups.values()) for other in it)]
        found = [it for it in found if it not in joined]
        found.append([*(other for it in joined for other in it), task])
    return found


def _step(task: FileDecision, file: ReviewedFile, ids: Sequence[str], data: bytes | None) -> _Step:
    ledger, decision = file.ledger, task.asked.make_decision(ids)
    divided, chosen = narrow_to_lines(ledger, decision)
    stale = [hunk for hunk in divided.closed if hunk.id in chosen and hunk.state == "stale"]
    shown_before = [build_hunk(divided, hunk) for hunk in (*divided.open_hunks, *stale) if hunk.id in chosen]
    expected = apply_decision(ledger, decision).ledger.current_text
    return _Step(task, decision, file, data, expected, shown_before)


def _write(step: _Step, steps: Sequence[_Step]) -> FileWrite:
    file = step.file
    if step.expected is None:
        return FileWrite(file.path, None, step.data)
    groups = set(step.task.groups.values())
    ends = (it for it in steps if it is not step and groups & set(it.task.groups.values()))
    # If the undo of a move recreates this file, it gets the permission bits of the file at the other end.
    mode_from = next((it.path for it in ends if it.data is not None), "") if step.data is None else ""
    return FileWrite(
        file.path, encode(with_fields(file.written_as, text=step.expected)), step.data, mode_from
    )
