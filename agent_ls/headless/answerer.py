"""Who answers approvals when there is no editor (PROTOCOL: headless is no mode but an answerer; 004 section 6.1).

What only looks is free. Of all else passes what the mode lets pass, and what the user has listed for this run: a tool
by its name, also one of category admin, commands by their first words, which is never what all modes ask about, or
pages of a site.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

from agent_ls.app.cli_tools import own_names
from agent_ls.app.errors import BadChoiceError
from agent_ls.app.live_session import LiveSession
from agent_ls.headless.terminal import Lines, ask
from agent_ls.loop.approval import Answer
from agent_ls.loop.events import ApprovalRequested, RuleOffer
from agent_ls.policy.fetches import id_of_site
from agent_ls.policy.rules import id_of_words, tool_id
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


def allow_listed(live: LiveSession, listed: Sequence[str]) -> None:
    """For as long as this process has the session; nothing of it is stored.

    Raises:
        BadChoiceError: words that no rule can be made of.
    """
    for text in listed:
        is_added = live.session.profile.registry.lookup(text) and text not in own_names()
        is_address = text.startswith(("http://", "https://"))
        rule_id = tool_id(text) if is_added else id_of_site(text) if is_address else id_of_words(text)
        if not rule_id:
            raise BadChoiceError(
                f"--allow {text!r}: this names no tool, no command and no site",
                "name a tool of yours, the first words of commands, such as 'npm test', or https://HOST",
            )
        live.desk.grants.add(RuleOffer(rule_id, f"--allow {text}", "session"), "session", "")


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
