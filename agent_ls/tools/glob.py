"""glob: find files by a name pattern, newest first."""

from __future__ import annotations

from pydantic import Field

from agent_ls.environments.effects import ReadEffect
from agent_ls.text import plural
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path, touched_folder
from agent_ls.tools.summary import one_line


class GlobArguments(Arguments):
    pattern: str = Field(
        min_length=1,
        description="The pattern to find, for example `**/*.py` or `src/**/test_*.ts`; `**` crosses folders.",
    )
    path: str = Field(default=".", description="The folder to search; default: the working directory.")


async def prepare(arguments: GlobArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.path, context.environment)

    async def run() -> ToolOutput:
        found = await context.environment.glob(arguments.pattern, path)
        if found:
            files = plural(len(found), "file")
            return ToolOutput("\n".join(found), summary=files)
        where = shown_path(path, context.environment)
        return ToolOutput(f"No files match {arguments.pattern!r} below {where} (ignored files are left out).")

    return Prepared(ReadEffect((path,)), run)


GLOB = Tool(
    name="glob",
    description=(
        "Find files by a name pattern; the most recently changed files come first.\n\n"
        "Files that the project ignores (for example with .gitignore) are left out. Use grep to search inside files."
    ),
    category="read",
    arguments=GlobArguments,
    prepare=prepare,
    look=Look("search", "Looking for", "Looked for"),
    summarize=lambda arguments: one_line(arguments.pattern),
    touches=touched_folder,
    starts_early=True,
)
