"""Paths as models write them, made absolute by the rules of the environment's platform; no disk is asked."""

from __future__ import annotations

import ntpath
import posixpath
from types import ModuleType

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


def folder_and_name(path: str, environment: ExecutionEnvironment) -> tuple[str, str]:
    folder, name = _rules(environment).split(path)
    return str(folder), str(name)


def _rules(environment: ExecutionEnvironment) -> ModuleType:
    return ntpath if environment.platform() == "windows" else posixpath
