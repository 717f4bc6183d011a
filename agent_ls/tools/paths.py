"""Make paths absolute by the rules of the environment's platform, and read filters of paths."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.globs import doubtful_globs
from agent_ls.tools.base import ToolError


def absolute(path: str, environment: ExecutionEnvironment, folder: str = "") -> str:
    """Join the path to the working directory and resolve `.` and `..`. `~` and quotes have no special meaning.

    If `folder` is given, it is joined to the working directory first.

    Raises:
        ToolError: the path is empty or contains a NUL character.
    """
    if not path.strip():
        raise ToolError("The path is empty. Give the path of a file or folder.", kind="validation")
    if "\0" in path:
        raise ToolError(
            "The path contains a NUL character, which file names cannot contain.", kind="validation"
        )
    rules = _rules(environment)
    return str(rules.normpath(rules.join(environment.working_directory(), folder, path)))


def shown_path(path: str, environment: ExecutionEnvironment) -> str:
    """Return the path for display: relative to the working directory for paths below it, otherwise absolute."""
    rules = _rules(environment)
    base = environment.working_directory()
    if path == base:
        return "."
    prefix = base if base.endswith(rules.sep) else base + rules.sep
    return path.removeprefix(prefix).replace("\\", "/") if path.startswith(prefix) else path


class _File(Protocol):
    @property
    def file_path(self) -> str: ...


class _Folder(Protocol):
    @property
    def path(self) -> str: ...


def touched_file(arguments: _File, environment: ExecutionEnvironment) -> Sequence[str]:
    """Return the path in the argument `file_path` of a call. Used as `Tool.touches`."""
    return (absolute(arguments.file_path, environment),)


def touched_folder(arguments: _Folder, environment: ExecutionEnvironment) -> Sequence[str]:
    """Return the folder in the argument `path` of a call. Used as `Tool.touches`."""
    return (absolute(arguments.path or ".", environment),)


def touches_nothing(arguments: object, environment: ExecutionEnvironment) -> Sequence[str]:
    """Return no path. Used as `Tool.touches` of tools that concern no file.

    Calls of these tools run in parallel with all other calls.
    """
    return ()


def are_disjoint(some: Sequence[str], others: Sequence[str], environment: ExecutionEnvironment) -> bool:
    """Return whether no path of `some` equals, contains or lies below a path of `others`. Paths must be absolute."""
    separator = _rules(environment).sep
    return not any(
        one == other
        or one.startswith(_as_folder(other, separator))
        or other.startswith(_as_folder(one, separator))
        for one in some
        for other in others
    )


def _as_folder(path: str, separator: str) -> str:
    return path if path.endswith(separator) else path + separator


def folder_and_name(path: str, environment: ExecutionEnvironment) -> tuple[str, str]:
    folder, name = _rules(environment).split(path)
    return str(folder), str(name)


def _rules(environment: ExecutionEnvironment) -> ModuleType:
    return ntpath if environment.platform() == "windows" else posixpath


async def resolve_filter(glob_filter: str, environment: ExecutionEnvironment) -> str:
    """Return the filter with brackets and braces escaped where a file or folder has them in its name."""
    for glob, readings in doubtful_globs(glob_filter):
        where = "" if "/" in glob else "**/"
        for reading in readings:
            if await environment.glob(f"{where}{reading}", environment.working_directory()):
                glob_filter = glob_filter.replace(glob, reading)
                break
    return glob_filter
