"""Create the error for a missing file, which lists similar names of existing files."""

from __future__ import annotations

import difflib
import unicodedata

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.patterns import regex
from agent_ls.tools.base import ToolError
from agent_ls.tools.paths import absolute, folder_and_name, shown_path

SUGGESTIONS = 3
_REPLACEMENT = "\ufffd"  # shown for each byte of a name that is not UTF-8
_SURROGATE = regex("[\ud800-\udfff]")
_GLOB_SPECIAL = regex(r"([*?\[\]{}!\\])")
_LINK = "This name is a symbolic link whose target does not exist. `ls -l` shows the target."


async def file_not_found(path: str, environment: ExecutionEnvironment) -> ToolError:
    """Return the error for a missing absolute path, with up to three similar names."""
    folder, name = folder_and_name(path, environment)
    if _REPLACEMENT in name and await _is_undecodable(folder, name, environment):
        words = "The name of this file is not UTF-8, so no tool can open it. Use a command with a pattern for the name."
        return ToolError(f"{words} For example: ls {name.replace(_REPLACEMENT, '?')}", kind="file_not_found")
    near = await suggest_names(path, environment)
    return ToolError(f"File not found: {shown_path(path, environment)}. {near}", kind="file_not_found")


async def suggest_names(path: str, environment: ExecutionEnvironment) -> str:
    """Return a sentence that suggests similar names, or that says what to do if there are none."""
    folder, name = folder_and_name(path, environment)
    beside = await _names_in(folder, environment)
    if name in beside:
        return _LINK
    near = [*await _same_name_elsewhere(name, environment), *_similar(name, folder, beside, environment)]
    names = list(dict.fromkeys(near))[:SUGGESTIONS]
    return f"Did you mean {' or '.join(map(_spelled, names))}?" if names else "Search for the file with glob."


def _spelled(name: str) -> str:
    """Return the name, with escapes for blanks that look like a space but are another character."""
    unusual = sorted({char for char in name if char != " " and unicodedata.category(char) == "Zs"})
    for char in unusual:
        name = name.replace(char, _escaped(char))
    return f"{name} ({' and '.join(map(_escaped, unusual))} looks like a space)" if unusual else name


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"


async def _is_undecodable(folder: str, name: str, environment: ExecutionEnvironment) -> bool:
    """Return whether `name` shows a name in the folder that is not UTF-8."""
    odd = filter(_SURROGATE.search, await _names_in(folder, environment))
    return any(_SURROGATE.sub(_REPLACEMENT, it) == name for it in odd)


async def _names_in(folder: str, environment: ExecutionEnvironment) -> list[str]:
    """Return the names of all but folders."""
    try:
        return [entry.name for entry in await environment.list_directory(folder) if not entry.is_dir]
    except EnvError:
        return []


def _similar(name: str, folder: str, names: list[str], environment: ExecutionEnvironment) -> list[str]:
    usable = [it for it in names if not _SURROGATE.search(it)]
    files = {name.casefold(): name for name in usable}
    close = difflib.get_close_matches(name.casefold(), files, n=SUGGESTIONS)
    return [shown_path(absolute(f"{folder}/{files[match]}", environment), environment) for match in close]


async def _same_name_elsewhere(name: str, environment: ExecutionEnvironment) -> list[str]:
    pattern = "**/" + _GLOB_SPECIAL.sub(r"[\1]", name)
    try:
        found = await environment.glob(pattern, environment.working_directory())
    except EnvError:
        return []
    return [it for it in found if not _SURROGATE.search(it)][:SUGGESTIONS]
