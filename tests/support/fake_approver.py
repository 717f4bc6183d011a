"""An Approver that decides as it was told, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anyio.lowlevel import checkpoint

from agent_ls.loop.approval import Allowed, ApprovalQuestion, Decision
from agent_ls.loop.events import ApprovalRequested


class FakeApprover:
    """`decisions` in order, then always `otherwise`. `on_ask` is called before each decision.

    `free`: what it would decide about needs nobody (nothing starts early without).
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

    async def is_free(self, question: ApprovalQuestion) -> bool:
        await checkpoint()
        return self._free

    async def resume(self, request: ApprovalRequested) -> Decision:
        await checkpoint()
        return next(self._decisions, self._otherwise)
