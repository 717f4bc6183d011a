"""Pure: what a session changed and checked, as Markdown for the description of a pull request.

Facts of the log: the user's messages, the changed files with the decisions about them, and the evidence. Only the
reasons of single changes are the model's words, and the report says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_ls.loop.events.items import Action, FileSum, Item, TurnEnd, UserMessage
from agent_ls.loop.events.types import Envelope, FileChange, Hunk, HunkStateChanged
from agent_ls.loop.turn_facts import facts_line
from agent_ls.sessions.export.markdown import code, format_quote, inert
from agent_ls.text import to_display_line

Decided: TypeAlias = Literal["kept", "undone", "edited", "pending"]
_ORDER: Sequence[Decided] = ("kept", "edited", "undone", "pending")
_WORDS: Mapping[Decided, str] = {
    "kept": "kept",
    "edited": "edited",
    "undone": "undone",
    "pending": "not decided",
}


@dataclass(slots=True)
class _File:
    action: Action
    added: int = 0
    removed: int = 0
    decided: Counter[Decided] = field(default_factory=Counter)


def decisions(events: Iterable[Envelope]) -> dict[str, Counter[Decided]]:
    """Return how many hunks of each file were kept, edited, undone, or are not decided."""
    hunks: dict[str, Hunk] = {}
    for envelope in events:
        match envelope.event:
            case FileChange(hunks=changed) | HunkStateChanged(hunks=changed):
                hunks |= {hunk.id: hunk for hunk in changed}
            case _:
                pass
    found: dict[str, Counter[Decided]] = {}
    for hunk in hunks.values():
        match hunk.state:
            case "kept" | "undone" | "edited" | "pending" as state:
                found.setdefault(hunk.path, Counter())[state] += 1
            case _:
                pass
    return found


def report(
    facts: Sequence[tuple[str, str]],
    items: Sequence[Item],
    decided: Mapping[str, Counter[Decided]],
    folder: str,
    changes: Sequence[str] = (),
) -> str:
    """Return the report. `facts` are listed at its end, `decided` are the decisions by path. Paths are relative to
    `folder`, which is not part of the report. `changes` are the lines of the list of changes.
    """
    files = _files(items)
    for path, counts in decided.items():
        if path in files:
            files[path].decided = counts
    lines = ["## Changed files", "", *_table(files, folder)]
    if changes:
        lines += [
            "",
            "## Changes in reading order",
            "",
            "The reasons are in the agent's words.",
            "",
            *changes,
        ]
    lines += ["", "## Requests and evidence", "", *_requests(items)]
    said = " · ".join(f"{name.lower()} {code(value)}" for name, value in facts if value != folder)
    lines.append(f"Made with agent-ls: {said}")
    return "\n".join(lines) + "\n"


def trailers(
    facts: Sequence[tuple[str, str]], items: Sequence[Item], decided: Mapping[str, Counter[Decided]]
) -> str:
    """Return trailers for a commit message: one line each, so that git reads them as trailers."""
    named = dict(facts)
    total = sum(decided.values(), Counter[Decided]())
    counts = ", ".join(f"{total[it]} {_WORDS[it]}" for it in _ORDER if total[it])
    said = next(
        (
            item.body.facts.text
            for item in reversed(items)
            if isinstance(item.body, TurnEnd) and item.body.facts
        ),
        "",
    )
    values = {
        "Agent-Session": named.get("Session", ""),
        "Agent-Model": named.get("Model", ""),
        "Agent-Changes": counts,
        "Agent-Evidence": inert(said),
    }
    return "".join(f"{name}: {to_display_line(value, 500)}\n" for name, value in values.items() if value)


def _files(items: Sequence[Item]) -> dict[str, _File]:
    found: dict[str, _File] = {}
    for item in items:
        # A change in a worktree and its later application to the user's folder have the same path here.
        changes = (
            {change.path: change for change in item.body.files} if isinstance(item.body, TurnEnd) else {}
        )
        for change in changes.values():
            _add(found, change)
    return found


def _add(found: dict[str, _File], change: FileSum) -> None:
    file = found.setdefault(change.path, _File(change.action))
    file.added += change.added
    file.removed += change.removed
    if file.action != "create" or change.action == "delete":
        file.action = change.action


def _table(files: Mapping[str, _File], folder: str) -> Iterator[str]:
    if not files:
        yield "No file was changed."
        return
    yield "| file | change | lines | review |"
    yield "| --- | --- | --- | --- |"
    for path, file in sorted(files.items()):
        states = ", ".join(f"{file.decided[it]} {_WORDS[it]}" for it in _ORDER if file.decided[it])
        cell = code(path.removeprefix(f"{folder}/")).replace("|", "\\|")
        yield f"| {cell} | {file.action} | +{file.added} −{file.removed} | {states} |"


def _requests(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        match item.body:
            case UserMessage(text=text):
                yield from (*format_quote(text), "")
            case TurnEnd(reason=reason, facts=facts) if not item.agent_id:
                said = facts_line(facts, code) if facts else "No file was changed."
                ended = "" if reason == "completed" else f"The turn ended: {reason}. "
                yield from (f"{ended}{said}", "")
            case _:
                pass
