"""Commit many files while a fault happens at each of the file operations.

Run as `python -m tests.environments.local.commit_faults`, a separate process, because the fault is an audit hook of
the interpreter. The hook sees each operation (opening, renaming, linking, removing, making folders, changing modes
and times) before the system does. It can refuse the operation, or change the tree first. Prints one line of JSON per
run. Faults that no hook sees (writing or flushing bytes) are tested with a system limit in
tests/environments/local/test_commit.py.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent_ls.environments.base import FileWrite
from agent_ls.environments.errors import AccessDeniedError, EnvError
from agent_ls.environments.local.commit import DeletedModes, commit
from agent_ls.environments.opened import opening_check

Tree = dict[str, tuple[object, ...]]

EVENTS = frozenset(
    "open os.rename os.link os.remove os.mkdir os.rmdir os.chmod os.chown os.utime os.listdir".split()
)

WRITES = (
    FileWrite("changed.txt", b"new\n", b"old\n"),
    FileWrite("linked.txt", b"new\n", b"old\n"),
    FileWrite("twin.txt", b"new\n", b"old\n"),
    FileWrite("made/deep/new.txt", b"made\n", None),
    FileWrite("moved.txt", b"moved\n", None, "source.sh"),
    FileWrite("source.sh", None, b"moved\n"),
    FileWrite("gone.txt", None, b"old\n"),
)
"""An update, an update through a link, an update of a file with two names, a new file in new folders, a move, and a
deletion.
"""


def build(folder: Path) -> None:
    for name in ("changed.txt", "real.txt", "twin.txt", "gone.txt"):
        (folder / name).write_bytes(b"old\n")
    (folder / "linked.txt").symlink_to("real.txt")
    os.link(folder / "twin.txt", folder / "brother.txt")
    (folder / "source.sh").write_bytes(b"moved\n")
    (folder / "source.sh").chmod(0o755)


def tree(folder: Path) -> Tree:
    """Return paths, types, modes and contents, without times."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", mode)
        else:
            found[name] = ("file", mode, path.stat().st_nlink, path.read_bytes().decode())
    return found


@dataclass
class Fault:
    """A fault at event number `at` of the file operations in `folder`. `seen` counts the events."""

    folder: str
    at: int
    happen: Callable[[], None]
    seen: int = 0
    is_on: bool = True


_fault: Fault | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    fault = _fault
    if fault is None or not fault.is_on or event not in EVENTS:
        return
    # The second prefix names files below a folder that the commit holds open.
    mine = (fault.folder, "/proc/self/fd/")
    if not any(isinstance(it, str) and it.startswith(mine) for it in arguments):
        return
    fault.seen += 1
    if fault.seen == fault.at + 1:
        fault.is_on = False
        fault.happen()


def _refuse(error: int) -> Callable[[Path], None]:
    def happen(folder: Path) -> None:
        raise OSError(error, os.strerror(error))

    return happen


def _intrude(name: str, what: str) -> Callable[[Path], None]:
    """Return a function with which another program changes one of the files."""

    def happen(folder: Path) -> None:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if what == "edited":
            path.write_bytes(b"mine\n")
        elif what == "link":
            path.symlink_to(folder.parent / "outside.txt")
        elif what == "folder":
            path.mkdir()

    return happen


FAULTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "disk full": ("", _refuse(errno.ENOSPC)),
    "permission": ("", _refuse(errno.EACCES)),
    **{
        f"{name} {what}": (name, _intrude(name, what))
        for name in ("changed.txt", "twin.txt", "made/deep/new.txt", "gone.txt")
        for what in ("vanished", "edited", "link", "folder")
    },
}
"""By name of the fault: the file that another program changes ("" for none), and the function that makes the fault."""


STEP = 1 if os.environ.get("AGENT_LS_SWEEPS") == "whole" else 3
"""Each fault happens at every STEP-th operation."""


