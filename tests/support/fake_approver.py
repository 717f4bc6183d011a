"""An Approver that returns given decisions and records the questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anyio.lowlevel import checkpoint

from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Decision
from agent_ls.loop.events.types import ApprovalRequested


class FakeApprover:
    """Returns `decisions` in order, then always `otherwise`. `on_ask` is called before each decision.

    `free`: no effect needs an approval, so calls can start while the model streams.
    """

    def __init__(
        self,
        decisions: Iterable[Decision] = (),
        otherwise: Decision | None = None,
        on_ask: Callable[[ApprovalQuestion], None] = lambda _: None,
        *,
        free: bool = False,
    ) -> None:
        self._free = free
        self._decisions = iter(list(decisions))
        self._otherwise = otherwise or Allowed()
        self._on_ask = on_ask
        self.questions: list[ApprovalQuestion] = []

    async def decide(self, question: ApprovalQuestion) -> Decision:
        self.questions.append(question)
        await checkpoint()
        self._on_ask(question)
        return next(self._decisions, self._otherwise)

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        await checkpoint()
        return Allowed() if self._free else None

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        await checkpoint()
        return next(self._decisions, self._otherwise)
