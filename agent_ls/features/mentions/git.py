"""Read git diffs and commits for a mention, without running a program that the repository's settings name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from os.path import dirname, join, lexists

import anyio
import anyio.to_thread

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.environments.errors import EnvError
from agent_ls.features.git.reader import MAX_OMITTED_FILES, GitFailedError, GitReader
from agent_ls.features.mentions.values import CommitMention, DiffMention, MentionError
from agent_ls.patterns import regex
from agent_ls.profiles.git_snapshot import find_git_root, names_no_programs
from agent_ls.services.permissions.disk import RemoteDisk
from agent_ls.services.permissions.git_look import git_doubt
from agent_ls.services.permissions.paths import PathBounds

MAX_CHARS = 64 * 1024
MAX_LISTED = 50  # maximum number of new files, and of omitted files, that are listed by name
RECENT = 30  # commits that completion offers

_REVISION = regex(r"[0-9A-Za-z][\w./~^@{}-]{0,199}")
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
        MentionError: the folder is not a repository, or the repository's settings may run programs.
    """
    root = await find_git_root(environment)
    if not root:
        raise MentionError(
            f"{folder} is not in a git repository", "remove the mention, and send the message again"
        )
    doubt = (
        ""
        if await names_no_programs(environment, root)
        else "the settings of the repository may make git run a program"
    )
    if not doubt and bounds and not isinstance(bounds.disk, RemoteDisk):
        doubt = (await anyio.to_thread.run_sync(git_doubt, folder, bounds.places)).rstrip(".")
    if doubt:
        raise MentionError(
            f"this mention is not attached, because running git in {folder} may be unsafe: {doubt}",
            "paste the text that the agent should see, or ask the agent to run git, which needs your approval",
        )


async def recent_commits(environment: ExecutionEnvironment, folder: str) -> Sequence[tuple[str, str]]:
    """Return the abbreviated ids and the subjects of the last commits; none if git cannot be run."""
    try:
        await check_git(folder, environment, None)
    except MentionError:
        return ()
    found = await GitReader(environment, folder).lines(
        "log", "--no-show-signature", "-n", str(RECENT), "--format=%h%x00%s"
    )
    return [(commit, subject) for commit, _, subject in (line.partition("\0") for line in found)]


class GitMentions:
    """Reads git mentions in one folder. All paths are below this folder.

    `bounds` is the path policy. Files that the policy denies, or that need the user's approval, are left out.
    """

    def __init__(self, folder: str, environment: ExecutionEnvironment, bounds: PathBounds) -> None:
        self._folder = folder
        self._environment = environment
        self._bounds = bounds
        self._git = GitReader(environment, folder)

    async def diff(self, mention: DiffMention) -> tuple[str, str]:
        """Return a heading and the diff.

        Raises:
            MentionError: there is nothing to attach, or git may not be run.
        """
        await check_git(self._folder, self._environment, self._bounds)
        others: Sequence[str] = ()

        async def find_others() -> None:
            nonlocal others
            others = await self._names(self._git.new_names()) or ()

        which = "--cached" if mention.is_staged else "HEAD"
        async with anyio.create_task_group() as tasks:
            if not mention.is_staged:
                tasks.start_soon(find_others)
            found = await self._names(self._git.changed_names("diff", which))
        if found is None:  # HEAD does not exist before the first commit
            which = "--cached"
            found = await self._names(self._git.changed_names("diff", which))
        allowed, left_out = await self._readable(found or ())
        new, _ = await self._readable(others)
        if not allowed and not new and not left_out:
            what = "staged" if mention.is_staged else "changed"
            raise MentionError(
                f"git reports nothing {what} in {self._folder}",
                "remove the mention, and send the message again",
            )
        text = await self._text("diff", which, left_out=left_out) if allowed else ""
        notes = [_format_list("New files, which are not in the diff", new)] if new else []
        return "Git diff, staged" if mention.is_staged else "Git diff", _append_notes(text, notes, left_out)

    async def commit(self, mention: CommitMention) -> tuple[str, str]:
        """Return a heading and the commit with its diff.

        Raises:
            MentionError: the commit does not exist, or git may not be run.
        """
        unknown = MentionError(
            f"there is no commit {mention.revision!r} in the repository of {self._folder}",
            "`git log` lists the commits",
        )
        if not _REVISION.fullmatch(mention.revision):
            raise unknown
        await check_git(self._folder, self._environment, self._bounds)
        show = ("show", "--no-show-signature")
        named = f"{mention.revision}^{{commit}}"
        found = await self._names(self._git.changed_names(*show, "--format=%H", named, "--"))
        commit, *names = found or ("",)
        if not commit:
            raise unknown
        _, left_out = await self._readable(names)
        text = await self._text(*show, f"--format={_COMMIT}", commit, left_out=left_out)
        return f"Git commit {commit[:12]}", _append_notes(text, [], left_out)

    async def _text(self, *command: str, left_out: Sequence[str]) -> str:
        """Return the output of a git command for a mention, without the files `left_out`.

        Raises:
            MentionError: git failed, or took too long, or there are too many files to leave out.
        """
        instead = "mention single files instead"
        if len(left_out) > MAX_OMITTED_FILES:
            raise MentionError(
                f"reading {len(left_out)} of the changed files is denied or needs approval, and only "
                f"{MAX_OMITTED_FILES} files can be left out of the diff",
                instead,
            )
        try:
            return await self._git.patch(*command, omitted=left_out)
        except GitFailedError:
            raise MentionError(
                "git failed to read the mentioned changes, or took too long", instead
            ) from None

    async def _names(self, names: Awaitable[Sequence[str]]) -> Sequence[str] | None:
        """Wait for file names that git returns. Return None if git failed."""
        try:
            return await names
        except GitFailedError:
            return None

    async def _readable(self, names: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Split names into files that may be read without asking the user, and the others."""
        return await anyio.to_thread.run_sync(_split, names, self._folder, self._bounds.check_readable)


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


def _append_notes(text: str, notes: Sequence[str], left_out: Sequence[str]) -> str:
    cut = text[:MAX_CHARS]
    if more := len(text) - len(cut):
        notes = [f"{more} more characters are left out.", *notes]
    if left_out:
        notes = [
            *notes,
            _format_list("Left out, because reading these files is denied or needs approval", left_out),
        ]
    return "\n".join([cut.rstrip("\n"), *(f"[{note}]" for note in notes)]).lstrip("\n")


def _format_list(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"{what}: {', '.join(names[:MAX_LISTED])}{more}"
