"""grep: lines by pattern, as lines, files or counts (000 sections 3.3 and 3.5, REQUIREMENTS T6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from agent_ls.environments.base import GrepLine, GrepOptions, GrepResult
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.notebooks import as_cells
from agent_ls.tools.paths import absolute, its_folder, shown_path
from agent_ls.tools.summary import one_line

COUNTED_MATCHES = (
    100_000  # for files and counts max_results limits the files, so the matches need a limit of their own
)


class GrepArguments(Arguments):
    pattern: str = Field(min_length=1, description="A regular expression, as ripgrep understands it.")
    path: str = Field(
        default=".", description="The folder or file to search; the working directory when left out."
    )
    glob_filter: str = Field(
        default="",
        description="Only files that match, for example `*.py`; `!*.min.js` leaves files out: `*.js !*.min.js`.",
    )
    case_insensitive: bool = Field(default=False, description="Ignore case.")
    literal: bool = Field(default=False, description="Take the pattern as plain text, not as an expression.")
    context_lines: int = Field(
        default=0, ge=0, le=50, description="Lines to show before and after each match."
    )
    max_results: int = Field(default=100, ge=1, description="The most results to return.")


class GrepModesArguments(GrepArguments):
    output_mode: Literal["content", "files_with_matches", "count"] = Field(
        default="content",
        description="content: matching lines; files_with_matches: only paths; count: matching lines per file.",
    )


async def prepare(arguments: GrepArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.path, context.environment)
    mode = arguments.output_mode if isinstance(arguments, GrepModesArguments) else "content"

    async def run() -> ToolOutput:
        try:
            result = await context.environment.grep(arguments.pattern, path, _options(arguments, mode))
        except InvalidPatternError as error:
            raise ToolError(
                f"{str(error).rstrip('.')}. Correct the expression, or set literal to search for plain text.",
                kind=error.kind,
            ) from None
        if not result.lines:
            return ToolOutput(_nothing(arguments, shown_path(path, context.environment)))
        if mode == "content":
            found = GrepResult(tuple(await as_cells(result.lines, context.environment)), result.truncated)
            if not found.lines:
                return ToolOutput(_nothing(arguments, shown_path(path, context.environment)))
            return ToolOutput(_content(found, arguments.max_results))
        return ToolOutput(_by_file(result, mode, arguments.max_results))

    return Prepared(ReadEffect((path,)), run)


def _options(arguments: GrepArguments, mode: str) -> GrepOptions:
    lines = arguments.context_lines if mode == "content" else 0
    return GrepOptions(
        glob_filter=arguments.glob_filter,
        case_insensitive=arguments.case_insensitive,
        literal=arguments.literal,
        max_results=arguments.max_results if mode == "content" else COUNTED_MATCHES,
        before_lines=lines,
        after_lines=lines,
    )


def _nothing(arguments: GrepArguments, where: str) -> str:
    files = f" in files that match {arguments.glob_filter!r}" if arguments.glob_filter else ""
    return (
        f"No matches for {arguments.pattern!r} in {where}{files}. Ignored and binary files are not searched."
    )


def _content(result: GrepResult, max_results: int) -> str:
    lines = list(_rendered(result.lines))
    if result.truncated:
        lines += ["", f"[Only the first {max_results} matches. Narrow the search, or raise max_results.]"]
    return "\n".join(lines)


def _rendered(lines: Sequence[GrepLine]) -> Iterator[str]:
    """`path:line:text` for a match, `path-line-text` for context, `--` where lines are left out between them."""
    has_context = any(not line.is_match for line in lines)
    previous: GrepLine | None = None
    for line in lines:
        if has_context and previous and (previous.path, previous.line + 1) != (line.path, line.line):
            yield "--"
        mark = ":" if line.is_match else "-"
        yield f"{line.path}{mark}{line.line}{mark}{line.text}"
        previous = line


def _by_file(result: GrepResult, mode: Literal["files_with_matches", "count"], max_results: int) -> str:
    counts = Counter(line.path for line in result.lines if line.is_match)
    shown = list(counts.items())[:max_results]
    lines = [path if mode == "files_with_matches" else f"{path}:{count}" for path, count in shown]
    if len(counts) > len(shown) or result.truncated:
        lines += ["", f"[Only the first {len(shown)} files. Narrow the search, or raise max_results.]"]
    return "\n".join(lines)


def summarize(arguments: GrepArguments) -> str:
    return one_line(arguments.pattern)


GREP = Tool(
    name="grep",
    description=(
        "Search the content of files for a regular expression; results are `path:line:text`.\n\n"
        "Files that the project ignores (as in .gitignore) and binary files are not searched. "
        "Use glob to find files by name, and grep, not a shell command, to search in them."
    ),
    category="read",
    arguments=GrepArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_folder,
    starts_early=True,
)
