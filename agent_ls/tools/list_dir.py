"""list_dir: what a folder holds, to a depth (REQUIREMENTS T6)."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from pydantic import Field

from agent_ls.environments.base import DirEntry
from agent_ls.environments.effects import ReadEffect
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.paths import absolute, its_folder, shown_path
from agent_ls.tools.summary import one_line


class ListDirArguments(Arguments):
    path: str = Field(default=".", description="The folder; the working directory when left out.")
    depth: int = Field(default=1, ge=1, le=10, description="How many levels to list.")
    hidden: bool = Field(default=False, description="List names that begin with a dot too.")
    pattern: str = Field(default="", description="List only files whose name matches, for example `*.py`.")


async def prepare(arguments: ListDirArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.path, context.environment)

    async def run() -> ToolOutput:
        entries = await context.environment.list_directory(path, arguments.depth)
        wanted = [entry for entry in entries if _is_wanted(entry, arguments)]
        if not wanted:
            return ToolOutput(_nothing(entries, shown_path(path, context.environment)))
        return ToolOutput("\n".join(_line(entry) for entry in wanted))

    return Prepared(ReadEffect((path,)), run)


def _is_wanted(entry: DirEntry, arguments: ListDirArguments) -> bool:
    parts = entry.name.split("/")
    if not arguments.hidden and any(part.startswith(".") for part in parts):
        return False
    return not arguments.pattern or (not entry.is_dir and fnmatchcase(parts[-1], arguments.pattern))


def _nothing(entries: Sequence[DirEntry], name: str) -> str:
    if not entries:
        return f"The folder {name} is empty."
    return f"Nothing in {name} matches. It has entries that are hidden or do not match the pattern."


def _line(entry: DirEntry) -> str:
    if entry.is_dir:
        return f"{entry.name}/"
    return entry.name if entry.size_bytes is None else f"{entry.name} ({entry.size_bytes} bytes)"


def summarize(arguments: ListDirArguments) -> str:
    return one_line(arguments.path)


LIST_DIR = Tool(
    name="list_dir",
    description=(
        "List the files and folders in a folder, with sizes; folders end with a slash. "
        "To find files by name anywhere below use glob."
    ),
    category="read",
    arguments=ListDirArguments,
    prepare=prepare,
    summarize=summarize,
    touches=its_folder,
    starts_early=True,
)
