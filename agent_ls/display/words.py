"""Pure: the words for the facts of a session, which all front ends use.

The clients of Neovim and VS Code have the tables in generated files (`python -m tests.tools.wire_types`). Text of
users, models and servers is returned unchanged: the caller makes it safe for its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agent_ls.loop.events.items import (
    AskedApproval,
    AskedQuestion,
    Body,
    RetriedCall,
    RollBack,
    StartedAgent,
    TurnEnd,
)
from agent_ls.loop.events.origin import Noted
from agent_ls.loop.events.types import (
    Compaction,
    EndReason,
    PlanItem,
    Retry,
    Reverted,
    RuleRemoved,
    SteeringInjected,
    SubagentChanged,
    TurnFacts,
)
from agent_ls.text import join_sentences, plural

INTERRUPTED = " \u2026 (interrupted)"
"""Behind a text of the model that was interrupted."""
PLAN_MARKS: Mapping[str, str] = {"pending": "[ ]", "active": "[>]", "done": "[x]"}
END_WORDS: Mapping[EndReason, str] = {
    "completed": "done",
    "refused": "done, but actions of the agent were refused",
    "interrupted": "stopped",
    "limit": "stopped at a limit",
    "error": "ended by an error",
    "aborted": "the session was ended",
}
AGENT_WORDS: Mapping[str, str] = {
    "": "done",
    "limit": "reached its limit",
    "refused": "an action was refused",
    "error": "failed",
    "interrupted": "stopped",
    "closed": "closed",
    "stopped": "stopped by you",
}
"""How a subagent ended, by `SubagentChanged.reason`."""
REVERTED_WORDS: Mapping[str, str] = {
    "restored": "restored",
    "conflict": "left unchanged, because the file was edited later",
    "unknown": "not restored, because its earlier text is not stored",
}
"""What a roll back did to a file, by `RevertedFile.state`."""


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def seconds(duration_ms: float) -> str:
    """Return a duration for display: `0.3 s`, `12 s`, `3 min 20 s`."""
    if duration_ms < 10_000:
        return f"{duration_ms / 1000:.1f} s"
    whole = round(duration_ms / 1000)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def tally(added: int, removed: int) -> str:
    return f"+{added} \u2212{removed}"


def plan_step(item: PlanItem) -> str:
    return f"{PLAN_MARKS[item.status]} {item.text}"


@dataclass(frozen=True, slots=True)
class Remark:
    """One line about an event. `kind` "facts": how a turn ended or what it checked, apart from the lines above."""

    text: str
    kind: Literal["info", "warn", "facts"] = "info"


def remark(event: object) -> Remark | None:
    """Return the line for an event that one line describes completely; None for other events."""
    match event:
        case SteeringInjected(text=text):
            return Remark(f"\u21b3 sent to the model: {' '.join(text.split())}")
        case RuleRemoved(rule_id=rule_id):
            return Remark(f"rule removed, so such actions need approval again: {rule_id}")
        case SubagentChanged() as agent:
            return Remark(f"{agent.agent_id} {_agent(agent)}")
        case Retry(attempt=attempt, delay_ms=delay_ms, message=message):
            return Remark(
                join_sentences(message, f"Trying again in {seconds(delay_ms)} (attempt {attempt})."), "warn"
            )
        case Compaction(status="started" | "done", message=message):
            return Remark(message)
        case Noted(message=message) | Compaction(message=message):
            return Remark(message, "warn")
        case TurnFacts(text=text):
            return Remark(text, "facts")
        case Reverted() as reverted:
            return Remark(_roll_back(reverted), "facts")
        case _:
            return None


def _agent(agent: SubagentChanged) -> str:
    if agent.status == "running":
        return f"works on: {' '.join(agent.task.split())}"
    return f"{AGENT_WORDS[agent.reason]}, model calls: {agent.turns_used}"


def _roll_back(event: Reverted) -> str:
    if event.restored_turns:
        what = "reverted the roll back"
    else:
        what = f"rolled back {plural(len(event.turns), 'message') if event.conversation else 'files only'}"
    restored = sum(file.state == "restored" for file in event.files)
    return f"{what}, {restored} of {plural(len(event.files), 'file')} restored" if event.files else what


@dataclass(frozen=True, slots=True)
class ItemLine:
    """An item as one line: `label: text status: more`. `is_code`: `text` is a command or the arguments of a call."""

    label: str
    text: str = ""
    status: str = ""
    more: str = ""
    is_code: bool = False


def item_line(body: Body) -> ItemLine | None:
    """Return the line for an item that one line describes; None for other items."""
    match body:
        case AskedApproval(request=request, status=status, reason=reason, command=command):
            more = reason or (f"ran instead: {command}" if command else "")
            return ItemLine("Approval", request.summary, status, more, is_code=True)
        case AskedQuestion(asked=asked, status=status, answers=answers):
            return ItemLine("Question", asked.question, "; ".join(answers) or status)
        case StartedAgent(agent=agent):
            return ItemLine(f"Subagent {agent.agent_id} {agent.status}", agent.task)
        case RetriedCall(text=text, attempt=attempt):
            return ItemLine(f"Tried again ({attempt})", text)
        case RollBack(event=event):
            return ItemLine("Roll back", _roll_back(event))
        case TurnEnd(reason=reason):
            return ItemLine("End of the turn", reason)
        case _:
            return None


def local_minute(timestamp: str) -> str:
    """Return a time of the log in the time zone of this machine, without seconds; other texts as they are."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return timestamp
