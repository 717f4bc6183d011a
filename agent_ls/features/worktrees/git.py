"""Run git for agent-ls itself, without the repository's hooks and without prompts (SAFE, VARIABLES)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.environments.local.processes.ending import run_program
from agent_ls.features.git.reason import git_reason
from agent_ls.patterns import regex
from agent_ls.program_lookup import require_program
from agent_ls.services.errors import AppError

SAFE = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.quotePath=true"),
    *("-c", "submodule.recurse=false"),
    *("-c", "advice.detachedHead=false"),
)
VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class GitOutput:
    """Exit code and output of a git command that has ended. `error` is what `git_reason` returns."""

    exit_code: int
    stdout: str
    error: str


class GitError(AppError):
    """A git command failed; the message has git's own reason."""

    def __init__(self, command: str, machine: str, exit_code: int, reason: str) -> None:
        super().__init__(
            f"git {command} failed on {machine}: {reason}",
            "correct the problem that git reports, then try again",
        )
        self.exit_code = exit_code
        self.reason = reason


def git_error(machine: str, reason: str) -> AppError:
    """Return the error about a git program that cannot be started."""
    return AppError(f"git cannot be started on {machine}: {reason}", "install git there, and put it on PATH")


_FIND = 'alias.find-missing=!f() { for it; do command -v "$it" >/dev/null 2>&1 || echo "$it"; done; }; f'
"""A command of git that prints those of its arguments that are no programs; git's own programs are found, too."""
_OFF = ("process=", "smudge=", "clean=", "required=false")
_PROGRAM = regex(r"\s*([\w./+-]+)(?!\S)")
_FILTER = regex(r"filter\.(.+)\.(?:process|smudge|clean)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LocalGit:
    """Runs git on this machine, with `options` before each command. Variables in `environ` that name a repository are
    removed.
    """

    environ: Mapping[str, str]
    name: str = "this machine"
    options: Sequence[str] = ()

    async def without_missing_filters(self, folder: str) -> LocalGit:
        """Return this value, or one that leaves out the filters in the repository's settings whose program is missing.

        git refuses to check out files with such a filter, for example without Git LFS.
        """
        settings = await self.run(["config", "-z", "--get-regexp", r"^filter\."], folder, VARIABLES)
        programs: dict[str, set[str]] = {}
        for entry in settings.stdout.split("\0"):
            key, _, command = entry.partition("\n")
            found, program = _FILTER.fullmatch(key), _PROGRAM.match(command)
            if found and program:
                programs.setdefault(program[1], set()).add(found[1])
        if not programs:
            return self
        missing = await self.run(["-c", _FIND, "find-missing", *programs], folder, VARIABLES)
        names = sorted(name for program in missing.stdout.splitlines() for name in programs.get(program, ()))
        settings_off = [f"filter.{name}.{key}" for name in names for key in _OFF]
        return replace(self, options=[word for it in settings_off for word in ("-c", it)])

    async def run(self, arguments: Sequence[str], folder: str, variables: Mapping[str, str]) -> GitOutput:
        """Run git in a folder and wait until it has ended. The repository's hooks may run.

        Raises:
            AppError: git cannot be started.
        """
        exit_code, data, error = await self._run(arguments, folder, variables)
        return GitOutput(exit_code, os.fsdecode(data), error)

    async def data(
        self, arguments: Sequence[str], folder: str, variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git without the repository's hooks, and return its output.

        Raises:
            GitError: the command failed. AppError: git cannot be started.
        """
        exit_code, data, error = await self._run(
            [*SAFE, *arguments], folder, {**VARIABLES, **(variables or {})}
        )
        if exit_code:
            raise GitError(arguments[0], self.name, exit_code, error)
        return data

    async def text(
        self, arguments: Sequence[str], folder: str, variables: Mapping[str, str] | None = None
    ) -> str:
        """Run git like `data`, and return its output as text without the final newline."""
        return os.fsdecode(await self.data(arguments, folder, variables)).removesuffix("\n")

    async def _run(
        self, arguments: Sequence[str], folder: str, variables: Mapping[str, str]
    ) -> tuple[int, bytes, str]:
        environ = {name: value for name, value in self.environ.items() if not name.upper().startswith("GIT_")}
        try:
            argv = [require_program("git"), *self.options, *arguments]
            done = await run_program(argv, folder, {**environ, **variables})
        except OSError as error:
            raise git_error(self.name, error.strerror or str(error)) from None
        return done.returncode, done.stdout, git_reason(done.stderr.decode("utf-8", "replace"))
