"""Paths as models write them, made absolute by the rules of the environment's platform; no disk is asked."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.tools.base import ToolError


def absolute(path: str, environment: ExecutionEnvironment, folder: str = "") -> str:
    """The path joined to the working directory, with `.` and `..` folded; `~` and quotes mean nothing.

    `folder` stands between the two: a path as it is meant from there.

    Raises:
        ToolError: the path is empty or holds a NUL character.
    """
    if not path.strip():
        raise ToolError("The path is empty. Give the path of a file or folder.", kind="validation")
    if "\0" in path:
        raise ToolError("The path holds a NUL character, which no file name can have.", kind="validation")
    rules = _rules(environment)
    return str(rules.normpath(rules.join(environment.working_directory(), folder, path)))


def shown_path(path: str, environment: ExecutionEnvironment) -> str:
    """An absolute path as results name it: relative to the working directory where it lies below it."""
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


def its_file(arguments: _File, environment: ExecutionEnvironment) -> Sequence[str]:
    """What a call touches whose argument `file_path` names a file (Tool.touches)."""
    return (absolute(arguments.file_path, environment),)


def its_folder(arguments: _Folder, environment: ExecutionEnvironment) -> Sequence[str]:
    """What a call touches whose argument `path` names a folder to look through (Tool.touches)."""
    return (absolute(arguments.path or ".", environment),)


def nothing(arguments: object, environment: ExecutionEnvironment) -> Sequence[str]:
    """Of a call that touches no file: it waits for none, and none waits for it (Tool.touches)."""
    return ()


def are_apart(some: Sequence[str], others: Sequence[str], environment: ExecutionEnvironment) -> bool:
    """Whether no path of the ones is a path of the others, or lies below one, or above. Absolute, and folded."""
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
