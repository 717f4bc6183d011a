"""Who answers approvals when there is no editor (PROTOCOL: headless is no mode but an answerer)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, TypeAlias

from agent_ls.headless.terminal import Lines, ask
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested
from agent_ls.policy.situation import Mode

Approve: TypeAlias = Literal["never", "ask", "edits", "all"]
Answerer: TypeAlias = Callable[[ApprovalRequested], Awaitable[Answer]]

MODES: dict[Approve, Mode] = {"never": "ask", "ask": "ask", "edits": "edits", "all": "full"}
"""`--approve` as a permission mode; what that mode would still ask is refused, or asked on the terminal."""

_WIDER = {
    "never": "--approve edits or --approve all",
    "edits": "--approve all",
    "all": "an editor, or --approve ask",
}


def answerer(approve: Approve, lines: Lines) -> Answerer:
    """`lines` are for `ask` only."""
    if approve == "ask":
        return partial(ask, lines=lines)

    async def refuse(request: ApprovalRequested) -> Answer:
        return Answer(
            "deny",
            reason=f"nobody is here to approve it ({request.reason}); the user may allow it with {_WIDER[approve]}",
            decided_by="headless",
        )

    return refuse
