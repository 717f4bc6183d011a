"""ADAPTER Approver: policy first, and a person where policy says ask."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os.path import realpath

import anyio.to_thread

from agent_ls.environments.effects import CommandEffect, Effect, ReadEffect, WriteEffect
from agent_ls.loop.approval import Allowed, Answer, ApprovalDesk, ApprovalQuestion, Decision, Denied, Verdict
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, RuleOffer
from agent_ls.policy.decide import Allow, Ask, Mode, Refuse, Situation, judge


class PolicyApprover:
    """Judges by mode and grants, and asks at the desk. `mode` may be changed while a session runs."""

    def __init__(self, *, roots: Sequence[str], mode: Mode, desk: ApprovalDesk) -> None:
        self.mode = mode
        self.desk = desk
        self._roots = tuple(realpath(root) for root in roots)
        self._home = realpath(os.path.expanduser("~"))
        self._session_grants: set[str] = set()
        self._turn_grants: tuple[str, frozenset[str]] = ("", frozenset())
        self._turn_of_request: dict[str, str] = {}

    async def decide(self, question: ApprovalQuestion) -> Decision:
        paths = _paths(question.effect)
        resolved = await anyio.to_thread.run_sync(lambda: {path: realpath(path) for path in paths})
        turn, turn_grants = self._turn_grants
        grants = self._session_grants | (turn_grants if turn == question.turn_id else frozenset())
        situation = Situation(self.mode, self._roots, self._home, frozenset(grants), resolved)
        match judge(question.effect, situation):
            case Allow():
                return Allowed()
            case Refuse(reason):
                return Denied(reason)
            case Ask(reason, rules):
                offers = tuple(RuleOffer(rule.id, rule.label, rule.scope) for rule in rules)
                return await self.desk.ask(question, Verdict("ask", reason, offers))

    def pending(self) -> tuple[ApprovalRequested, ...]:
        """What waits for a person, oldest first."""
        return self.desk.pending()

    def answer(self, request_id: str, answer: Answer) -> ApprovalResolved:
        """Settles a pending request; a rule that comes with an allowing answer holds from now on.

        Raises:
            UnknownApprovalError: no such request, or a rule that was not offered.
        """
        turn_id = self.desk.turn_of(request_id)
        resolved = self.desk.answer(request_id, answer)
        if resolved.decision == "allow" and resolved.rule_id and resolved.client_key == answer.client_key:
            if resolved.scope == "session":
                self._session_grants.add(resolved.rule_id)
            elif resolved.scope == "turn":
                turn, grants = self._turn_grants
                kept = grants if turn == turn_id else frozenset()
                self._turn_grants = (turn_id, kept | {resolved.rule_id})
        return resolved


def _paths(effect: Effect) -> tuple[str, ...]:
    match effect:
        case ReadEffect(paths):
            return paths
        case WriteEffect(files):
            return tuple(file.path for file in files)
        case CommandEffect():
            return (effect.working_dir,)
        case _:
            return ()
