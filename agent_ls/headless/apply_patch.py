"""Apply a v4a patch to the files below a folder, completely or not at all: `agent-ls apply-patch`.

Output and exit codes are the same as in the reference program (docs/editing.md, Patches): on success the
changed files on standard output and 0, otherwise the errors on standard error and 1.
"""

from __future__ import annotations

import os.path
import sys
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import anyio

from agent_ls.environments.base import Attribution, ExecutionEnvironment, FileWrite
from agent_ls.environments.errors import AccessDeniedError, EnvError, NotAFileError, PathNotFoundError
from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.patch.errors import PatchError
from agent_ls.patch.hunks import ChangeSet
from agent_ls.patch.v4a_apply import Contents, Unreadable, parse, plan
from agent_ls.paths import is_below
from agent_ls.text import strip_controls

DONE, FAILED = 0, 1


def main(data: bytes, folder: Path, *, is_check: bool = False) -> int:
    """Apply the patch and return the exit code. `folder` is absolute. If `is_check`, nothing is written."""
    try:
        change_set = anyio.run(_apply, data, str(folder), is_check)
    except (PatchError, EnvError) as error:
        print(strip_controls(str(error)), file=sys.stderr)
        return FAILED
    for note in change_set.notes():
        print(strip_controls(f"Repaired: {note}"), file=sys.stderr)
    summary = change_set.summary()
    if is_check:
        summary = summary.replace("Success. Updated", "The patch applies. It would update", 1)
    print(strip_controls(summary), end="")
    return DONE


async def _apply(data: bytes, folder: str, is_check: bool) -> ChangeSet:
    bounds = _Folder(folder)
    environment = BoundedEnvironment(LocalEnvironment(folder), bounds)
    patch = parse(_text(data))
    files = {path: await _content(path, environment) for path in patch.paths}
    change_set = plan(patch, files, bounds.resolve_path)
    writes = [FileWrite(file.path, file.after, file.before, file.mode_from) for file in change_set.writes]
    if writes and not is_check:
        await environment.commit(writes, Attribution(label="apply-patch"))
    return change_set


class _Folder:
    """A path policy that allows only paths below one folder, after resolving symbolic links. Its methods
    block.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._real = os.path.realpath(folder)

    def resolve_path(self, path: str) -> str:
        """Return the absolute path of a file that the patch names.

        Raises:
            PatchError: the path is outside the folder, kind PATH_OUTSIDE (deviation D8 in
            docs/deviations.md), or invalid.
        """
        whole = os.path.normpath(os.path.join(self._folder, path))
        if "\0" in path:
            raise PatchError.of(
                "IO", "The path contains a NUL character, which file names cannot contain.", path=path
            )
        if not self._is_inside(whole):
            detail = "Use a path below this folder."
            raise PatchError.of(
                "PATH_OUTSIDE", f"{path} is outside of {self._folder}", path=path, detail=detail
            )
        return whole

    def at_once(self, paths: Sequence[str]) -> AbstractContextManager[None]:
        return nullcontext()

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def ignored(self, paths: Collection[str]) -> Collection[str]:
        return ()

    def check_readable(self, path: str) -> str:
        if not self._is_inside(path):
            raise AccessDeniedError(path, f"the path is outside of {self._folder}")
        return os.path.realpath(path)

    def check_opened(self, path: str, real: str, facts: os.stat_result) -> None:
        self.check_readable(real or path)

    def check_writable(self, path: str, call_id: str) -> None:
        self.check_readable(path)

    def check_target(self, real: str, call_id: str) -> None:
        if real != self._real:
            self.check_readable(real)

    def _is_inside(self, path: str) -> bool:
        return is_below(os.path.realpath(path), self._real)


async def _content(path: str, environment: ExecutionEnvironment) -> Contents:
    if "\0" in path:
        return None
    try:
        return await environment.read_bytes(path)
    except PathNotFoundError:
        return None
    except NotAFileError as error:
        return Unreadable(str(error), "IS_DIRECTORY")
    except EnvError as error:
        return Unreadable(str(error))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PatchError.of("PARSE", "Invalid patch: it is not UTF-8 text", line=line) from None
