"""Run git for agent-ls itself, without the repository's hooks and without prompts (SAFE, VARIABLES)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_ls.environments.local.processes.ending import run_program
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
    """Exit code and output of a git command that has ended. `error` is the last line of standard error."""

    exit_code: int
    stdout: str
    error: str


class GitError(AppError):
    """A git command failed; the message has the last line that git wrote."""

    def __init__(self, message: str, hint: str, exit_code: int, last_line: str) -> None:
        super().__init__(message, hint)
        self.exit_code = exit_code
        self.last_line = last_line


def make_git_error(command: str, machine: str, exit_code: int, last_line: str) -> GitError:
    """Return the error about a git command that has failed."""
    return GitError(
        f"git {command} failed on {machine}: {last_line}",
        "correct the problem that git reports, then try again",
        exit_code,
        last_line,
    )


def git_error(machine: str, reason: str) -> AppError:
    """Return the error about a git program that cannot be started."""
    return AppError(f"git cannot be started on {machine}: {reason}", "install git there, and put it on PATH")


def last_line(text: str) -> str:
    """Return the last line of a program's error output; "no message" if the output is empty."""
    return (text.strip().splitlines() or ["no message"])[-1]


@dataclass(frozen=True, slots=True)
class LocalGit:
    """Runs git on this machine. Variables in `environ` that name a repository are removed."""

    environ: Mapping[str, str]
    name: str = "this machine"

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
            raise make_git_error(arguments[0], self.name, exit_code, error)
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
            done = await run_program([require_program("git"), *arguments], folder, {**environ, **variables})
        except OSError as error:
            raise git_error(self.name, error.strerror or str(error)) from None
        return done.returncode, done.stdout, last_line(done.stderr.decode("utf-8", "replace"))
