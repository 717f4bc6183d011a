"""Read diffs and commits of a repository for a mention, without running a program that the repository names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from os.path import dirname, join, lexists

import anyio
import anyio.to_thread

from agent_ls.app.mentions.values import CommitMention, DiffMention, MentionError
from agent_ls.app.permissions.disk import FarDisk
from agent_ls.app.permissions.git_look import git_doubt
from agent_ls.app.permissions.paths import PathBounds
from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.profiles.git_snapshot import HARDENED_GIT, find_git_root, names_no_programs, run_git

MAX_CHARS = 64 * 1024
MAX_LISTED = 50  # new files and left out files that are named
RECENT = 30  # commits that completion offers

_REVISION = re.compile(r"[0-9A-Za-z][\w./~^@{}-]{0,199}")
_PLAIN = "--no-color --no-ext-diff --no-textconv --submodule=short --ignore-submodules=all --relative"
_COMMIT = "commit %H%nAuthor: %an <%ae>%nDate: %aI%n%n%B"


def is_in_repository(folder: str) -> bool:
    """Return whether a local folder or one above it contains `.git`. Blocks."""
    while not lexists(join(folder, ".git")):
        if folder == (parent := dirname(folder)):
            return False
        folder = parent
    return True


async def check_git(folder: str, environment: ExecutionEnvironment, bounds: PathBounds | None) -> None:
    """Check that git may be run in a trusted folder.

    Raises:
        MentionError: it is no repository, or its settings may run programs.
    """
    root = await find_git_root(environment)
    if not root:
        raise MentionError(f"{folder} is not in a git repository", "remove the mention, and send again")
    doubt = "" if await names_no_programs(environment, root) else "its settings may make git run a program"
    if not doubt and bounds and not isinstance(bounds.disk, FarDisk):
        doubt = (await anyio.to_thread.run_sync(git_doubt, folder, bounds.places)).rstrip(".")
    if doubt:
        raise MentionError(
            f"git is not run to read a mention here: {doubt}",
            "paste what the agent should see, or ask it to run git, which you are asked about",
        )


async def recent_commits(environment: ExecutionEnvironment, folder: str) -> Sequence[tuple[str, str]]:
    """Return the abbreviated ids and the subjects of the last commits; none if git cannot be run."""
    try:
        await check_git(folder, environment, None)
    except MentionError:
        return ()
    found = await run_git(
        environment, folder, f"{HARDENED_GIT} log --no-show-signature -n {RECENT} --format=%h%x00%s"
    )
    lines = (line.partition("\0") for line in (found or "").split("\n") if line)
    return [(commit, subject) for commit, _, subject in lines]


class GitMentions:
    """Reads mentions in one folder, below which all paths are. `bounds` is the path policy: files that it denies, or
    about which the user would have to be asked, are left out.
    """

    def __init__(self, folder: str, environment: ExecutionEnvironment, bounds: PathBounds) -> None:
        self._folder = folder
        self._environment = environment
        self._bounds = bounds

    async def diff(self, mention: DiffMention) -> tuple[str, str]:
        """Return a heading and the diff.

        Raises:
            MentionError: there is nothing to attach, or git may not be run.
        """
        await check_git(self._folder, self._environment, self._bounds)
        others: Sequence[str] = ()

        async def find_others() -> None:
            nonlocal others
            others = _names(await self._git("ls-files --others --exclude-standard -z"))

        which, listed = "--cached" if mention.is_staged else "HEAD", f"{_PLAIN} --no-renames --name-only -z"
        async with anyio.create_task_group() as tasks:
            if not mention.is_staged:
                tasks.start_soon(find_others)
            found = await self._git(f"diff {which} {listed}")
        if found is None:  # before the first commit
            which = "--cached"
            found = await self._git(f"diff {which} {listed}")
        allowed, left_out = await self._readable(_names(found))
        new, _ = await self._readable(others)
        if not allowed and not new and not left_out:
            what = "staged" if mention.is_staged else "changed"
            raise MentionError(
                f"git has nothing {what} in {self._folder}", "remove the mention, and send again"
            )
        text = await self._text(f"diff {which} {_PLAIN}", left_out) if allowed else ""
        notes = [_listed("New files, which are not in the diff", new)] if new else []
        return "Git diff, staged" if mention.is_staged else "Git diff", _noted(text, notes, left_out)

    async def commit(self, mention: CommitMention) -> tuple[str, str]:
        """Return a heading and the commit with its diff.

        Raises:
            MentionError: no such commit, or git may not be run.
        """
        unknown = MentionError(f"there is no commit {mention.revision!r} here", "`git log` lists the commits")
        if not _REVISION.fullmatch(mention.revision):
            raise unknown
        await check_git(self._folder, self._environment, self._bounds)
        show = f"show --no-show-signature {_PLAIN}"
        named = shlex.quote(f"{mention.revision}^{{commit}}")
        commit, *names = _names(
            await self._git(f"{show} --no-renames --name-only -z --format=%H {named} --")
        ) or [""]
        if not commit:
            raise unknown
        _, left_out = await self._readable(names)
        text = await self._text(f"{show} --format={shlex.quote(_COMMIT)} {commit}", left_out)
        return f"Git commit {commit[:12]}", _noted(text, [], left_out)

    async def _text(self, command: str, left_out: Sequence[str]) -> str:
        """Return the output of a diff without the files `left_out`.

        Raises:
            MentionError: git failed, or took too long.
        """
        excluded = " ".join(shlex.quote(f":(exclude,literal){name}") for name in left_out)
        text = await self._git(f"{command} -- {'. ' + excluded if left_out else ''}".rstrip())
        if text is None:
            raise MentionError("git could not show this, or took too long", "mention single files instead")
        return text

    async def _git(self, command: str) -> str | None:
        return await run_git(self._environment, self._folder, f"{HARDENED_GIT} {command}")

    async def _readable(self, names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Split names into those that may be read without asking, and the others."""
        return await anyio.to_thread.run_sync(_split, names, self._folder, self._bounds.demand_readable)


def _names(found: str | None) -> Sequence[str]:
    """Split the output of a git command with `-z`; a line break follows the format of a commit."""
    return [name for part in (found or "").split("\0") if (name := part.removeprefix("\n"))]


def _split(
    names: Sequence[str], folder: str, check: Callable[[str], str]
) -> tuple[Sequence[str], Sequence[str]]:
    allowed: list[str] = []
    others: list[str] = []
    for name in names:
        try:
            check(join(folder, name))
            allowed.append(name)
        except EnvError:
            others.append(name)
    return allowed, others


def _noted(text: str, notes: Sequence[str], left_out: Sequence[str]) -> str:
    cut = text[:MAX_CHARS]
    if more := len(text) - len(cut):
        notes = [f"{more} more characters are left out.", *notes]
    if left_out:
        notes = [*notes, _listed("Left out, because they are protected", left_out)]
    return "\n".join([cut.rstrip("\n"), *(f"[{note}]" for note in notes)]).lstrip("\n")


def _listed(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{what}: {', '.join(names[:MAX_LISTED])}{more}"
