"""ADAPTER Approver: policy first, and a person where policy says ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio.to_thread

from agent_ls.app.bounds import Look, PathBounds, look
from agent_ls.app.grants import Grants
from agent_ls.environments.effects import CommandEffect, WriteEffect
from agent_ls.loop.approval import (
    Allowed,
    Answer,
    ApprovalDesk,
    ApprovalQuestion,
    ApprovalScope,
    Decision,
    Denied,
    UnknownApprovalError,
    Verdict,
)
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, RuleOffer
from agent_ls.loop.restored import Suspended
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Refuse, ReviewSetting, Situation
from agent_ls.store.fold import Fold

_WIDTH: dict[ApprovalScope, int] = {"once": 0, "turn": 1, "session": 2, "project": 3, "user": 4}
MAX_LOOKS = 5  # what is another thing each time a person was asked is changed by something else


class PolicyApprover:
    """Judges by mode and grants, and asks at the desk. `mode` and `review` may be changed while a session runs.

    What was allowed is told to `bounds`, so that the act is held to it. `is_trusted` is asked each time, in a thread:
    whether the user trusts the workspace. `is_walled`: whether the sandbox that was asked for stands.
    """

    def __init__(
        self,
        *,
        bounds: PathBounds,
        mode: Mode,
        desk: ApprovalDesk,
        grants: Grants,
        review: ReviewSetting = "after",
        is_trusted: Callable[[], bool] = lambda: True,
        is_walled: Callable[[], bool] = lambda: True,
    ) -> None:
        self.mode = mode
        self.review = review
        self.grants = grants
        self._reviewed_first: set[str] = set()
        self.desk = desk
        self._bounds = bounds
        self._is_trusted = is_trusted
        self._is_walled = is_walled

    async def decide(self, question: ApprovalQuestion) -> Decision:
        # A call keeps the setting that it was judged by: it was not asked about because its hunks are.
        review = "before" if question.call_id in self._reviewed_first else self.review
        for _ in range(MAX_LOOKS):
            seen, judgement = await self._judged(question, review)
            decision = await self._decided(judgement, question)
            if isinstance(decision, Denied):
                return decision
            if isinstance(judgement, Allow):
                self.grants.used(judgement.rules)
            elif not decision.command and not await self._still_holds(question, judgement, review):
                continue  # while a person thought, a link, a file or the mode became another
            call_id, turn_id = question.call_id, question.turn_id
            self._bounds.allowed(question.effect, seen.resolved, call_id=call_id, turn_id=turn_id)
            if review == "before" and isinstance(question.effect, WriteEffect):
                self._reviewed_first.add(call_id)
            return decision
        return Denied("What this leads to kept changing while it was asked about.")

    async def _judged(self, question: ApprovalQuestion, review: ReviewSetting) -> tuple[Look, Judgement]:
        seen, stored, is_trusted = await anyio.to_thread.run_sync(self._look, question)
        situation = Situation(
            mode=self.mode,
            places=self._bounds.places,
            grants=self.grants.ids(question.turn_id, stored),
            resolved=seen.resolved,
            leads=seen.leads,
            doubt=seen.doubt,
            review=review,
            is_trusted=is_trusted,
            is_walled=self._is_walled(),
            category=question.category,
        )
        return seen, judge(question.effect, situation)

    def _look(self, question: ApprovalQuestion) -> tuple[Look, frozenset[str], bool]:
        return look(question.effect, self._bounds.places), self.grants.stored(), self._is_trusted()

    async def _still_holds(self, question: ApprovalQuestion, asked: Judgement, review: ReviewSetting) -> bool:
        """Whether it would be asked about in the same words now, or not at all."""
        _, now = await self._judged(question, review)
        return isinstance(now, Allow) or now == asked

    def is_reviewed_first(self, call_id: str) -> bool:
        """Whether the changes of this call are shown before they are made."""
        return call_id in self._reviewed_first

    async def resume(self, request: ApprovalRequested) -> Decision:
        return await self.desk.wait(request.request_id)

    def restore(self, stored: Fold, suspended: Suspended | None) -> None:
        """Rules that the user stored hold again, and what a suspended turn asks waits again."""
        turn_id = suspended.turn_id if suspended else ""
        self.grants.restore([*stored.session_grants], [*stored.turn_grants] if suspended else [], turn_id)
        if suspended:
            self._reviewed_first.update(suspended.proposed.values())
            for request in suspended.asked:
                self.desk.restore(request, turn_id)

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """What waits for a person, oldest first."""
        return self.desk.pending()

    def answer(self, request_id: str, answer: Answer) -> ApprovalResolved:
        """Settles a pending request; a rule that comes with an allowing answer holds from now on.

        Raises:
            UnknownApprovalError: no such request, or a rule that was not offered, or not for so long.
        """
        turn_id = self.desk.turn_of(request_id)
        request = next((event for event in self.desk.pending() if event.request_id == request_id), None)
        if request is None:  # decided already: the first answer stands, and what came of it
            return self.desk.answer(request_id, answer)
        _demand_offered(request, answer)
        if not answer.rule_id:
            answer = replace(answer, scope="once")  # what is allowed for longer is a rule
        resolved = self.desk.answer(request_id, answer)
        if resolved.decision == "allow" and resolved.rule_id:
            offer = next(rule for rule in request.rules if rule.id == resolved.rule_id)
            self.grants.add(offer, answer.scope, turn_id)
            self._settle_alike(resolved)
        return resolved

    def _settle_alike(self, resolved: ApprovalResolved) -> None:
        """Edits that wait beside the one whose rule was kept are covered by it: they need no answers of their own."""
        for request in self.desk.pending():
            is_edit = request.effect.get("type") == WriteEffect.__name__
            if is_edit and any(rule.id == resolved.rule_id for rule in request.rules):
                self.desk.answer(request.request_id, Answer("allow", decided_by=resolved.decided_by))

    async def is_free(self, question: ApprovalQuestion) -> bool:
        _, judgement = await self._judged(question, self.review)
        return isinstance(judgement, Allow)

    async def _decided(self, judgement: Judgement, question: ApprovalQuestion) -> Decision:
        match judgement:
            case Allow():
                return Allowed()
            case Refuse(reason):
                return Denied(reason)
            case Ask(is_never_silent=False) if question.is_users_own and _is_command(question):
                # It was asked because of the mode, and the person who was asked wrote it. What is never silent is
                # asked about like any other.
                return Allowed(asked=True)
            case Ask(reason, rules):
                offers = tuple(
                    RuleOffer(rule.id, rule.label, rule.scope, rule.allows, rule.still_asked)
                    for rule in rules
                )
                asks = (question.effect.digest, reason, offers)
                # The same words, so that what leads elsewhere by now, or is asked for another reason, is asked again.
                if any(asks == (it.digest, it.reason, it.rules) for it in question.allowed):
                    return Allowed()
                return await self.desk.ask(question, Verdict("ask", reason, offers))


def _is_command(question: ApprovalQuestion) -> bool:
    return isinstance(question.effect, CommandEffect)


def _demand_offered(request: ApprovalRequested, answer: Answer) -> None:
    """A rule may be kept for a shorter time than it was offered for, never for longer."""
    widths = [_WIDTH[rule.scope] for rule in request.rules if rule.id == answer.rule_id]
    if answer.rule_id and _WIDTH[answer.scope] > max(widths, default=-1):
        raise UnknownApprovalError(
            f"Rule {answer.rule_id} was not offered for this {answer.scope} by request {request.request_id}."
        )
