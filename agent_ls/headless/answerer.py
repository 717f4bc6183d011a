"""Answer approval requests without an editor, more strictly than the permission modes do.

Read-only calls are allowed. Other calls are allowed only by the permission mode or by the user's `--allow`
options (allowed.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from agent_ls.headless.terminal import Lines, ask
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.policy.situation import Mode

Answerer: TypeAlias = Callable[[ApprovalRequested], Awaitable[ApprovalAnswer]]

_WIDER: dict[Mode, str] = {
    "plan": "--mode edits or --mode full",
    "ask": "--mode edits or --mode full",
    "edits": "--mode full",
    "full": "an editor, or --ask on a terminal",
}


def answerer(mode: Mode, lines: Lines | None) -> Answerer:
    """Return the function that answers approval requests of a run in this mode.

    The function reads the user's answers from `lines`; without `lines` it denies each request. Calls that the mode
    allows cause no request.
    """
    if lines:
        return partial(ask, lines=lines)

    async def refuse(request: ApprovalRequested) -> ApprovalAnswer:
        return ApprovalAnswer(
            "deny",
            reason=f"nobody can approve this action in a run without an editor ({request.reason}); the user can "
            f"allow it with {_WIDER[mode]}",
            decided_by="headless",
        )

    return refuse
