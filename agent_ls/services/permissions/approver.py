"""Implements the interface Approver: applies the policy, and asks the user if the policy says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel
import anyio.to_thread

from agent_ls.environments.effects import CallEffect, CommandEffect, Effect, WriteEffect
from agent_ls.loop.calls.approval import (
    Allowed,
    ApprovalAnswer,
    ApprovalQuestion,
    ApprovalScope,
    Decision,
    Denied,
    PendingApprovals,
    PolicyJudgement,
)
from agent_ls.loop.events.types import DECIDED_BY_POLICY, ApprovalRequested, ApprovalResolved, RuleOffer
from agent_ls.loop.restored import SuspendedTurn
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import (
    Allow,
    Ask,
    Confining,
    Judgement,
    Mode,
    Refuse,
    ReviewSetting,
    Situation,
    UnconfinedSetting,
)
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.permissions.paths import EffectFacts, PathBounds, needs_names, read_effect_facts
from agent_ls.services.permissions.session_rules import SessionRules
from agent_ls.services.permissions.temporary import name_temporary
from agent_ls.store.session_state import SessionState
from agent_ls.system import (
    SPARE_FOR_CALLS,
    describe_out_of_files,
    is_folder_on_own_disk,
    is_out_of_files,
    require_spare_files,
)

_WIDTH: dict[ApprovalScope, int] = {"once": 0, "turn": 1, "session": 2, "project": 3, "user": 4}
MAX_LOOKS = 5  # how often a call is judged again because files or links changed while the user was asked


async def _warn_of_nothing() -> str:
    await anyio.lowlevel.checkpoint()
    return ""


@dataclass(frozen=True, slots=True)
class ConfinementFacts:
    """Functions that report which limits the kernel can enforce on commands, and what a command could destroy.

    `has_sandbox` returns False if a sandbox is configured but not active. `can_confine` returns
    whether this machine can confine a read-only command. `unconfined` returns the setting for
    read-only commands that cannot be confined. `warn_of_loss` returns the sentence about uncommitted
    work that a command could destroy for good, "" for none.
    """

    has_sandbox: Callable[[], bool] = lambda: True
    can_confine: Callable[[], Awaitable[bool]] | None = None
    unconfined: Callable[[], UnconfinedSetting] = lambda: "ask"
    warn_of_loss: Callable[[], Awaitable[str]] = _warn_of_nothing


NO_CONFINEMENT = ConfinementFacts()


class PolicyApprover:
    """Judges effects by mode and rules, and asks the user.

    `mode` and `review` may change while a session runs. Each allowed effect is registered with
    `bounds`, the path policy; the call may then access the paths of the effect. `is_trusted` (run
    in a thread) returns whether the user trusts the workspace.
    """

    def __init__(
        self,
        *,
        bounds: PathBounds,
        mode: Mode,
        approvals: PendingApprovals,
        grants: SessionRules,
        review: ReviewSetting = "after",
        is_trusted: Callable[[], bool] = lambda: True,
        confinement: ConfinementFacts = NO_CONFINEMENT,
    ) -> None:
        self._mode = mode
        self._mode_changed = anyio.Event()
        self.review = review
        self.grants = grants
        self._reviewed_first: set[str] = set()
        self.approvals = approvals
        self._bounds = bounds
        self._is_trusted = is_trusted
        self._kernel = confinement
        self._is_state_near = False
        self._stored: frozenset[str] = frozenset()

    @property
    def mode(self) -> Mode:
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = mode
        self._mode_changed.set()
        self._mode_changed = anyio.Event()

    async def decide(self, question: ApprovalQuestion) -> Decision:
        """Judge an effect by policy, and ask the user if the policy says so."""
        try:
            return await self._looked_at(question)
        except OSError as error:
            if is_out_of_files(error):
                return Denied("; ".join(describe_out_of_files()))
            raise

    async def _looked_at(self, question: ApprovalQuestion) -> Decision:
        # If the first decision about a call used the review setting `before`, later decisions about
        # the call use it as well: the user approves its hunks, not the call.
        review = "before" if question.call_id in self._reviewed_first else self.review
        for _ in range(MAX_LOOKS):
            seen, judgement = await self._judge(question, review)
            decision = await self._carry_out_judgement(judgement, question)
            if not isinstance(decision, Allowed):
                return decision
            was_asked = not isinstance(judgement, Allow) and not decision.command
            if was_asked and not await self._still_holds(question, judgement, review):
                continue  # while the user decided, a link, a file or the mode changed
            self._register(question, judgement, seen)
            if review == "before" and isinstance(question.effect, WriteEffect):
                self._reviewed_first.add(question.call_id)
            return decision
        return Denied(
            "Nothing was done, because the files or links of this call changed each time during its approval. "
            "Read the files again before you repeat the call."
        )

    async def _judge(
        self, question: ApprovalQuestion, review: ReviewSetting
    ) -> tuple[EffectFacts, Judgement]:
        effect = name_temporary(question.effect, self._bounds.temporary)
        if self._is_quick(effect, question.turn_id):  # takes less time than waking a thread
            found = self._read_facts(effect, question.turn_id)
        else:
            found = await anyio.to_thread.run_sync(self._read_facts, effect, question.turn_id)
        seen, stored, is_trusted = found
        is_command = isinstance(effect, CommandEffect)
        situation = Situation(
            mode=self.mode,
            places=self._bounds.places,
            grants=self.grants.ids(question.turn_id, stored),
            resolved=seen.resolved,
            leads=seen.leads,
            doubt=seen.doubt,
            config=seen.config,
            folders=seen.folders,
            folders_exist=seen.folders_exist,
            beside=seen.beside,
            review=review,
            is_trusted=is_trusted,
            why_not_trusted="" if is_trusted else self.approvals.denial_of_trust(),
            is_sandbox_available=self._kernel.has_sandbox(),
            category=question.category,
            confinement=await self._confinement(question),
            unconfined=self._kernel.unconfined(),
            created=frozenset(filter(self._bounds.is_created, seen.resolved if is_command else ())),
        )
        judgement = judge(effect, situation)
        if question.must_ask and isinstance(judgement, Allow):
            judgement = Ask(question.must_ask, needs_approval_in_every_mode=True, cause="hook")
        return seen, judgement

    async def _confinement(self, question: ApprovalQuestion) -> Confining:
        if question.failed_confined:
            return "failed"
        if not self._kernel.can_confine or not isinstance(question.effect, CommandEffect | CallEffect):
            return "unavailable"
        return "available" if await self._kernel.can_confine() else "unavailable"

    def _is_quick(self, effect: Effect, turn_id: str) -> bool:
        """Return whether reading the facts of an effect takes only a few looks at disks of this machine."""
        return (
            self._is_state_near
            and self._bounds.are_near(effect)
            and not needs_names(self._bounds.disk, self.grants.ids(turn_id, self._stored))
        )

    def _read_facts(self, effect: Effect, turn_id: str) -> tuple[EffectFacts, frozenset[str], bool]:
        # without spare file descriptors the checks below could not read anything
        require_spare_files(SPARE_FOR_CALLS)
        self._stored = stored = self.grants.read_stored_ids()
        granted = self.grants.ids(turn_id, stored)
        facts = read_effect_facts(effect, self._bounds.places, self._bounds.disk, granted)
        self._is_state_near = self._is_state_near or is_folder_on_own_disk(self._bounds.places.state)
        return facts, stored, self._is_trusted()

    async def _still_holds(self, question: ApprovalQuestion, asked: Judgement, review: ReviewSetting) -> bool:
        """Judge the effect again after the user has answered.

        Return True if the effect is allowed now, or still needs the approval that the user was asked for.
        """
        _, now = await self._judge(question, review)
        return isinstance(now, Allow) or now == asked

    def is_reviewed_first(self, call_id: str) -> bool:
        """Return whether the user reviews the changes of this call before they are written."""
        return call_id in self._reviewed_first

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        """Wait until the user answers an approval request that `restore` has restored, and return the decision.

        If the policy refuses the call, in the mode of now or another one that is chosen while it waits, it is denied.
        """
        async with anyio.create_task_group() as group:
            if question:
                group.start_soon(self._deny_if_refused, request, question)
            else:
                self.approvals.mark_judged(request.request_id)
            decision = await self.approvals.wait(request.request_id)
            group.cancel_scope.cancel()
        return decision

    async def _deny_if_refused(self, request: ApprovalRequested, question: ApprovalQuestion) -> None:
        """Deny a pending request as soon as the policy refuses its call. Runs until it is cancelled."""
        while True:
            changed = self._mode_changed
            with suppress(OSError):  # what cannot be judged now is judged after the answer
                _, judgement = await self._judge(question, self.review)
                if isinstance(judgement, Refuse):
                    denial = ApprovalAnswer("deny", reason=judgement.reason, decided_by=DECIDED_BY_POLICY)
                    self.approvals.answer(request.request_id, denial)
            self.approvals.mark_judged(request.request_id)
            await changed.wait()

    def restore(self, stored: SessionState, suspended: SuspendedTurn | None) -> None:
        """Restore the session's rules, and the approvals that a suspended turn waits for."""
        turn_id = suspended.turn_id if suspended else ""
        self.grants.restore(stored.session_grants, stored.turn_grants if suspended else {}, turn_id)
        if suspended:
            self._reviewed_first.update(suspended.proposed.values())
            for request in suspended.asked:
                self.approvals.restore(request, turn_id)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """Return the pending approvals, oldest first."""
        return self.approvals.pending()

    def answer(self, request_id: str, answer: ApprovalAnswer) -> ApprovalResolved:
        """Answer a pending approval. If the answer is "allow" and names a rule, the rule applies from now on.

        Raises:
            UnknownApprovalError. BadReplacementError. BadChoiceError: the rule was not offered, or not for this scope.
        """
        turn_id = self.approvals.turn_of(request_id)
        request = next((event for event in self.approvals.pending() if event.request_id == request_id), None)
        if request is None:  # already answered: returns the first answer
            return self.approvals.answer(request_id, answer)
        _check_offered(request, answer)
        if not answer.rule_id:
            answer = replace(answer, scope="once")  # only a rule can allow an action for longer
        resolved = self.approvals.answer(request_id, answer)
        if resolved.decision == "allow" and resolved.rule_id:
            offer = next(rule for rule in request.rules if rule.id == resolved.rule_id)
            self.grants.add(offer, answer.scope, turn_id)
            self._resolve_alike(resolved)
        return resolved

    def _resolve_alike(self, resolved: ApprovalResolved) -> None:
        """Allow all other pending file writes for which the rule that the user just accepted was offered too."""
        for request in self.approvals.pending():
            is_edit = request.effect.get("type") == WriteEffect.__name__
            if is_edit and any(rule.id == resolved.rule_id for rule in request.rules):
                self.approvals.answer(
                    request.request_id, ApprovalAnswer("allow", decided_by=resolved.decided_by)
                )

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        """Return the permission for a read-only effect; None if the policy refuses it or would ask the user."""
        try:
            seen, judgement = await self._judge(question, self.review)
        except OSError:  # `decide` reports the error when the call starts
            return None
        if not isinstance(judgement, Allow):
            return None
        self._register(question, judgement, seen)
        return Allowed(is_confined=judgement.is_confined)

    def _register(self, question: ApprovalQuestion, judgement: Judgement, seen: EffectFacts) -> None:
        """Count a use of the rules that allowed an effect, and register the effect with the path
        policy.
        """
        if isinstance(judgement, Allow):
            self.grants.count_use(judgement.rules)
        call_id, turn_id = question.call_id, question.turn_id
        self._bounds.register_allowed(question.effect, seen.resolved, call_id=call_id, turn_id=turn_id)

    async def _carry_out_judgement(self, judgement: Judgement, question: ApprovalQuestion) -> Decision:
        match judgement:
            case Allow():
                return Allowed(is_confined=judgement.is_confined)
            case Refuse(reason):
                return Denied(reason)
            case Ask() if question.is_users_own and isinstance(question.effect, CommandEffect):
                # The user was asked about the model's command, and replaced it by exactly this one.
                return Allowed(asked=True)
            case Ask(reason, rules):
                offers = tuple(
                    RuleOffer(rule.id, rule.label, rule.scope, rule.allows, rule.still_asked)
                    for rule in rules
                )
                if _may_change_files(question.effect, self._bounds.places.home):
                    reason = " ".join(filter(None, (reason, await self._kernel.warn_of_loss())))
                asks = (question.effect.digest, reason, offers)
                # Compare the whole question: if its target or its reason has changed, the user is asked again.
                if any(asks == (it.digest, it.reason, it.rules) for it in question.allowed):
                    return Allowed()
                return await self.approvals.ask(
                    question, PolicyJudgement("ask", reason, offers, judgement.cause)
                )


def _may_change_files(effect: Effect, home: str) -> bool:
    if not isinstance(effect, CommandEffect) or effect.input_of:
        return False
    from agent_ls.policy.commands import analyse_command  # imported late, because it loads a grammar

    return not analyse_command(effect, home).is_read_only


def _check_offered(request: ApprovalRequested, answer: ApprovalAnswer) -> None:
    """Raise BadChoiceError if the answer's rule was not offered for the answer's scope or a longer one."""
    widths = [_WIDTH[rule.scope] for rule in request.rules if rule.id == answer.rule_id]
    if answer.rule_id and _WIDTH[answer.scope] > max(widths, default=-1):
        offers = ", ".join(f"{rule.id} ({rule.scope})" for rule in request.rules)
        raise BadChoiceError(
            f"Rule {answer.rule_id} was not offered for the scope {answer.scope} in request {request.request_id}",
            f"choose one of the offered rules and its scope: {offers}"
            if offers
            else "the request offers no rule",
        )
