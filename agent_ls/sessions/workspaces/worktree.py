"""A session in a git worktree: apply its changes to the user's folder, as hunks that the user keeps or undoes.

Changes are applied whenever the user requests it. When the agent has finished an input, the changes that the
mode allows without approval are applied too. If the user has changed the same lines in their folder, the file
there is left unchanged. Changes are recorded as applied only after they were written. If the process crashes
between these steps, the next merge finds that the user's file already has the changes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.environments.errors import EnvError, StaleFileError
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.features.base import SessionFeature
from agent_ls.features.worktrees.merge import NotMerged, merge
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion
from agent_ls.loop.calls.hooks import CallHookDecision, HookedCall, Hooks, PromptHookDecision
from agent_ls.loop.events.types import Warning
from agent_ls.loop.ids import new_id
from agent_ls.services.changes.environment import ReviewedEnvironment
from agent_ls.services.errors import AppError, BadChoiceError
from agent_ls.services.permissions.approver import PolicyApprover
from agent_ls.services.permissions.paths import PathBounds, places_of, read_effect_facts
from agent_ls.services.review.decision_request import TRIES
from agent_ls.services.review.reviewed_file import is_text, maybe_bytes
from agent_ls.sessions.workspaces.followed_undos import FollowedUndos
from agent_ls.store.errors import OwnershipLostError
from agent_ls.system import display_path
from agent_ls.text import join_sentences
from agent_ls.tools.file_commits import effect_of_writes

if TYPE_CHECKING:
    from agent_ls.environments.effects import Effect
    from agent_ls.features.worktrees.worktree import Worktree, WorktreeChange
    from agent_ls.policy.places import Places
    from agent_ls.sessions.build.link import SessionLink
    from agent_ls.sessions.build.parts import SessionPermissions
    from agent_ls.sessions.services import SharedServices
    from agent_ls.sessions.session_log import SessionFiles

log = logging.getLogger(__name__)

CODE = "worktree"
"""Code of the warnings that report which changes of a worktree were brought."""

NAMED_FILES = 10
NEEDS_APPROVAL = "needs your approval"
KEEPS_CHANGING = "keeps changing in your folder; try again when it no longer changes"

How = Literal["unasked", "requested", "requested_without_questions"]
"""Why changes are brought.

- "unasked": the agent has finished an input.
- "requested": the user has requested it, and can answer approvals.
- "requested_without_questions": the user has requested it, but cannot answer approvals.
"""


@dataclass(frozen=True, slots=True)
class WorktreeFile:
    """A changed file of a worktree. `path` is its path in the user's folder.

    In the state `left`, the file in the user's folder was not changed, and `reason` says why.
    """

    path: str
    state: Literal["brought", "proposed", "left"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The writes that apply one change, or the reason why it is not applied.

    If both are empty, the user's file already contains the change.
    """

    change: WorktreeChange
    writes: tuple[FileWrite, ...] = ()
    reason: str = ""


