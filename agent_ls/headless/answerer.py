"""Who answers approvals when there is no editor (PROTOCOL: headless is no mode but an answerer)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

import anyio.to_thread

from agent_ls.headless.transcript import plain
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested
from agent_ls.policy.decide import Mode

Approve: TypeAlias = Literal["never", "ask", "edits", "all"]
Answerer: TypeAlias = Callable[[ApprovalRequested], Awaitable[Answer]]

MODES: dict[Approve, Mode] = {"never": "ask", "ask": "ask", "edits": "edits", "all": "full"}
"""`--approve` as a permission mode; what that mode would still ask is refused, or asked on the terminal."""

_WIDER = {
    "never": "--approve edits or --approve all",
    "edits": "--approve all",
    "all": "an editor, or --approve ask",
}


def answerer(approve: Approve) -> Answerer:
    if approve == "ask":
        return _ask_on_terminal

    async def refuse(request: ApprovalRequested) -> Answer:
        return Answer(
            "deny",
            reason=f"nobody is here to approve it ({request.reason}); the user may allow it with {_WIDER[approve]}",
            decided_by="headless",
        )

    return refuse


async def _ask_on_terminal(request: ApprovalRequested) -> Answer:
    """One line from the terminal; anything but a clear yes is a no, and its words are the reason."""
    session = next((rule for rule in request.rules if rule.scope == "session"), None)
    choices = "[y]es" + (f" / [s]ession ({session.label})" if session else "") + " / no, or say why not: "
    sys.stderr.write(f"{plain(request.tool)}: {plain(request.summary)}\n{choices}")
    sys.stderr.flush()
    line = (await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)).strip()
    if line.lower() in ("y", "yes"):
        return Answer("allow", decided_by="terminal")
    if session and line.lower() in ("s", "session"):
        return Answer("allow", scope="session", rule_id=session.id, decided_by="terminal")
    reason = "" if line.lower() in ("", "n", "no") else line
    return Answer("deny", reason=reason, decided_by="terminal")
