"""Write who wrote the lines of a commit into a git note, on the user's command.

Notes are only written, never read as facts: anybody who can push to a repository can write them.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import anyio.to_thread

from agent_ls.features.worktrees.git import VARIABLES, GitError, LocalGit
from agent_ls.patterns import regex
from agent_ls.services.errors import BadChoiceError
from agent_ls.sessions.stored.provenance import BlamedLine, Blamer
from agent_ls.text import decode, looks_binary, to_display_line

REF = "refs/notes/agent-ls"
HEAD = "agent-ls lines 1"
"""The first line of a note. The number is that of the format."""

_HUNK = regex(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_READ = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--root")


async def write_note(git: LocalGit, folder: Path, commit: str, blamer: Blamer) -> tuple[str, int]:
    """Write the note of a commit. Return the commit's hash and the number of lines by the agent.

    A commit without such lines gets no note. A note that is already there is only replaced if it is one of ours
    with another content.

    Raises:
        BadChoiceError: there is no such commit, somebody else's note is there, or the notes are those of a branch.
        AppError: git failed.
    """
    if commit.startswith("-"):
        raise BadChoiceError(f"there is no commit {commit}", "name a commit, for example HEAD")
    top = Path(await _text(git, folder, "rev-parse", "--show-toplevel"))
    try:
        name = await _text(git, folder, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    except GitError:
        raise BadChoiceError(f"there is no commit {commit}", "name a commit, for example HEAD") from None
    rows, count = [], 0
    for path in await _changed_files(git, top, name):
        lines = await _blamed(git, top, name, path, blamer)
        added = await _added_lines(git, top, name, path)
        own = [(number, line) for number, line in enumerate(lines, 1) if number in added and line.origin]
        rows += list(_rows(path, own))
        count += len(own)
    if not rows:
        return name, 0
    note = "\n".join([HEAD, *rows]) + "\n"
    before = await _existing(git, top, name)
    if before is not None and not before.startswith(f"{HEAD}\n"):
        raise BadChoiceError(
            f"the commit {name[:12]} has a note in {REF} that agent-ls did not write",
            f"look at it with `git notes --ref={REF} show {name[:12]}`",
        )
    if before != note:
        await _check_own_ref(git, top)
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "note"
            file.write_text(note, encoding="utf-8", errors="replace")
            await git.data(["notes", f"--ref={REF}", "add", "-f", "-F", str(file), name], str(top))
    return name, count


def _rows(path: str, own: Sequence[tuple[int, BlamedLine]]) -> Iterator[str]:
    """Yield a row for each run of lines by the same call. The user's messages are left out: a note may be pushed."""
    numbered = list(enumerate(own))
    for (_, origin), run in groupby(numbered, key=lambda each: (each[1][0] - each[0], each[1][1].origin)):
        lines = [number for _, (number, _) in run]
        assert origin is not None
        place = f"{lines[0]}-{lines[-1]}" if len(lines) > 1 else str(lines[0])
        about = (
            origin.session_id,
            origin.call_id,
            origin.time[:10],
            origin.model,
            origin.decision or "unknown",
        )
        yield to_display_line(f"{place} {' '.join(about)} {path}", max_chars=1_000)


async def _changed_files(git: LocalGit, top: Path, commit: str) -> list[str]:
    listed = await git.data(
        ["diff-tree", "-r", *_READ, "--no-commit-id", "--name-only", "-z", commit], str(top)
    )
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


async def _blamed(git: LocalGit, top: Path, commit: str, path: str, blamer: Blamer) -> Iterable[BlamedLine]:
    try:
        data = await git.data(["cat-file", "blob", f"{commit}:{path}"], str(top))
    except GitError:  # deleted, or a submodule
        return []
    if looks_binary(data):
        return []
    return await anyio.to_thread.run_sync(blamer.blame, top / path, decode(data).text)


async def _added_lines(git: LocalGit, top: Path, commit: str, path: str) -> set[int]:
    """Return the numbers of the lines that the commit added to a file, from 1."""
    options = [
        "diff-tree",
        "-r",
        *_READ,
        "--no-commit-id",
        "-p",
        "-U0",
        commit,
        "--",
        f":(top,literal){path}",
    ]
    diff = (await git.data(options, str(top))).decode("utf-8", "replace")
    found: set[int] = set()
    for hunk in _HUNK.finditer(diff):
        start, length = int(hunk[1]), 1 if hunk[2] is None else int(hunk[2])
        found.update(range(start, start + length))
    return found


async def _existing(git: LocalGit, top: Path, commit: str) -> str | None:
    try:
        return (await git.data(["notes", f"--ref={REF}", "show", commit], str(top))).decode(
            "utf-8", "replace"
        )
    except GitError:
        return None


async def _check_own_ref(git: LocalGit, top: Path) -> None:
    """Refuse a symbolic ref: git would write the note's commit to the branch that it names."""
    try:
        target = await _text(git, top, "symbolic-ref", "--quiet", REF)
    except GitError:
        return
    raise BadChoiceError(f"{REF} leads to {target}", f"remove it with `git symbolic-ref --delete {REF}`")


async def _text(git: LocalGit, folder: Path, *arguments: str) -> str:
    return os.fsdecode(await git.data(arguments, str(folder))).strip()


def make_git() -> LocalGit:
    return LocalGit({**os.environ, **VARIABLES})
