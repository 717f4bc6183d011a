"""The instruction files (skills, commands, kinds of subagents, tools) of a project on another
machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agent_ls.environments.errors import EnvError, EnvironmentLostError
from agent_ls.environments.instruction_files import (
    InstructionFile,
    Listing,
    ReadBudget,
    Signature,
    UnreadableFileError,
)
from agent_ls.features.skills.places import PROJECT_FOLDERS

if TYPE_CHECKING:
    from agent_ls.environments.remote.host import RemoteHost
    from agent_ls.services.permissions.disk import RemoteDisk

TOOL_FOLDER = ".agent-ls"
WANTED = (*PROJECT_FOLDERS, (TOOL_FOLDER, ".yaml"), (TOOL_FOLDER, ".yml"))


class RemoteInstructionFiles:
    """Implements InstructionFiles for another machine.

    `levels` lists all instruction files of the project with one request; the other methods use this list. `read`
    requests the texts of all new and changed files at once. If the machine does not answer, the results are
    empty. `to_remote` converts a path of this machine to the path of the same file on the other machine;
    `to_near` converts in the other direction.
    """

    def __init__(
        self,
        host: RemoteHost,
        disk: RemoteDisk,
        to_remote: Callable[[str], str],
        to_near: Callable[[str], str],
    ) -> None:
        self._host = host
        self._disk = disk
        self._to_remote = to_remote
        self._to_near = to_near
        self._files: dict[str, InstructionFile] = {}
        self._bases: frozenset[str] = frozenset()
        self._texts: dict[str, tuple[Signature, str]] = {}

    def levels(self, workspace: str) -> tuple[str, ...]:
        try:
            self._disk.read_facts([workspace])  # reads changed ignore files again
            found = self._host.instructions(self._to_remote(workspace), WANTED)
        except EnvironmentLostError:
            found = Listing()
        self._files = {self._to_near(file.path): file for file in found.files}
        self._bases = frozenset(map(self._to_near, found.bases))
        return tuple(map(self._to_near, found.levels))

    def has_own_folder(self, level: str, folder: str) -> bool:
        return os.path.join(level, folder) in self._bases

    def walk(
        self, base: str, suffix: str, budget: ReadBudget, is_ignored: Callable[[str], bool]
    ) -> Iterator[str]:
        if base in self._bases:
            below = base.rstrip("/") + "/"
            paths = [path for path in self._files if path.startswith(below)]
        else:
            try:
                paths = [
                    self._to_near(it)
                    for it in self._host.walk(self._to_remote(base), budget.folders, budget.files)
                ]
            except EnvironmentLostError:
                return
        for path in paths:
            if not path.endswith(suffix) or is_ignored(path):
                continue
            if budget.files <= 0:
                budget.is_spent = True
                return
            budget.files -= 1
            yield path

    def signature(self, path: str) -> Signature | None:
        found = self._files.get(path)
        return found.signature if found else None

    def real_folder(self, path: str) -> str:
        found = self._files.get(path)
        return self._to_near(found.folder) if found else os.path.dirname(path)

    def read(self, path: str, base: str) -> tuple[str, Signature]:
        files = self._files
        if path not in files:
            raise UnreadableFileError("the file no longer exists")
        known = self._texts.get(path)
        if known is None or known[0] != files[path].signature:
            new = [name for name, file in files.items() if self._is_new(name, file)]
            try:
                texts = self._host.instruction_texts([(files[it].path, files[it].base) for it in new])
            except EnvError as error:
                raise UnreadableFileError(str(error)) from error
            for name, found in zip(new, texts, strict=True):
                if not found.problem:
                    self._texts[name] = found.signature, found.text
                elif name == path:
                    raise UnreadableFileError(found.problem)
        if path not in self._texts:
            raise UnreadableFileError("your ignore file lists this file")
        signature, text = self._texts[path]
        return text, signature

    def _is_new(self, name: str, file: InstructionFile) -> bool:
        known = self._texts.get(name)
        return (known is None or known[0] != file.signature) and not self._disk.is_ignored(name)
