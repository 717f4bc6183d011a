"""The permission rules that apply in one session (scopes: turn, session, project, user), with usage counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import anyio.to_thread

from agent_ls.background import TaskStarter
from agent_ls.loop.calls.approval import ApprovalScope
from agent_ls.loop.events.types import RecordedEvent, RuleOffer, RuleRemoved, Warning
from agent_ls.loop.seams import Clock
from agent_ls.store.rules import RuleStore, StoredRule
from agent_ls.store.session_state import AcceptedRule


@dataclass(frozen=True, slots=True)
class HeldRule:
    """A permission rule for display in lists.

    `hits` counts the uses. `workspace` is the folder of a project rule, "" for other rules. `created` and
    `used` (the last use) are times in ISO 8601, "" for never or unknown.
    """

    id: str
    label: str
    scope: Literal["turn", "session", "project", "user"]
    hits: int
    workspace: str = ""
    created: str = ""
    used: str = ""


def hold_rule(rule: StoredRule) -> HeldRule:
    return HeldRule(rule.id, rule.label, rule.scope, rule.hits, rule.workspace, rule.created, rule.used)


class SessionRules:
    """Holds the rules of one session, and counts their uses.

    Rules for the project or the user are written to `store` in a background task, which `start`
    starts. `emit` records an event of the session.
    """

    def __init__(
        self,
        store: RuleStore,
        workspace: str,
        clock: Clock,
        start: TaskStarter,
        emit: Callable[[RecordedEvent], object],
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._clock = clock
        self._start = start
        self._emit = emit
        self._session: dict[str, HeldRule] = {}
        self._turn: dict[str, HeldRule] = {}
        self._turn_id = ""
        self._unwritten: set[str] = set()

    def read_stored_ids(self) -> frozenset[str]:
        """Return the ids of rules for this project and this user. Blocks: run in a thread."""
        return frozenset(rule.id for rule in self._store.rules(self._workspace))

    def ids(self, turn_id: str, stored: Collection[str]) -> frozenset[str]:
        """Return the ids of all rules that apply in a turn. `stored` is the result of `read_stored_ids`."""
        turn = self._turn if turn_id == self._turn_id else {}
        return frozenset((*self._session, *turn, *stored, *self._unwritten))

    def restore(
        self, session: Mapping[str, AcceptedRule], turn: Mapping[str, AcceptedRule], turn_id: str
    ) -> None:
        """Restore rules of an earlier process, by id."""
        self._session = {
            rule_id: HeldRule(rule_id, it.label, "session", 0, created=it.created)
            for rule_id, it in session.items()
        }
        self._turn = {
            rule_id: HeldRule(rule_id, it.label, "turn", 0, created=it.created)
            for rule_id, it in turn.items()
        }
        self._turn_id = turn_id

    def add(self, offer: RuleOffer, scope: ApprovalScope, turn_id: str) -> None:
        """Add a rule that the user has just accepted."""
        if scope == "turn":
            if turn_id != self._turn_id:
                self._turn_id, self._turn = turn_id, {}
            self._turn[offer.id] = HeldRule(offer.id, offer.label, "turn", 0, created=self._clock.now())
        elif scope == "session":
            self._session[offer.id] = HeldRule(offer.id, offer.label, "session", 0, created=self._clock.now())
        elif scope in ("project", "user"):
            self._unwritten.add(offer.id)
            self._start(partial(self._keep, offer, scope))

    def allow_reading(self, folder: str) -> None:
        """Allow reads below `folder` for this session without approval, except through links that leave it."""
        if any(char in folder for char in "*?[]{}\\,"):
            return  # a rule would treat the path as a pattern
        rule_id = f"read:{folder}/**"
        if rule_id not in self._session:
            label = f"Read files below {folder}, the folder of a skill in use"
            self._session[rule_id] = HeldRule(rule_id, label, "session", 0, created=self._clock.now())

    def count_use(self, ids: Collection[str]) -> None:
        """Count a use of these rules."""
        for held_rules in (self._session, self._turn):
            for rule_id in held_rules.keys() & ids:
                held_rules[rule_id] = replace(
                    held_rules[rule_id], hits=held_rules[rule_id].hits + 1, used=self._clock.now()
                )
        if left := [rule_id for rule_id in ids if rule_id not in self._session and rule_id not in self._turn]:
            self._start(partial(self._count, left))

    def rules(self) -> Sequence[HeldRule]:
        """Return the rules of the session and its turn; stored rules are listed by RuleStore."""
        return (*self._session.values(), *self._turn.values())

    def remove(self, rule_id: str) -> bool:
        """Remove a rule of the session or its turn; return whether the rule existed.

        The rule stays removed after a resume.
        """
        was_held = rule_id in self._session or rule_id in self._turn
        self._unwritten.discard(rule_id)
        self._session.pop(rule_id, None)
        self._turn.pop(rule_id, None)
        if was_held:
            self._emit(RuleRemoved(rule_id))
        return was_held

    async def _keep(self, offer: RuleOffer, scope: Literal["project", "user"]) -> None:
        add = partial(self._store.add, offer.id, offer.label, scope, self._workspace, self._clock.now())
        try:
            await anyio.to_thread.run_sync(add)
        except OSError as error:
            words = f"The rule could not be stored: {error.strerror or error}. It applies until this session is closed."
            self._emit(Warning(words, "rule_not_kept"))
        else:
            self._unwritten.discard(offer.id)

    async def _count(self, ids: Sequence[str]) -> None:
        await anyio.to_thread.run_sync(self._store.count, ids, self._workspace, self._clock.now())
