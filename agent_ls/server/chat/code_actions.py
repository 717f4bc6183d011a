"""Pure: code actions and lenses for plugin-free clients, and diagnostics that mark open hunks.

An action with an effect is never offered alone, because some editors run a single action without asking. No
action is marked as preferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_ls.loop.calls.approval import asks_for_trust
from agent_ls.loop.events.types import ApprovalRequested, Hunk, QuestionAsked
from agent_ls.server.chat.words import ALLOW, DENY, DISTRUST, TRUST, one_line
from agent_ls.text import reveal_controls, strip_controls

QUICKFIX, REFACTOR, SOURCE = "quickfix.agentLs", "refactor.agentLs", "source.agentLs"
SHOW = "agentLs.show"
INFORMATION = 3
MARK_LINES, MARK_COLUMNS = 8, 160
"""Maximum number of replaced or proposed lines in a diagnostic, and maximum length of each line in
characters. An editor without a plugin shows these lines only there.
"""
PROBLEM_CHARS = 500


@dataclass(frozen=True, slots=True)
class Offer:
    """A command that the user can choose, as a code lens or as a code action of this `kind`."""

    kind: str
    title: str
    command: str
    arguments: tuple[Any, ...] = ()

    def as_command(self) -> dict[str, Any]:
        return {"title": self.title, "command": self.command, "arguments": list(self.arguments)}

    def as_action(self) -> dict[str, Any]:
        return {"title": self.title, "kind": self.kind, "command": self.as_command()}


def approval_offers(request: ApprovalRequested, session_id: str, chat: str = "") -> list[Offer]:
    """Return the actions for an approval, "deny" first. `chat` is the name of the chat that asks, if several
    chats are open.
    """
    which = {"sessionId": session_id, "requestId": request.request_id}
    what = one_line(reveal_controls(request.summary), 60) + (f" ({one_line(chat)})" if chat else "")
    no, yes = (DISTRUST, TRUST) if asks_for_trust(request) else (DENY, ALLOW)
    offers = [
        Offer(QUICKFIX, f"{no}: {what}", "agentLs.deny", (which,)),
        Offer(QUICKFIX, f"{yes}: {what}", "agentLs.approve", (which,)),
    ]
    for rule in request.rules:
        given = {**which, "ruleId": rule.id, "scope": rule.scope}
        offers.append(Offer(QUICKFIX, f"{rule.label}: {what}", "agentLs.approve", (given,)))
    return offers


def chat_offers(uri: str, *, can_send: bool, is_running: bool, holds_back: bool = False) -> list[Offer]:
    offers = [Offer(SOURCE, "Send to the agent", "agentLs.send", ({"uri": uri},))] if can_send else []
    if holds_back:
        offers.append(Offer(QUICKFIX, "Show the answer", SHOW, ({"uri": uri},)))
    if is_running:
        offers.append(Offer(QUICKFIX, "Stop the agent", "agentLs.stop", ({"uri": uri},)))
    return offers


def new_worktree_offer(uri: str) -> Offer:
    """Return the action that sends the first message of a chat to a session in a git worktree."""
    given = {"uri": uri, "worktree": "current"}
    return Offer(SOURCE, "Send to the agent, which works in a new git worktree", "agentLs.send", (given,))


def worktree_offer(uri: str) -> Offer:
    title = "Apply the changes of the worktree to this folder"
    return Offer(SOURCE, title, "agentLs.bringChanges", ({"uri": uri},))


def plan_offers(uri: str) -> list[Offer]:
    """Return the actions that accept the plan: the last answer in the chat, as the user has edited it there."""
    return [
        Offer(QUICKFIX, f"Accept the plan: {words}", "agentLs.acceptPlan", ({"uri": uri, "mode": mode},))
        for mode, words in (
            ("ask", "ask before commands, and once before edits"),
            ("edits", "ask before commands only"),
        )
    ]


def answer_offers(uri: str, asked: QuestionAsked) -> list[Offer]:
    def given(choice: str) -> dict[str, str]:
        return {"uri": uri, "questionId": asked.question_id, "answer": choice}

    return [
        Offer(QUICKFIX, f"Answer: {one_line(choice, 80)}", "agentLs.answer", (given(choice),))
        for choice in asked.choices
    ]


def blame_offer(uri: str, line: int) -> Offer:
    return Offer(SOURCE, "Who wrote this line?", "agentLs.blame", ({"uri": uri, "line": line},))


def read_only_offers(uri: str, owner: str) -> list[Offer]:
    return [Offer(QUICKFIX, f"Take over this session from {owner}", "agentLs.takeOver", ({"uri": uri},))]


def read_only_mark(owner: str) -> dict[str, Any]:
    """Return a diagnostic at the top of a chat document that says who owns the session."""
    return {
        "range": lines_range(0, 0),
        "severity": INFORMATION,
        "source": "agent-ls",
        "code": "readOnly",
        "message": f"This session is read-only, because {owner} has it open. Use the code action "
        "agentLs.takeOver to take it over.",
    }


def hunk_offers(hunk: Hunk) -> list[Offer]:
    which = {"hunkIds": [hunk.id]}
    counts = f"+{len(hunk.lines)} \u2212{len(hunk.base_lines)}"
    offers = [Offer(QUICKFIX, f"Keep this change of the agent ({counts})", "agentLs.keep", (which,))]
    if hunk.state == "edited":
        title = f"Undo this change and the text that you typed inside ({counts})"
        return [*offers, Offer(QUICKFIX, title, "agentLs.undo", ({**which, "confirm": True},))]
    return [*offers, Offer(QUICKFIX, f"Undo this change of the agent ({counts})", "agentLs.undo", (which,))]


def file_offers(uri: str, count: int) -> list[Offer]:
    if not count:
        return []
    return [
        Offer(
            SOURCE, f"Keep all changes of the agent in this file ({count})", "agentLs.keep", ({"uri": uri},)
        ),
        Offer(
            SOURCE, f"Undo all changes of the agent in this file ({count})", "agentLs.undo", ({"uri": uri},)
        ),
    ]


def filter_offers(offers: Sequence[Offer], only: Sequence[str] | None) -> list[Offer]:
    """Return the offers that have one of the kinds in `only`, or a sub-kind of one of them. If `only` is None,
    return all offers.

    Adds "Do nothing" to a single offer that has an effect, because some editors run a single action without
    asking.
    """
    found = [
        offer
        for offer in offers
        if only is None or any(offer.kind == kind or offer.kind.startswith(f"{kind}.") for kind in only)
    ]
    if len(found) == 1 and found[0].command != SHOW:
        found.append(Offer(found[0].kind, "Do nothing", SHOW))
    return found


def is_in_lines(hunk: Hunk, first: int, last: int) -> bool:
    """Return whether a hunk is on the lines `first` to `last`, inclusive. A pure removal counts as being on
    the line after the removed lines.
    """
    return hunk.start <= last and first < max(hunk.end, hunk.start + 1)


def lines_range(start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": start, "character": 0}, "end": {"line": max(end, start), "character": 0}}


def make_lens(line: int, offer: Offer) -> dict[str, Any]:
    return {"range": lines_range(line, line), "command": offer.as_command()}


def ask_offers(lines: Mapping[str, Any], chats: Mapping[str, str]) -> list[Offer]:
    """Return one action for each open chat; the action adds a mention of the lines to that chat. `chats` are
    the names of the open chats by URI.
    """
    title = "Ask the agent about these lines"
    return [
        Offer(
            REFACTOR,
            f"{title} in {one_line(name)}" if len(chats) > 1 else title,
            "agentLs.ask",
            ({**lines, "chat": uri},),
        )
        for uri, name in chats.items()
    ]


def problem_offers(lines: Mapping[str, Any], problem: str, chats: Mapping[str, str]) -> list[Offer]:
    """Return the actions that send lines, and the problem in these lines ("" for none), to an open chat."""
    titles = {"explain": "Explain these lines with the agent"}
    if problem:
        what = one_line(problem, 60)
        titles = {"fix": f"Fix with the agent: {what}", "explain": f"Explain with the agent: {what}"}
    # Remove each "@", because a mention in the problem's text was not written by the user.
    about = one_line(problem.replace("@", " "), PROBLEM_CHARS)
    return [
        Offer(
            QUICKFIX if problem else REFACTOR,
            title + (f" in {one_line(name)}" if len(chats) > 1 else ""),
            "agentLs.ask",
            ({**lines, "chat": uri, "command": command, "about": about},),
        )
        for uri, name in chats.items()
        for command, title in titles.items()
    ]


def hunk_mark(hunk: Hunk) -> dict[str, Any]:
    """Return a diagnostic for a hunk. A removal marks the line at its position. Its message contains the
    removed or proposed lines.
    """
    what = {
        "proposed": "The agent proposes a change here",
        "edited": "You typed inside a change of the agent",
    }
    title = what.get(hunk.state, "Changed by the agent")
    counts = f"+{len(hunk.lines)} \u2212{len(hunk.base_lines)}"
    is_proposed = hunk.state == "proposed"
    other = _excerpt(
        "It would be:" if is_proposed else "Before:", hunk.lines if is_proposed else hunk.base_lines
    )
    return {
        "range": lines_range(hunk.start, max(hunk.end, hunk.start + 1)),
        "severity": INFORMATION,
        "source": "agent-ls",
        "code": "hunk",
        "message": f"{title} ({counts}). Keep or undo this change with a code action.{other}",
    }


def _excerpt(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    shown = [strip_controls(line.rstrip("\r\n")) for line in lines[:MARK_LINES]]
    shown = [line if len(line) <= MARK_COLUMNS else f"{line[: MARK_COLUMNS - 1]}\u2026" for line in shown]
    more = [f"\u2026 {len(lines) - MARK_LINES} more"] if len(lines) > MARK_LINES else []
    return "\n".join(["", title, *shown, *more])
