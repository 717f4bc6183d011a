"""The calls that wait until each hunk that they proposed is decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from agent_ls.environments.base import Attribution, FileWrite
from agent_ls.services.review.proposal_notes import JudgedHunk
from agent_ls.services.review.reviewed_file import Call, call_of

ADMISSION_S = 5
"""How many seconds a decision waits for the policy check of its call after a resume."""


@dataclass(slots=True)
class CallReview:
    """A call that waits until each of its hunks is decided.

    `is_admitted` is set when the policy allows the call; after a resume, the policy checks the call again.
    """

    attribution: Attribution
    writes: Sequence[FileWrite]
    judged: list[JudgedHunk] = field(default_factory=list)
    is_over: anyio.Event = field(default_factory=anyio.Event)
    is_admitted: anyio.Event = field(default_factory=anyio.Event)


class WaitingCalls:
    """The calls that wait for decisions, by session and call id."""

    def __init__(self) -> None:
        self._waits: dict[Call, CallReview] = {}

    def add(self, wait: CallReview) -> None:
        self._waits[call_of(wait.attribution)] = wait

    def get(self, call: Call) -> CallReview:
        return self._waits[call]

    def remove(self, call: Call) -> None:
        self._waits.pop(call, None)

    def is_waiting(self, call: Call) -> bool:
        return call in self._waits

    def judge(self, call: Call, judged: JudgedHunk) -> None:
        """Record the decision about a hunk, if its call is waiting."""
        if wait := self._waits.get(call):
            wait.judged.append(judged)

    def end(self, call: Call) -> None:
        """Continue a waiting call, because all of its hunks are decided."""
        if wait := self._waits.get(call):
            wait.is_over.set()

    async def is_admitted(self, call: Call) -> bool:
        """Return whether the kept hunks of this call may be applied.

        After a resume, waits briefly for the policy check.
        """
        if wait := self._waits.get(call):
            with anyio.move_on_after(ADMISSION_S):
                await wait.is_admitted.wait()
            return wait.is_admitted.is_set()
        return True