def runs() -> Iterator[dict[str, Any]]:
    """Commit once for each fault at each STEP-th file operation, and yield what each commit left behind."""
    global _fault
    sys.addaudithook(_hook)
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        before, after = _both_ends(top)
        for number, (fault, (touched, happen)) in enumerate(FAULTS.items()):
            at, is_over = number % STEP, False
            while not is_over:
                folder = top / "tree"
                (top / "outside.txt").write_bytes(b"outside\n")
                folder.mkdir()
                build(folder)
                _fault = Fault(str(folder), at, lambda happen=happen, folder=folder: happen(folder))  # type: ignore[misc]
                error: EnvError | None = None
                try:
                    commit(WRITES, lambda path, folder=folder: str(folder / path), DeletedModes())  # type: ignore[misc]
                except EnvError as raised:
                    error = raised
                is_over, _fault = _fault.is_on, None
                yield {
                    "fault": fault,
                    "at": at,
                    "happened": not is_over,
                    "error": str(error) if error else "",
                    "unrestored": list(getattr(error, "unrestored", ())),
                    "tree": _compared(tree(folder), before, after, touched),
                    "outside": (top / "outside.txt").read_bytes() == b"outside\n",
                    "touched": _touched(folder / touched) if touched else "",
                }
                shutil.rmtree(folder)
                at += STEP


INNER = (
    FileWrite("sub/changed.txt", b"new\n", b"old\n"),
    FileWrite("sub/twin.txt", b"new\n", b"old\n"),
    FileWrite("sub/made.txt", b"made\n", None),
    FileWrite("sub/gone.txt", None, b"old\n"),
)


def folder_runs() -> Iterator[dict[str, Any]]:
    """At each operation of a commit, replace its folder by a link to another folder with the same contents."""
    global _fault
    sys.addaudithook(_hook)
    with tempfile.TemporaryDirectory() as name:
        at, is_over = 0, False
        while not is_over:
            top = Path(name) / str(at)
            folder, outside = top / "tree", top / "outside"
            for place in (folder / "sub", outside):
                place.mkdir(parents=True)
                for file in ("changed.txt", "twin.txt", "gone.txt"):
                    (place / file).write_bytes(b"old\n")
                os.link(place / "twin.txt", place / "brother.txt")
            before = tree(outside)

            def swap(folder: Path = folder, outside: Path = outside) -> None:
                (folder / "sub").rename(folder / "moved")
                (folder / "sub").symlink_to(outside)

            _fault = Fault(str(folder), at, swap)
            error = ""
            try:
                with opening_check(partial(_check_below, str(folder))):
                    commit(INNER, lambda path, folder=folder: str(folder / path), DeletedModes())  # type: ignore[misc]
            except EnvError as raised:
                error = str(raised)
            is_over, _fault = _fault.is_on, None
            yield {"at": at, "happened": not is_over, "error": error, "outside": tree(outside) == before}
            at += 1


def _check_below(folder: str, real: str, facts: os.stat_result) -> None:
    if not real.startswith(folder):
        raise AccessDeniedError(real, "it lies outside")


def _both_ends(top: Path) -> tuple[Tree, Tree]:
    folder = top / "tree"
    folder.mkdir()
    build(folder)
    before = tree(folder)
    commit(WRITES, lambda path: str(folder / path), DeletedModes())
    after = tree(folder)
    shutil.rmtree(folder)
    return before, after


def _compared(now: Tree, before: Tree, after: Tree, touched: str) -> str:
    """Return how the tree compares with both states, ignoring the file that another program changed."""
    aside = {touched, "brother.txt" if touched == "twin.txt" else ""}
    parents = {str(parent) for parent in Path(touched).parents} if touched else set()

    def of(tree: Tree) -> Tree:
        return {name: facts for name, facts in tree.items() if name not in aside | parents}

    if of(now) == of(before):
        return "before"
    return "after" if of(now) == of(after) else f"between: {sorted(now.items())}"


def _touched(path: Path) -> str:
    if path.is_symlink():
        return "link"
    if path.is_dir():
        return "folder"
    return path.read_bytes().decode() if path.exists() else "vanished"


if __name__ == "__main__":
    for run in folder_runs() if "folders" in sys.argv else runs():
        sys.stdout.write(f"{json.dumps(run)}\n")
