"""diagnostics: list the problems that the editor's language servers and linters report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Field

from agent_ls.environments.effects import NoEffect, ReadEffect
from agent_ls.environments.language_host import CodeProblem, FileProblems, LanguageHost
from agent_ls.text import plural
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.location_list import NAME_MAX_CHARS, FileTexts, get_page, paging_note
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path
from agent_ls.tools.summary import one_line
from agent_ls.tools.symbol_lookup import query_editor

INSTEAD = "Run the project's own checker with a command instead."
MESSAGE_MAX_CHARS = 500
_ORDER = {"error": 0, "warning": 1, "information": 2, "hint": 3}


class DiagnosticsArguments(Arguments):
    file_path: str = Field(
        default="", description="The file; default: all files that the editor has diagnostics for."
    )
    severity: Literal["error", "warning", "all"] = Field(
        default="warning", description="error: errors only; warning: errors and warnings; all: hints too."
    )
    offset: int = Field(default=1, ge=1, description="The number of the first result to return.")


async def prepare(host: LanguageHost, arguments: DiagnosticsArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.file_path, context.environment) if arguments.file_path else ""

    async def run() -> ToolOutput:
        if path:
            # Diagnostics quote a file, so they must not be listed for a file that may not be read.
            await context.environment.read_bytes(path)
        return await _render_problems(await query_editor(host.problems(path), INSTEAD), arguments, context)

    return Prepared(ReadEffect((path,)) if path else NoEffect(), run)


async def _render_problems(
    files: Sequence[FileProblems], arguments: DiagnosticsArguments, context: ToolContext
) -> ToolOutput:
    found = sorted(_select_problems(files, arguments), key=lambda pair: _rank(pair, context))
    late = [_name(file.path, context) for file in files if not file.is_settled]
    notes = (
        [f"[The editor's tools are still checking {', '.join(late[:5])}: call this tool again later.]"]
        if late
        else []
    )
    if not found:
        of = f" of {_name(files[0].path, context)}" if arguments.file_path and files else ""
        return ToolOutput(
            "\n".join(
                [f"The editor's tools report no problems{of}{_describe_weaker(files, arguments)}.", *notes]
            ),
            summary="no problems",
        )
    page = get_page(found, arguments.offset, "problems")
    texts = FileTexts(context)
    rows = [await _row(file, problem, texts, context) for file, problem in page]
    rows += paging_note(len(found), arguments.offset, len(page))
    count = len(found)
    return ToolOutput("\n".join([*rows, *notes]), summary=plural(count, "problem"))


def _select_problems(
    files: Sequence[FileProblems], arguments: DiagnosticsArguments
) -> Iterator[tuple[FileProblems, CodeProblem]]:
    weakest = _ORDER.get(arguments.severity, len(_ORDER))
    for file in files:
        for problem in file.problems:
            if _ORDER.get(problem.severity, 0) <= weakest:
                yield file, problem


def _rank(pair: tuple[FileProblems, CodeProblem], context: ToolContext) -> tuple[int, bool, str, int]:
    file, problem = pair
    shown = shown_path(file.path, context.environment)
    return (_ORDER.get(problem.severity, 0), shown == file.path, shown, problem.line)


def _describe_weaker(files: Sequence[FileProblems], arguments: DiagnosticsArguments) -> str:
    left = sum(len(file.problems) for file in files)
    return f" of this severity ({left} weaker ones; severity all shows them)" if left else ""


async def _row(file: FileProblems, problem: CodeProblem, texts: FileTexts, context: ToolContext) -> str:
    where = f"{_name(file.path, context)}:{problem.line + 1}"
    if isinstance(why := await texts.of(file.path), str):
        return f"{where}: {problem.severity} [not shown: {why}]"
    by = f" ({one_line(problem.by)})" if problem.by else ""
    return f"{where}: {problem.severity}: {one_line(problem.message, MESSAGE_MAX_CHARS)}{by}"


def _name(path: str, context: ToolContext) -> str:
    return one_line(shown_path(path, context.environment), NAME_MAX_CHARS)


def diagnostics(host: LanguageHost) -> Tool[Any]:
    return Tool(
        name="diagnostics",
        description=(
            "List the errors and warnings that the editor shows, from its compilers, type checkers and linters. "
            "New problems after an edit are part of the result of the edit; use this tool for older problems or "
            "other files. The editor may not check files that are not open: run the project's own checker for "
            "those files."
        ),
        category="read",
        arguments=DiagnosticsArguments,
        prepare=partial(prepare, host),
        look=Look("search", "Looking at problems of", "Looked at problems of"),
        summarize=lambda arguments: one_line(arguments.file_path or "all files"),
    )
