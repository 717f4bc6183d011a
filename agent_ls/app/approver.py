"""ADAPTER Approver: policy first, and a person where policy says ask."""

from __future__ import annotations

from dataclasses import replace

import anyio.to_thread

from agent_ls.app.bounds import PathBounds, real_paths
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
from agent_ls.policy.decide import Allow, Ask, Judgement, Mode, Refuse, ReviewSetting, Situation, judge
from agent_ls.store.fold import Fold

_WIDTH: dict[ApprovalScope, int] = {"once": 0, "turn": 1, "session": 2}


class PolicyApprover:
    """Judges by mode and grants, and asks at the desk. `mode` and `review` may be changed while a session runs.

    What was allowed is told to `bounds`, so that the act is held to it.
    """

    def __init__(
        self, *, bounds: PathBounds, mode: Mode, desk: ApprovalDesk, review: ReviewSetting = "after"
    ) -> None:
        self.mode = mode
        self.review = review
        self._reviewed_first: set[str] = set()
        self.desk = desk
        self._bounds = bounds
        self._session_grants: frozenset[str] = frozenset()
        self._turn_grants: tuple[str, frozenset[str]] = ("", frozenset())

    async def decide(self, question: ApprovalQuestion) -> Decision:
        resolved = await anyio.to_thread.run_sync(real_paths, question.effect)
        # A call keeps the setting that it was judged by: it was not asked about because its hunks are.
        review = "before" if question.call_id in self._reviewed_first else self.review
        situation = Situation(
            mode=self.mode,
            roots=self._bounds.places.roots,
            home=self._bounds.places.home,
            grants=self._grants(question.turn_id),
            resolved=resolved,
            review=review,
        )
        decision = await self._decided(judge(question.effect, situation), question)
        if isinstance(decision, Allowed):
            call_id, turn_id = question.call_id, question.turn_id
            self._bounds.allowed(question.effect, resolved, call_id=call_id, turn_id=turn_id)
            if review == "before" and isinstance(question.effect, WriteEffect):
                self._reviewed_first.add(call_id)
        return decision

    def is_reviewed_first(self, call_id: str) -> bool:
        """Whether the changes of this call are shown before they are made."""
        return call_id in self._reviewed_first

    async def resume(self, request: ApprovalRequested) -> Decision:
        return await self.desk.wait(request.request_id)

    def restore(self, stored: Fold, suspended: Suspended | None) -> None:
        """Rules that the user stored hold again, and what a suspended turn asks waits again."""
        self._session_grants = frozenset(stored.session_grants)
        if suspended:
            self._reviewed_first.update(suspended.proposed.values())
            self._turn_grants = (suspended.turn_id, frozenset(stored.turn_grants))
            for request in suspended.asked:
                self.desk.restore(request, suspended.turn_id)

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
        if resolved.decision == "allow":
            self._grant(resolved.rule_id, answer.scope, turn_id)
        return resolved

    def _grants(self, turn_id: str) -> frozenset[str]:
        turn, grants = self._turn_grants
        return self._session_grants | (grants if turn == turn_id else frozenset())

    def _grant(self, rule_id: str, scope: ApprovalScope, turn_id: str) -> None:
        if scope == "session":
            self._session_grants |= {rule_id}
        elif scope == "turn":
            turn, grants = self._turn_grants
            self._turn_grants = (turn_id, (grants if turn == turn_id else frozenset()) | {rule_id})

    async def _decided(self, judgement: Judgement, question: ApprovalQuestion) -> Decision:
        match judgement:
            case Allow():
                return Allowed()
            case Refuse(reason):
                return Denied(reason)
            case Ask(rules=rules) if rules and question.is_users_own and _is_command(question):
                # It was asked because of the mode, and the person who was asked wrote it. What is never silent has no
                # rules: that is asked about like any other.
                return Allowed(asked=True)
            case Ask(reason, rules):
                offers = tuple(RuleOffer(rule.id, rule.label, rule.scope) for rule in rules)
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