class SessionWorktree(SessionFeature):
    """The git worktree of a session. `link` gives access to the session, which is created later."""

    def __init__(
        self,
        worktree: Worktree,
        folder: str,
        permissions: SessionPermissions,
        services: SharedServices,
        stored: SessionFiles,
        link: SessionLink,
    ) -> None:
        self.worktree = worktree
        self._folder = folder
        self._permissions = permissions
        self._review = services.review
        self._stored = stored
        self._link = link
        self._settings = services.now
        self._state = str(services.state)
        self._lock = anyio.Lock()
        self._turn_id = ""
        self.undos = FollowedUndos(worktree, lambda: link.live.files, self._lock)

    def introduce(self) -> None:
        """Send the model a notice about its new worktree, and the user one of what it does not have."""
        left_out = self.worktree.left_out
        is_automatic = self._permissions.approver.mode in ("edits", "full")
        when = "automatically when you have finished" if is_automatic else "when the user asks for them"
        words = (
            f"You work in a git worktree of your own, {self.worktree.folder}. The user's folder is {self._folder}; do "
            f"not change it. Your changes are applied to the user's folder {when}. Files that "
            "git ignores, such as installed dependencies, are not in the worktree. HEAD is detached: commits "
            "are not transferred to the user's folder, only file contents."
        )
        if left_out:
            names = _join_names(left_out)
            words += (
                f" The user's folder also has these files and repositories, which are not in it: {names}."
            )
            self._link.emit(Warning(f"The worktree of this session does not have {names}.", CODE))
        self._link.live.notice(words)

    def hooks(self, hooks: Hooks) -> Hooks:
        """Return hooks that run `hooks`, and also call `begin_turn` and `end_turn`."""
        return WorktreeHooks(hooks, self.begin_turn, self.end_turn)

    async def begin_turn(self) -> str:
        """Record that the worktree may have unapplied changes: its session can then be deleted only with
        `force`. Return why no turn can begin, "" if one can.
        """
        self._turn_id = self._link.turn_id()
        try:
            await self.worktree.check()
        except BadChoiceError as error:
            return join_sentences(str(error), error.hint)
        await self.worktree.mark_unapplied(is_unapplied=True)
        return ""

    async def end_turn(self) -> None:
        """Apply the changes that need no approval, and report the other changes. Does not raise."""
        try:
            await self.bring("unasked")
        except (AppError, EnvError, OSError, OwnershipLostError) as error:
            log.warning("changes of a worktree were not applied to the user's folder: %s", error)
            self._link.emit(
                Warning(f"The changes of the worktree were not applied to your folder: {error}", CODE)
            )

    async def bring(self, how: How) -> list[WorktreeFile]:
        """Apply the changes of the worktree to the user's folder. Returns the changed files.

        Raises:
            AppError: git failed. EnvError, OSError: a file cannot be read.
            OwnershipLostError: another process has taken the session.
        """
        async with self._lock:
            self._stored.check_ownership()
            call_id = new_id("worktree")
            who = Attribution(self._link.live.id, self._turn_id, call_id, "apply changes of the worktree")
            changes = await self.worktree.changes()
            is_proposing = self._permissions.approver.review == "before"
            done, left = await self._write(changes, who, how, is_proposing=is_proposing)
            # If these steps were cancelled, the next call would apply the same changes a second time.
            with anyio.CancelScope(shield=True):
                await self.worktree.record_applied([plan.change for plan in left])
                await self.worktree.mark_unapplied(is_unapplied=bool(left))
            await self.undos.follow_waiting()
            came: Literal["brought", "proposed"] = "proposed" if is_proposing else "brought"
            files = [WorktreeFile(self._path(plan), came) for plan in done if plan.writes]
            files += [WorktreeFile(self._path(plan), "left", plan.reason) for plan in left]
            self._report(files)
            return files

    # -- internal

    async def _write(
        self, changes: Sequence[WorktreeChange], who: Attribution, how: How, *, is_proposing: bool
    ) -> tuple[list[_Plan], list[_Plan]]:
        """Write or propose the changes that can be applied.

        Returns the plans of these changes, then the plans of all other changes, each with a reason.
        """
        bounds = PathBounds(await anyio.to_thread.run_sync(self._places))
        refused: dict[str, str] = {}
        tries = 0
        while True:
            plans = [
                _Plan(it, reason=refused[it.path]) if it.path in refused else await self._plan(it)
                for it in changes
            ]
            plans = await self._approved(plans, bounds, who, how)
            writes = [write for plan in plans for write in plan.writes]
            try:
                if is_proposing:
                    await self._review.proposals.propose(writes, who, self._link.live)
                elif writes:
                    within = BoundedEnvironment(self._link.live.files, bounds)
                    await ReviewedEnvironment(within, self._review, self._stored).commit(writes, who)
            except EnvError as error:
                tries += 1
                if isinstance(error, StaleFileError) and tries < TRIES:
                    continue
                path = getattr(error, "path", "")
                at_fault = [it for it in plans if any(path == write.path for write in it.writes)]
                reason = (
                    KEEPS_CHANGING if isinstance(error, StaleFileError) else f"cannot be written: {error}"
                )
                refused |= dict.fromkeys((it.change.path for it in at_fault or plans if it.writes), reason)
                continue
            return [it for it in plans if not it.reason], [it for it in plans if it.reason]

    def _places(self) -> Places:
        return places_of(self._folder, settings=self._settings().paths, state=self._state)

    async def _plan(self, change: WorktreeChange) -> _Plan:
        """Plan one change: merge it into the text of the user's file, without writing."""
        tree = self.worktree
        if not (tree.is_in_folder(change.path) and tree.is_in_folder(change.old_path)):
            return _Plan(change, reason="is outside of your folder")
        if change.is_special:
            return _Plan(change, reason="is a symbolic link or a repository: make this change yourself")
        path, old_path = tree.user_path(change.path), tree.user_path(change.old_path)
        if change.is_mode_only:
            sign = "+" if change.is_executable else "-"
            return _Plan(change, reason=f"has another mode: run `chmod {sign}x {change.path}`")
        files = self._link.live.files
        user, (base, own) = await maybe_bytes(files, old_path), await tree.texts(change)
        if self._permissions.approver.review == "before" and not all(map(is_text, (user, base, own))):
            return _Plan(change, reason="is a binary file: copy it from the worktree yourself")
        merged = merge(base, own, user)
        if isinstance(merged, NotMerged):
            if change.is_move and user is None and own == await maybe_bytes(files, path):
                return _Plan(change)  # the change was brought before
            return _Plan(change, reason=merged.reason)
        if not change.is_move:
            mode_from = tree.own_path(change.path) if change.is_executable and user is None else ""
            write = FileWrite(path, merged, user, mode_from)
            return _Plan(change, (write,) if merged != user else ())
        if await maybe_bytes(files, path) is not None:
            return _Plan(
                change, reason="is new in the worktree, but your folder has a different file of that name"
            )
        return _Plan(change, (FileWrite(old_path, None, user), FileWrite(path, merged, None, old_path)))

    async def _approved(
        self, plans: Sequence[_Plan], bounds: PathBounds, who: Attribution, how: How
    ) -> list[_Plan]:
        """Return all plans. In a plan that was not approved, a reason replaces the writes.

        The user is only asked if `how` is "requested".
        """
        approver = self._approver(bounds, how)
        allowed: list[FileWrite] = []
        found: list[_Plan] = []
        waiting: list[_Plan] = []
        for plan in plans:
            if plan.writes and not await approver.allow_unasked(self._question(plan.writes, who)):
                waiting.append(plan)
                plan = replace(plan, writes=(), reason=NEEDS_APPROVAL)
            else:
                allowed += plan.writes
            found.append(plan)
        if waiting and how == "requested":
            writes = [write for plan in waiting for write in plan.writes]
            # The question has no call id, so that it is denied if the client cancels its request to apply the
            # changes.
            question = replace(self._question(writes, who), call_id="")
            if isinstance(await approver.decide(question), Allowed):
                approved = {plan.change.path: plan for plan in waiting}
                found = [approved.get(plan.change.path, plan) for plan in found]
                allowed += writes
        effect = self._effect(allowed)
        seen = await anyio.to_thread.run_sync(read_effect_facts, effect, bounds.places)
        bounds.register_allowed(effect, seen.resolved, call_id=who.call_id, turn_id=who.turn_id)
        return found

    def _approver(self, bounds: PathBounds, how: How) -> PolicyApprover:
        """Return the approver for edits of the user's folder.

        If the user has requested the changes, edits of ordinary files need no further approval.
        """
        permissions = self._permissions
        is_requested = how != "unasked" and permissions.approver.mode != "plan"
        return PolicyApprover(
            bounds=bounds,
            mode=permissions.approver.mode,
            approvals=permissions.approvals,
            grants=permissions.rules,
            review="before" if is_requested else permissions.approver.review,
            is_trusted=permissions.gate.is_trusted,
        )

    def _question(self, writes: Sequence[FileWrite], who: Attribution) -> ApprovalQuestion:
        names = _join_names([self._name(write.path) for write in writes])
        summary = f"Apply the changes of the worktree to {self._folder}: {names}"
        return ApprovalQuestion(who.call_id, who.turn_id, "edit_file", summary, self._effect(writes))

    def _effect(self, writes: Sequence[FileWrite]) -> Effect:
        return effect_of_writes(writes, self._link.live.files)

    def _path(self, plan: _Plan) -> str:
        return self.worktree.user_path(plan.change.path)

    def _name(self, path: str) -> str:
        return display_path(path, os.path.realpath(self._folder))

    def _report(self, files: Sequence[WorktreeFile]) -> None:
        """Report to the user and the model which changes were applied and which were not."""
        came = [self._name(it.path) for it in files if it.state != "left"]
        waiting = [self._name(it.path) for it in files if it.reason == NEEDS_APPROVAL]
        left = [it for it in files if it.state == "left" and it.reason != NEEDS_APPROVAL]
        reasons = _join_names([f"{self._name(it.path)} {it.reason}" for it in left], "; ")
        notices: list[str] = []
        if came:
            notices.append(
                f"Changes of the worktree were applied to your folder, for you to review: {_join_names(came)}."
            )
        if waiting:
            notices.append(
                f"The worktree has changes that wait for you to apply them to your folder: {_join_names(waiting)}."
            )
        if left:
            notices.append(f"Changes that stay in the worktree ({self.worktree.root}): {reasons}.")
        if notices:
            self._link.emit(Warning(" ".join(notices), CODE))
        words = (
            [f"Your changes of these files were applied to the user's folder: {_join_names(came)}."]
            if came
            else []
        )
        if left:
            words.append(f"Not applied to the user's folder: {reasons}.")
        if words:
            self._link.live.notice(" ".join(words))


