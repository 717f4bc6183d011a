"""Answer approval requests without an editor, more strictly than the permission modes do.

Read-only calls are allowed. Other calls are allowed only by the permission mode or by the user's `--allow`
options (allowed.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, TypeAlias

from agent_ls.headless.terminal import Lines, ask
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.policy.situation import Mode

Approve: TypeAlias = Literal["never", "ask", "edits", "all"]
Answerer: TypeAlias = Callable[[ApprovalRequested], Awaitable[ApprovalAnswer]]

MODES: dict[Approve, Mode] = {"never": "ask", "ask": "ask", "edits": "edits", "all": "full"}
"""The permission mode for each value of `--approve`.

If the mode requires approval for a call, the call is refused; with the value `ask`, the user is asked instead.
"""

_WIDER = {
    "never": "--approve edits or --approve all",
    "edits": "--approve all",
    "all": "an editor, or --approve ask",
}


def answerer(approve: Approve, lines: Lines) -> Answerer:
    """Return the function that answers approval requests as the given value of `--approve` requires.

    For the value `ask`, the function reads the user's answers from `lines`. For other values it denies each
    request. Calls that the permission mode allows cause no request.
    """
    if approve == "ask":
        return partial(ask, lines=lines)

    async def refuse(request: ApprovalRequested) -> ApprovalAnswer:
        return ApprovalAnswer(
            "deny",
            reason=f"nobody can approve this action in a run without an editor ({request.reason}); the user can "
            f"allow it with {_WIDER[approve]}",
            decided_by="headless",
        )

    return refuse
