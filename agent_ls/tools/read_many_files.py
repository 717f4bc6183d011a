"""read_many_files: read several files in one call, each rendered as by read_file."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import EnvError
from agent_ls.environments.globs import path_filter
from agent_ls.text import plural
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolError, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, resolve_filter, shown_path
from agent_ls.tools.read_file import ReadFileArguments, render_file
from agent_ls.tools.summary import one_line

MAX_FILES = 50
FILE_LIMIT_LINES = 1000  # limit for each file; read_file returns the rest of a longer file

_WILDCARDS = frozenset("*?[")


class ReadManyFilesArguments(Arguments):
    paths: list[str] = Field(
        min_length=1,
        max_length=MAX_FILES,
        description="Paths of files, absolute or relative to the working directory, or patterns such as `src/**/*.py`.",
    )
    exclude: list[str] = Field(
        default_factory=list,
        description="Patterns of files to leave out, for example `*_test.go` or `docs/**`.",
    )
    limit: int = Field(
        default=FILE_LIMIT_LINES,
        ge=1,
        le=FILE_LIMIT_LINES,
        description="The maximum number of lines of each file.",
    )


async def prepare(arguments: ReadManyFilesArguments, context: ToolContext) -> Prepared:
    paths, left_out = await _expand_patterns(arguments, context)

    async def run() -> ToolOutput:
        if not paths:
            raise ToolError(
                f"No files match {', '.join(arguments.paths)}. Search for the files with glob.",
                kind="file_not_found",
            )
        outputs = [await _read(path, arguments.limit, context) for path in paths]
        rest = [f"[{left_out} more files match and were left out; give fewer files.]"] if left_out else []
        return ToolOutput(
            "\n\n".join([*(output.text for output in outputs), *rest]),
            is_error=all(output.is_error for output in outputs),
            error_kind="file_not_found" if all(output.is_error for output in outputs) else "",
            images=tuple(image for output in outputs for image in output.images),
            summary=plural(len(paths), "file"),
        )

    return Prepared(ReadEffect(tuple(paths) or (absolute(".", context.environment),)), run)


async def _expand_patterns(arguments: ReadManyFilesArguments, context: ToolContext) -> tuple[list[str], int]:
    """Return at most MAX_FILES files to read, without repetitions, and the number of further files that
    match.

    `arguments.exclude` applies only to files that match a pattern, not to files that are named.
    """
    excluded = " ".join(f"!{pattern.removeprefix('!')}" for pattern in arguments.exclude if pattern)
    passes = path_filter(await resolve_filter(excluded, context.environment))
    found: dict[str, None] = {}
    for path in arguments.paths:
        if not _WILDCARDS & set(path) or await context.environment.file_exists(path):
            found[absolute(path, context.environment)] = None
            continue
        for match in await context.environment.glob(path, absolute(".", context.environment)):
            if passes(match, match):
                found[absolute(match, context.environment)] = None
    paths = [*found]
    return paths[:MAX_FILES], max(0, len(paths) - MAX_FILES)


async def _read(path: str, limit: int, context: ToolContext) -> ToolOutput:
    """Read one file. A failure becomes the output for this file, so that the other files are still read."""
    name = shown_path(path, context.environment)
    try:
        data = await context.environment.read_bytes(path)
        output = render_file(data, name, ReadFileArguments(file_path=path, limit=limit))
    except (EnvError, ToolError) as error:
        return ToolOutput(f"--- {name} ---\n[Not read: {error}]", is_error=True)
    context.reads.record(path, sha256(data), data)
    return ToolOutput(f"--- {name} ---\n{output.text}", images=output.images)


READ_MANY_FILES = Tool(
    name="read_many_files",
    description=(
        f"Read several files at once, at most {MAX_FILES}. Each file is returned under its name in the format "
        f"of read_file, up to {FILE_LIMIT_LINES} lines; read the rest of a longer file with read_file. Patterns "
        "skip files that the project ignores. For a file that cannot be read, the result has the reason."
    ),
    category="read",
    arguments=ReadManyFilesArguments,
    prepare=prepare,
    look=Look("read", "Reading", "Read"),
    summarize=lambda arguments: one_line(" ".join(arguments.paths)),
    starts_early=True,
)