def _join_names(names: Sequence[str], separator: str = ", ") -> str:
    more = f" and {len(names) - NAMED_FILES} more" if len(names) > NAMED_FILES else ""
    return separator.join(names[:NAMED_FILES]) + more


class WorktreeHooks:
    """Implements the interface Hooks: runs the user's hooks, and `begin` and `end` at the start and end of a
    turn.

    `begin` is awaited before each input, and returns a reason not to start the turn, or "". `end` is awaited when the
    model has finished and no hook makes the model continue.
    """

    def __init__(
        self, hooks: Hooks, begin: Callable[[], Awaitable[str]], end: Callable[[], Awaitable[None]]
    ) -> None:
        self._hooks = hooks
        self._begin = begin
        self._end = end

    @property
    def watches_calls(self) -> bool:
        return self._hooks.watches_calls

    async def before_prompt(self, text: str) -> PromptHookDecision:
        if problem := await self._begin():
            return PromptHookDecision(problem, who="agent-ls")
        return await self._hooks.before_prompt(text)

    async def before_call(self, call: HookedCall) -> CallHookDecision:
        return await self._hooks.before_call(call)

    async def after_call(self, call: HookedCall, output: str, *, is_error: bool) -> str:
        return await self._hooks.after_call(call, output, is_error=is_error)

    async def before_stop(self, text: str, *, again: bool) -> str:
        reason = await self._hooks.before_stop(text, again=again)
        if not reason or again:
            await self._end()
        return reason

    def take_end(self, agent_id: str = "") -> str:
        return self._hooks.take_end(agent_id)
