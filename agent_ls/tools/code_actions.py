"""code_actions, apply_code_action: list and make the changes that the editor offers for a line: fixes, refactorings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import Field

from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.environments.language_host import (
    FileChanges,
    LanguageHost,
    OfferedAction,
    SourceSpan,
    utf16_units,
)
from agent_ls.text import decode, plural, split_lines, strip_ending
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.editor_edits import plan_editor_edits, prepared_edits
from agent_ls.tools.look import Look
from agent_ls.tools.not_found import file_not_found
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import find_column, last_part, query_editor

INSTEAD = "Edit the file instead."
MAX_ACTIONS = 100
TITLE_MAX_CHARS = 300


class CodeActionsArguments(Arguments):
    file_path: str = Field(min_length=1, description="The file.")
    line: int = Field(ge=1, description="The line, from 1.")
    end_line: int = Field(
        default=0, ge=0, description="The last line, for several lines; default: only `line`."
    )
    symbol: str = Field(
        default="",
        max_length=300,
        description="A name on the line: actions for this name; default: actions for the whole line.",
    )


class ApplyCodeActionArguments(CodeActionsArguments):
    title: str = Field(
        min_length=1, max_length=1_000, description="The title of the action, as code_actions returned it."
    )


async def prepare_list(host: LanguageHost, arguments: CodeActionsArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment)

    async def run() -> ToolOutput:
        span = await _find_span(arguments, context)
        found = await query_editor(host.actions(span), INSTEAD)
        where = f"{shown_path(path, context.environment)}:{arguments.line}"
        if not found:
            return ToolOutput(f"The editor offers no code actions for {where}.")
        rows = [_render_row(one) for one in _in_order(found)]
        more = [f"[... and {len(rows) - MAX_ACTIONS} more]"] if len(rows) > MAX_ACTIONS else []
        count = plural(len(rows), "action")
        return ToolOutput("\n".join([f"{where}:", *rows[:MAX_ACTIONS], *more]), summary=count)

    return Prepared(ReadEffect((path,)), run)


def _in_order(actions: Sequence[OfferedAction]) -> list[OfferedAction]:
    """Return the actions once each: preferred ones first, those that cannot be applied last."""
    return sorted(dict.fromkeys(actions), key=lambda one: (bool(one.disabled), not one.is_preferred))


def _render_row(one: OfferedAction) -> str:
    notes = [
        *filter(None, [one_line(one.kind)]),
        *(["preferred"] if one.is_preferred else []),
        *([f"cannot be applied: {one_line(one.disabled)}"] if one.disabled else []),
    ]
    return f"  {one_line(one.title, TITLE_MAX_CHARS)}" + (f" [{', '.join(notes)}]" if notes else "")


async def prepare_edits(
    host: LanguageHost, arguments: ApplyCodeActionArguments, context: ToolContext
) -> Prepared:
    commands: list[str] = []

    async def ask() -> Sequence[FileChanges]:
        span = await _find_span(arguments, context)
        title = _find_title(await host.actions(span), arguments.title)
        changes = await host.action_changes(span, title)
        commands[:] = filter(None, [one_line(changes.command, TITLE_MAX_CHARS)])
        return changes.files

    files = await plan_editor_edits(ask, context, instead=INSTEAD)
    if not files:
        what = f"only runs the editor's command {commands[0]!r}" if commands else "changes no text"
        raise ToolError(
            f"This action {what}, so it cannot be applied here. Nothing was changed. {INSTEAD}",
            kind="no_answer",
        )
    note = f"[The editor's command {commands[0]!r}, a part of this action, was not run.]" if commands else ""
    done = f"Applied {one_line(arguments.title, TITLE_MAX_CHARS)!r}"
    return prepared_edits(files, done, context, note)


def _find_title(actions: Sequence[OfferedAction], wanted: str) -> str:
    """Return the title of the action as the editor writes it.

    Raises:
        ToolError: there is no such action, or it cannot be applied.
    """
    named = [
        one for one in actions if one_line(one.title, TITLE_MAX_CHARS) == one_line(wanted, TITLE_MAX_CHARS)
    ]
    if not named:
        rows = "\n".join(_render_row(one) for one in _in_order(actions)[:MAX_ACTIONS])
        offered = f"It offers:\n{rows}" if rows else "It offers none."
        raise ToolError(
            f"The editor does not offer the action {wanted!r} for this line. {offered}", kind="not_found"
        )
    best = _in_order(named)[0]
    if best.disabled:
        raise ToolError(
            f"The editor cannot apply the action {wanted!r} now: {one_line(best.disabled)}. {INSTEAD}",
            kind="validation",
        )
    return best.title


async def _find_span(arguments: CodeActionsArguments, context: ToolContext) -> SourceSpan:
    """Return the part of the file that the arguments name.

    Raises:
        ToolError: there is no such line, or the name is not on it. EnvError: the file may not be read.
    """
    path = absolute(arguments.file_path, context.environment)
    try:
        data = await context.environment.read_bytes(path)
    except PathNotFoundError:
        raise await file_not_found(path, context.environment) from None
    lines = [strip_ending(line) for line in split_lines(decode(data).text)] or [""]
    first, last = arguments.line - 1, max(arguments.end_line, arguments.line) - 1
    name = shown_path(path, context.environment)
    if last >= len(lines):
        raise ToolError(f"{name} has only {len(lines)} lines.", kind="validation")
    if not arguments.symbol:
        return SourceSpan(path, first, 0, last, utf16_units(lines[last]))
    column = find_column(lines[first], arguments.symbol)
    if column is None:
        raise ToolError(
            f"Line {arguments.line} of {name} has no {arguments.symbol!r}; it reads: {one_line(lines[first], 200)}",
            kind="not_found",
        )
    start = utf16_units(lines[first][:column])
    return SourceSpan(path, first, start, first, start + utf16_units(last_part(arguments.symbol)))


def code_actions(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="code_actions",
        description=(
            "List the changes that the editor's language servers offer for a line: quick fixes of its problems, "
            "missing imports, refactorings. Make one of them with apply_code_action."
        ),
        category="read",
        arguments=CodeActionsArguments,
        prepare=partial(prepare_list, host),
        look=Look("search", "Looking for code actions", "Looked for code actions"),
        summarize=lambda arguments: one_line(f"{arguments.file_path}:{arguments.line}"),
    )


def apply_code_action(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="apply_code_action",
        description=(
            "Make one of the changes that code_actions lists for a line, in all files that it concerns. Commands of "
            "the editor that belong to an action are not run."
        ),
        category="write",
        arguments=ApplyCodeActionArguments,
        prepare=partial(prepare_edits, host),
        look=Look("edit", "Applying", "Applied"),
        summarize=lambda arguments: one_line(arguments.title),
    )
