"""Pure: the turns of an exported page. Messages, answers and trouble are in sight; what the agent did is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from agent_ls.display.words import item_line
from agent_ls.loop.events.items import (
    AskedApproval,
    AskedQuestion,
    Body,
    ChangedFile,
    Item,
    Notice,
    RetriedCall,
    SaidItem,
    StartedAgent,
    SteerMessage,
    ToolUse,
    TurnEnd,
    UserMessage,
)
from agent_ls.sessions.export.html_text import (
    counted,
    css_class,
    diff,
    inline,
    lines_changed,
    local_time,
    plain,
    prose,
    text,
)

_STEER = {"injected": "", "waiting": " (not read yet)", "removed": " (taken back)"}
_ENDS = {
    "interrupted": "The user stopped the agent.",
    "limit": "The agent stopped at a limit.",
    "error": "An error ended the turn.",
    "aborted": "The turn was cut off.",
    "refused": "Some actions of the agent were refused.",
}
_ACTIONS = {"create": "Created", "modify": "Edited", "delete": "Deleted"}
_STEPS = (SaidItem, ToolUse, ChangedFile, AskedApproval, StartedAgent, RetriedCall)

Approvals: TypeAlias = Mapping[str, AskedApproval]


@dataclass(frozen=True, slots=True)
class Known:
    """Approvals by call, the calls that changed a file, and all calls: one row shows what belongs together."""

    folder: str
    approvals: Approvals
    changed: frozenset[str]
    calls: frozenset[str]


def turns(items: Sequence[Item], folder: str) -> Iterator[str]:
    """Yield the HTML of all items, oldest first. Paths below `folder` are relative to it."""
    bodies = [item.body for item in items]
    known = Known(
        folder,
        {body.request.call_id: body for body in bodies if isinstance(body, AskedApproval)},
        frozenset(body.change.call_id for body in bodies if isinstance(body, ChangedFile)),
        frozenset(body.call_id for body in bodies if isinstance(body, ToolUse)),
    )
    shown = [item for item in items if not _is_shown_elsewhere(item.body, known)]
    for is_step, group in groupby(shown, _is_step):
        found = list(group)
        rows = list(_rows(found, known))
        if is_step and len(found) > 1:
            yield f'<details class="steps"><summary>{_sum_up(found, folder)}</summary>'
            yield from (*rows, "</details>")
        else:
            yield from rows


def relative(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder.rstrip('/')}/") if folder else path


def _is_step(item: Item) -> bool:
    match item.body:
        case SaidItem(kind=kind):
            return kind == "reasoning" or bool(item.agent_id)
        case body:
            return isinstance(body, _STEPS)


def _is_shown_elsewhere(body: Body, known: Known) -> bool:
    """Whether another row shows it: an approval is on the row of its call, an edit on the row of the changed file."""
    match body:
        case AskedApproval(request=request):
            return request.call_id in known.calls | known.changed
        case ChangedFile(change=change):
            return bool(change.copy_of)  # the change in the worktree is shown
        case ToolUse(look="edit", status="done", call_id=call_id):
            return call_id in known.changed
        case SaidItem(text=said):
            return not said.strip()
        case _:
            return False


def _sum_up(items: Sequence[Item], folder: str) -> str:
    """Return what was done, as one line. A single failed call is named, because the fold hides it."""
    calls = [item.body for item in items if isinstance(item.body, ToolUse)]
    looks = Counter(call.look for call in calls)
    files = {item.body.change.path for item in items if isinstance(item.body, ChangedFile)}
    rest = len(calls) - looks["read"] - looks["search"] - looks["execute"]
    parts = [
        *([f"read {counted(looks['read'], 'file')}"] if looks["read"] else []),
        *([f"searched {counted(looks['search'], 'time')}"] if looks["search"] else []),
        *([f"changed {counted(len(files), 'file')}"] if files else []),
        *([f"ran {counted(looks['execute'], 'command')}"] if looks["execute"] else []),
        *([counted(rest, "other step")] if rest else []),
    ]
    line = ", ".join(parts) or "thought"
    failed = [call.summary for call in calls if call.status == "failed"]
    what = f"<code>{text(relative(failed[0], folder))}</code>" if len(failed) == 1 else str(len(failed))
    mark = f' <span class="failed">{what} failed</span>' if failed else ""
    return f"{line[:1].upper()}{line[1:]}{mark}"


def _rows(items: Sequence[Item], known: Known) -> Iterator[str]:
    """Yield the items; those of a subagent in a block of its own."""
    for agent_id, of_agent in groupby(items, lambda item: item.agent_id):
        if agent_id:
            yield f'<div class="agent"><div class="dim">Subagent {text(agent_id)}</div>'
        for item in of_agent:
            yield from _item(item.body, item.timestamp, known)
        if agent_id:
            yield "</div>"


def _item(body: Body, timestamp: str, known: Known) -> Iterator[str]:
    match body:
        case UserMessage(text=said):
            time = f"<time>{text(local_time(timestamp))}</time>"
            yield f'<section class="user"><h2>You {time}</h2>{plain(said)}</section>'
        case SteerMessage(text=said, status=status):
            yield f'<section class="user"><h3>You, during the turn{_STEER[status]}</h3>{plain(said)}</section>'
        case SaidItem(kind="reasoning", text=said):
            yield f'<details class="reasoning"><summary class="dim">Thought</summary>{prose(said)}</details>'
        case SaidItem(text=said, interrupted=interrupted):
            end = '<p class="dim">interrupted</p>' if interrupted else ""
            yield f'<section class="said">{prose(said)}{end}</section>'
        case ToolUse():
            yield from _tool(body, known)
        case ChangedFile(change=change):
            verb, path = _ACTIONS[change.action], text(relative(change.path, known.folder))
            numbers = lines_changed(change.added, change.removed)
            asked = _decision(known.approvals.get(change.call_id))
            yield f"<details><summary>{verb} <code>{path}</code> {numbers}{asked}</summary>{diff(change.diff)}"
            yield "</details>"
        case AskedApproval(request=request):
            yield f"<p>Asked for <code>{text(request.summary)}</code>{_decision(body)}</p>"
        case AskedQuestion(asked=asked, status=status, answers=answers):
            given = text("; ".join(answers)) if answers else status
            yield f'<section class="said">{prose(asked.question)}</section>'
            yield f'<section class="user"><h3>Your answer</h3>{plain(given)}</section>'
        case Notice(level=level, text=said, hint=hint):
            more = f" <span>{text(hint)}</span>" if hint else ""
            yield f'<p class="notice {css_class(level)}">{text(said)}{more}</p>'
        case TurnEnd():
            yield from _end(body, known.folder)
        case _:
            if line := item_line(body):
                yield f'<p class="dim">{text(line.label)}: {text(line.text)}</p>'


def _tool(body: ToolUse, known: Known) -> Iterator[str]:
    verb = text(body.done or body.name)
    failed = ' <span class="failed">failed</span>' if body.status == "failed" else ""
    running = ' <span class="dim">not finished</span>' if body.status == "running" else ""
    asked = _decision(known.approvals.get(body.call_id))
    what = text(relative(body.summary, known.folder))
    yield f"<details><summary>{verb} <code>{what}</code>{failed}{running}{asked}</summary>"
    yield f"<pre>{text(body.arguments)}</pre>"
    if body.result and body.result.output:
        yield f"<pre>{text(body.result.output)}</pre>"
    yield "</details>"


def _decision(asked: AskedApproval | None) -> str:
    """Return the user's part in a call: what was answered, and the command that ran instead."""
    if asked is None:
        return ""
    word = {"allow": "allowed", "deny": "denied", "pending": "not answered"}[asked.status]
    why = f": {text(asked.reason)}" if asked.reason else ""
    instead = f", ran instead: <code>{text(asked.command)}</code>" if asked.command else ""
    kind = "failed" if asked.status == "deny" else "dim"
    return f' <span class="{kind}">{word}{why}</span>{instead}'


def _end(body: TurnEnd, folder: str) -> Iterator[str]:
    if body.reason in _ENDS:
        yield f'<p class="notice">{_ENDS[body.reason]}</p>'
    if body.files:
        added, removed = sum(file.added for file in body.files), sum(file.removed for file in body.files)
        names = ", ".join(f"<code>{text(relative(file.path, folder))}</code>" for file in body.files)
        changed = counted(len(body.files), "file")
        yield f'<p class="dim">{changed} changed, {lines_changed(added, removed)}: {names}</p>'
    if body.facts:
        yield f'<p class="dim">{inline(body.facts.text)}</p>'
