"""Pure: replace every free text of a transcript's items, for example to redact an export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agent_ls.loop.events.evidence import TurnFacts
from agent_ls.loop.events.items import (
    AskedApproval,
    AskedQuestion,
    Body,
    ChangedFile,
    Item,
    Notice,
    RetriedCall,
    RollBack,
    SaidItem,
    StartedAgent,
    SteerMessage,
    ToolUse,
    TurnEnd,
    UserMessage,
)

Clean = Callable[[str], str]


def clean_item(item: Item, clean: Clean) -> Item:
    """Return the item with `clean` applied to its texts, paths and arguments. Hunks and effects are left out."""
    return replace(item, body=_body(item.body, clean))


def _body(body: Body, clean: Clean) -> Body:
    match body:
        case UserMessage() | SteerMessage() | SaidItem() | RetriedCall():
            return replace(body, text=clean(body.text))
        case Notice():
            return replace(body, text=clean(body.text), hint=clean(body.hint))
        case ToolUse():
            return _tool(body, clean)
        case ChangedFile(change=change):
            return ChangedFile(replace(change, path=clean(change.path), diff=clean(change.diff), hunks=()))
        case AskedApproval(request=request):
            request = replace(
                request, summary=clean(request.summary), reason=clean(request.reason), effect={}, rules=()
            )
            return replace(body, request=request, reason=clean(body.reason), command=clean(body.command))
        case AskedQuestion(asked=asked):
            asked = replace(asked, question=clean(asked.question), choices=tuple(map(clean, asked.choices)))
            return replace(body, asked=asked, answers=tuple(map(clean, body.answers)))
        case StartedAgent(agent=agent):
            return StartedAgent(
                replace(
                    agent,
                    task=clean(agent.task),
                    output=clean(agent.output),
                    working_dir=clean(agent.working_dir),
                )
            )
        case TurnEnd(files=files, facts=facts):
            clean_files = tuple(replace(file, path=clean(file.path)) for file in files)
            return replace(body, files=clean_files, facts=facts and _facts(facts, clean))
        case RollBack(event=event):
            restored = tuple(replace(file, path=clean(file.path)) for file in event.files)
            return RollBack(replace(event, files=restored))


def _facts(facts: TurnFacts, clean: Clean) -> TurnFacts:
    checks = tuple(replace(check, command=clean(check.command)) for check in facts.checks)
    return replace(facts, text=clean(facts.text), checks=checks)


def _tool(body: ToolUse, clean: Clean) -> ToolUse:
    result = body.result
    if result is not None:
        result = replace(
            result,
            output=clean(result.output),
            summary=clean(result.summary),
            input_summary=clean(result.input_summary),
            changes=(),
        )
    return replace(
        body,
        name=clean(body.name),
        summary=clean(body.summary),
        arguments=clean(body.arguments),
        result=result,
    )
