"""grep: search file contents. The results are lines, files or counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import anyio
from pydantic import Field, field_validator

from agent_ls.environments.base import ExecutionEnvironment, GrepLine, GrepOptions, GrepResult
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import EnvError, InvalidPatternError
from agent_ls.environments.search import replace_line_ends
from agent_ls.patterns import regex
from agent_ls.text import looks_binary
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.file_types import glob_of_type
from agent_ls.tools.look import Look
from agent_ls.tools.notebooks import map_lines_to_cells
from agent_ls.tools.paths import absolute, resolve_filter, shown_path, touched_folder
from agent_ls.tools.summary import one_line

OutputMode: TypeAlias = Literal["content", "files_with_matches", "count"]

MAX_CONTEXT_LINES = 50
# In modes that list files or counts, max_results limits the files, so the matches need a separate limit.
COUNTED_MATCHES = 100_000
SEARCH_LIMIT_S = 60.0
PATTERN_CHARS = 10_000
_BETWEEN_GLOBS = regex(r"\s*[,;|]\s*|\s+")
_SEVERAL_GLOBS = regex(rf"\s*\*[^\s,;|{{}}]*(?:(?:{_BETWEEN_GLOBS.pattern})\*[^\s,;|{{}}]*)+\s*")
_ANY_CHARACTER = regex(r"(?<!\\)\[\\(?:s\\S|S\\s|w\\W|W\\w|d\\D|D\\d)\]")


class GrepArguments(Arguments):
    pattern: str = Field(min_length=1, description="A regular expression, as ripgrep understands it.")
    path: str = Field(
        default=".", description="The folder or file to search; default: the working directory."
    )
    glob_filter: str = Field(
        default="",
        description="Only files that match these globs, for example `*.py`. `!` excludes: `*.js !*.min.js`.",
    )
    case_insensitive: bool = Field(default=False, description="Ignore case.")
    literal: bool = Field(
        default=False, description="Treat the pattern as plain text, not as a regular expression."
    )
    context_lines: int = Field(
        default=0, ge=0, le=MAX_CONTEXT_LINES, description="Lines to show before and after each match."
    )
    max_results: int = Field(default=100, ge=1, description="The maximum number of results.")
    output_mode: OutputMode = Field(
        default="content",
        description="content: matching lines; files_with_matches: only paths; count: matching lines per file.",
    )
    file_type: str = Field(default="", description="Only files of this type, for example py, js, rust or go.")
    before_lines: int = Field(
        default=0, ge=0, le=MAX_CONTEXT_LINES, description="Lines to show before each match."
    )
    after_lines: int = Field(
        default=0, ge=0, le=MAX_CONTEXT_LINES, description="Lines to show after each match."
    )
    multiline: bool = Field(
        default=False, description="Allow matches over several lines; `.` also matches the end of a line."
    )
    line_numbers: bool = Field(default=True, description="Show line numbers.")
    offset: int = Field(default=0, ge=0, description="The number of results to skip at the start.")

    @field_validator("glob_filter")
    @classmethod
    def _join_globs(cls, glob_filter: str) -> str:
        """Join `*.a, *.b`, which models write as well, to `{*.a,*.b}`."""
        if not _SEVERAL_GLOBS.fullmatch(glob_filter):
            return glob_filter
        globs = _BETWEEN_GLOBS.split(glob_filter.strip())
        if "/" in glob_filter:
            globs = [glob if "/" in glob else f"**/{glob}" for glob in globs]
        return "{" + ",".join(globs) + "}"

    @field_validator("file_type")
    @classmethod
    def _is_known_type(cls, file_type: str) -> str:
        if file_type:
            glob_of_type(file_type)
        return file_type


async def _too_slow(path: str, environment: ExecutionEnvironment) -> ToolError:
    try:
        await environment.list_directory(path)
        what, then = "The search", "Search a smaller folder, or fewer files."
    except EnvError:
        what, then = (
            f"The search of the file {shown_path(path, environment)}",
            "Search a part of it with a command.",
        )
    return ToolError(f"{what} took longer than {SEARCH_LIMIT_S:g} seconds. {then}", kind="timeout")


async def prepare(arguments: GrepArguments, context: ToolContext) -> Prepared:
    if len(arguments.pattern) > PATTERN_CHARS:
        raise ToolError(f"The pattern is longer than {PATTERN_CHARS:,} characters.", kind="validation")
    path = absolute(arguments.path, context.environment)

    async def run() -> ToolOutput:
        try:
            with anyio.fail_after(SEARCH_LIMIT_S):
                options = _options(arguments)
                names = await resolve_filter(options.glob_filter, context.environment)
                pattern = arguments.pattern
                if options.multiline and not (
                    arguments.multiline or arguments.literal or pattern[:2] == "(?"
                ):
                    pattern = f"(?-s:{pattern})"  # `.` still ends at the end of a line
                result = await context.environment.grep(pattern, path, replace(options, glob_filter=names))
        except TimeoutError:
            raise await _too_slow(path, context.environment) from None
        except InvalidPatternError as error:
            plain = arguments.parameter("literal")
            then = f"Correct the regular expression, or set {plain} to search for plain text."
            raise ToolError(f"{str(error).rstrip('.')}. {then}", kind=error.kind) from None
        where = shown_path(path, context.environment)
        if not result.lines:
            is_binary = await _is_binary(path, context.environment)
            return ToolOutput(_binary(where) if is_binary else _no_matches(arguments, where))
        if arguments.output_mode == "content":
            cells = await map_lines_to_cells(result.lines, context.environment)
            found = _skip_matches(cells, arguments.offset)
            if not found:
                return ToolOutput(_no_matches(arguments, where))
            return ToolOutput(_content(GrepResult(tuple(found), result.truncated), arguments))
        return ToolOutput(_by_file(result, arguments, where))

    return Prepared(ReadEffect((path,)), run)


def _options(arguments: GrepArguments) -> GrepOptions:
    is_content = arguments.output_mode == "content"
    around = arguments.context_lines if is_content else 0
    return GrepOptions(
        glob_filter=arguments.glob_filter,
        names=glob_of_type(arguments.file_type) if arguments.file_type else "",
        case_insensitive=arguments.case_insensitive,
        literal=arguments.literal,
        max_results=arguments.max_results + arguments.offset if is_content else COUNTED_MATCHES,
        before_lines=max(around, arguments.before_lines) if is_content else 0,
        after_lines=max(around, arguments.after_lines) if is_content else 0,
        multiline=arguments.multiline or _has_line_end(arguments),
    )


def _has_line_end(arguments: GrepArguments) -> bool:
    """Return whether the pattern itself has the end of a line, so that no single line can match all of it."""
    pattern = arguments.pattern
    if arguments.literal:
        return "\n" in pattern
    return replace_line_ends(pattern, "") != pattern or _ANY_CHARACTER.search(pattern) is not None


def _skip_matches(lines: Sequence[GrepLine], offset: int) -> Sequence[GrepLine]:
    """Return the lines after the first `offset` matches, without the context lines of the skipped matches."""
    matches = [number for number, line in enumerate(lines) if line.is_match]
    if not offset or not matches:
        return lines
    return lines[matches[offset] :] if offset < len(matches) else ()


async def _is_binary(path: str, environment: ExecutionEnvironment) -> bool:
    try:
        return looks_binary(await environment.read_bytes(path))
    except EnvError:  # mostly a folder
        return False


def _binary(where: str) -> str:
    return (
        f"{where} was not searched, because it counts as binary: it has a NUL byte near its start. A command such as "
        "`grep -a` searches it."
    )


def _no_matches(arguments: GrepArguments, where: str) -> str:
    if arguments.offset:
        return f"No more matches for {arguments.pattern!r} in {where} after the first {arguments.offset}."
    files = f" in files that match {arguments.glob_filter!r}" if arguments.glob_filter else ""
    kind = f" of type {arguments.file_type}" if arguments.file_type else ""
    return (
        f"No matches for {arguments.pattern!r} in {where}{files}{kind}. "
        "Ignored and binary files are not searched."
    )


def _content(result: GrepResult, arguments: GrepArguments) -> str:
    lines = list(_render_lines(result.lines, numbered=arguments.line_numbers))
    if result.truncated:
        lines += ["", _limit_note(f"{arguments.max_results} matches", arguments)]
    return "\n".join(lines)


def _limit_note(shown: str, arguments: GrepArguments) -> str:
    first = "first" if not arguments.offset else "next"
    return f"[Only the {first} {shown}. Narrow the search, or raise {arguments.parameter('max_results')}.]"


def _render_lines(lines: Sequence[GrepLine], *, numbered: bool) -> Iterator[str]:
    """Yield `path:line:text` for a match, `path-line-text` for context, and `--` between separate groups."""
    has_context = any(not line.is_match for line in lines)
    previous: GrepLine | None = None
    for line in lines:
        if has_context and previous and (previous.path, previous.line + 1) != (line.path, line.line):
            yield "--"
        mark = ":" if line.is_match else "-"
        number = f"{line.line}{mark}" if numbered else ""
        yield f"{line.path}{mark}{number}{line.text}"
        previous = line


def _by_file(result: GrepResult, arguments: GrepArguments, where: str) -> str:
    counts = Counter(line.path for line in result.lines if line.is_match)
    rest = list(counts.items())[arguments.offset :]
    shown = rest[: arguments.max_results]
    if not shown:
        return _no_matches(arguments, where)
    only_paths = arguments.output_mode == "files_with_matches"
    lines = [path if only_paths else f"{path}:{count}" for path, count in shown]
    if len(rest) > len(shown) or result.truncated:
        lines += ["", _limit_note(f"{len(shown)} files", arguments)]
    return "\n".join(lines)


GREP = Tool(
    name="grep",
    description=(
        "Search the content of files for a regular expression; results are `path:line:text`.\n\n"
        "Files that the project ignores (for example with .gitignore) and binary files are not searched. Use "
        "glob to find files by name. Use grep, not a shell command, to search in files."
    ),
    category="read",
    arguments=GrepArguments,
    prepare=prepare,
    look=Look("search", "Searching", "Searched"),
    summarize=lambda arguments: one_line(arguments.pattern),
    touches=touched_folder,
    starts_early=True,
)
