"""list_dir: list the entries of a folder and of its subfolders, down to a given depth."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from fnmatch import fnmatchcase

from pydantic import Field

from agent_ls.environments.base import DirEntry, ExecutionEnvironment
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import EnvError
from agent_ls.environments.search import EXCLUDE_FILE, IGNORE_FILES, folders_between, hidden_entries
from agent_ls.paths import is_within
from agent_ls.tools.base import Arguments, Prepared, Tool, ToolContext, ToolOutput
from agent_ls.tools.look import Look
from agent_ls.tools.paths import absolute, shown_path, touched_folder
from agent_ls.tools.summary import one_line

MAX_ENTRIES = 2_000  # equal to the limit for the lines of a file


class ListDirArguments(Arguments):
    path: str = Field(default=".", description="The folder; default: the working directory.")
    depth: int = Field(default=1, ge=1, le=10, description="How many levels to list.")
    hidden: bool = Field(default=False, description="Also list names that begin with a dot.")
    ignored: bool = Field(default=False, description="Also list files and folders that the project ignores.")
    pattern: str = Field(default="", description="List only files whose name matches, for example `*.py`.")
    exclude: tuple[str, ...] = Field(
        default=(), description="Names to leave out, for example `*.log` or `build`."
    )
    offset: int = Field(default=1, ge=1, description="Number of the first entry to list, from 1.")
    limit: int = Field(default=MAX_ENTRIES, ge=1, description="The maximum number of entries to list.")


async def prepare(arguments: ListDirArguments, context: ToolContext) -> Prepared:
    path = absolute(arguments.path, context.environment)

    async def run() -> ToolOutput:
        entries = await context.environment.list_directory(path, arguments.depth)
        hidden = set() if arguments.ignored else await _find_ignored(entries, path, context.environment)
        found = [entry for entry in entries if _is_wanted(entry, arguments)]
        wanted = [entry for entry in found if entry.name not in hidden]
        left_out = _describe_left_out(len(found) - len(wanted))
        if not wanted:
            return ToolOutput(left_out or _no_entries(entries, shown_path(path, context.environment)))
        start = arguments.offset - 1
        part = wanted[start : start + arguments.limit]
        notes = [_page_note(start, len(part), len(wanted), arguments)] if len(part) < len(wanted) else []
        return ToolOutput("\n".join([*map(_line, part), *notes, *([left_out] if left_out else [])]))

    return Prepared(ReadEffect((path,)), run)


async def _find_ignored(
    entries: Sequence[DirEntry], path: str, environment: ExecutionEnvironment
) -> set[str]:
    """Return the names of entries that are excluded by ignore files in the folder, its subfolders or its parents.

    Files that git tracks, and the folders above them, are excluded only by the ignore files of search programs.
    """
    top, root = path.replace("\\", "/"), environment.working_directory().replace("\\", "/")
    listed = {entry.name for entry in entries if not entry.is_dir}
    inside = [top, *(posixpath.join(top, entry.name) for entry in entries if entry.is_dir)]
    named = {posixpath.join(top, name) for name in listed}
    files = [
        (folder, posixpath.join(folder, name))
        for folder in (*folders_between(root, top), *inside)
        for name in IGNORE_FILES
    ]
    of_git: dict[str, list[str]] = {}
    of_search: dict[str, list[str]] = {}
    if is_within(top, root, "/"):
        of_git[root] = [await _text(posixpath.join(root, EXCLUDE_FILE), environment)]
    for folder, file in files:
        if file in named or folder not in inside:
            texts = of_git if file.endswith(IGNORE_FILES[0]) else of_search
            texts.setdefault(folder, []).append(await _text(file, environment))
    every = {
        folder: [*of_git.get(folder, ()), *of_search.get(folder, ())] for folder in {**of_git, **of_search}
    }
    listed_all = [(entry.name, entry.is_dir) for entry in entries]
    above = {entry.name for entry in entries if entry.is_hidden_above}
    hidden = hidden_entries(every, top, listed_all, above)
    shown = {name for entry in entries if entry.is_tracked for name in _steps(entry.name)}
    if not (hidden | above) & shown:
        return hidden
    above = {entry.name for entry in entries if entry.is_hidden_above and entry.is_tracked}
    return hidden - shown | hidden_entries(of_search, top, listed_all, above)


def _steps(name: str) -> Sequence[str]:
    """Return the path and the folders above it."""
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


async def _text(file: str, environment: ExecutionEnvironment) -> str:
    try:
        return (await environment.read_bytes(file)).decode("utf-8", "replace")
    except EnvError:
        return ""


def _page_note(start: int, count: int, total: int, arguments: ListDirArguments) -> str:
    rest = (
        f" Continue with {arguments.parameter('offset')}={start + count + 1}."
        if start + count < total
        else ""
    )
    return (
        f"[Entries {start + 1}-{start + count} of {total}.{rest}]"
        if count
        else f"[There are {total} entries.]"
    )


def _describe_left_out(count: int) -> str:
    if not count:
        return ""
    return f"[{count} that the project ignores {'is' if count == 1 else 'are'} left out; set ignored to see them.]"


def _is_wanted(entry: DirEntry, arguments: ListDirArguments) -> bool:
    parts = entry.name.split("/")
    if any(fnmatchcase(part, name) for part in parts for name in arguments.exclude):
        return False
    if not arguments.hidden and any(part.startswith(".") for part in parts):
        return False
    return not arguments.pattern or (not entry.is_dir and fnmatchcase(parts[-1], arguments.pattern))


def _no_entries(entries: Sequence[DirEntry], name: str) -> str:
    if not entries:
        return f"The folder {name} is empty."
    return f"Nothing in {name} matches. It has entries that are hidden or do not match the pattern."


def _line(entry: DirEntry) -> str:
    if entry.is_dir:
        return f"{entry.name}/"
    return entry.name if entry.size_bytes is None else f"{entry.name} ({entry.size_bytes} bytes)"


LIST_DIR = Tool(
    name="list_dir",
    description=(
        "List the files and folders in a folder, with sizes; folders end with a slash. "
        "Files and folders that the project ignores (for example with .gitignore) are left out. Use glob to "
        "find files by name in all subfolders."
    ),
    category="read",
    arguments=ListDirArguments,
    prepare=prepare,
    look=Look("search", "Looking into", "Looked into"),
    summarize=lambda arguments: one_line(arguments.path),
    touches=touched_folder,
    starts_early=True,
)
