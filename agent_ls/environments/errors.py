"""Errors of environments.

EnvError
    PathNotFoundError         the path does not exist
    NotAFileError             a folder, a device or a pipe instead of a regular file
    NotAFolderError           a file where a folder is needed
    AccessDeniedError         refused by the operating system or a policy
        OutsideBoundsError        a path outside the workspace that the user has to allow first
            SecretFileError           a file in the workspace with a name for secrets
    FileTooLargeError         over the limit of the call
    StaleFileError            the file differs from the content that the change was computed from
    EditRefusedError          the editor did not accept the edit
    InvalidPatternError       a search pattern that does not parse
    ProcessStartError         the command could not be started
    ProcessLimitError         the maximum number of background processes is running
    InputRefusedError         the process accepts no input
    UnsupportedError          this environment does not support the operation
    EnvironmentLostError      the connection to another machine or a container was lost, or cannot be made
    CommitError               a commit failed half way; lists the files that could not be restored
    PageError                 a web page could not be fetched, or must not be fetched
    NoAnswerError             the editor's language tools did not return a valid result
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_ls.text import join_sentences

SHORT_CHARS = 60


class EnvError(Exception):
    """Base class of the errors of environments.

    `str()` is one sentence that a model or a user can act on. `path` is the file to which the error refers, or
    "".
    """

    kind = "environment"
    path: str = ""


class PathNotFoundError(EnvError):
    kind = "not_found"

    def __init__(self, path: str) -> None:
        super().__init__(f"File not found: {path}")
        self.path = path


class NotAFileError(EnvError):
    kind = "not_a_file"

    def __init__(self, path: str, what: str = "a directory") -> None:
        super().__init__(f"Not a regular file: {path} is {what}")
        self.path = path


class NotAFolderError(EnvError):
    kind = "not_a_folder"

    def __init__(self, path: str) -> None:
        super().__init__(f"Not a directory: {path}")
        self.path = path


class AccessDeniedError(EnvError):
    kind = "access_denied"

    def __init__(self, path: str, reason: str = "permission denied") -> None:
        super().__init__(f"Access denied: {path}: {reason}")
        self.path = path


class OutsideBoundsError(AccessDeniedError):
    """The user has to allow this path before it can be used. `real` is the path with links resolved."""

    def __init__(self, path: str, real: str) -> None:
        where = "" if real == path else f" (the path resolves to {real})"
        super().__init__(path, f"the path is outside the workspace{where}, and access was not approved")
        self.real = real


class SecretFileError(OutsideBoundsError):
    def __init__(self, path: str, real: str) -> None:
        AccessDeniedError.__init__(
            self, path, "the file looks like a file with secrets, and access was not approved"
        )
        self.real = real


class FileTooLargeError(EnvError):
    kind = "too_large"

    def __init__(self, path: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"File too large: {path} has {size_bytes} bytes, the limit is {limit_bytes}")
        self.path = path


class StaleFileError(EnvError):
    kind = "stale"

    def __init__(self, path: str, detail: str = "the content of the file changed since it was read") -> None:
        super().__init__(f"Stale file: {path}: {detail}. Read it again and retry.")
        self.path = path


class EditRefusedError(EnvError):
    kind = "edit_refused"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The editor did not apply the edit of {path}: {reason}")
        self.path = path


class InvalidPatternError(EnvError):
    kind = "invalid_pattern"

    def __init__(self, pattern: str, reason: str) -> None:
        self._given: tuple[str, Any] = pattern, reason
        super().__init__(f"Invalid pattern {pattern!r}: {reason}")

    def __reduce__(self) -> tuple[type[InvalidPatternError], tuple[str, Any]]:
        return type(self), self._given  # so that a worker process can raise it


class SearchLimitError(InvalidPatternError):
    """The search computed for longer than it may; a simpler pattern or a smaller folder needs less."""

    def __init__(self, pattern: str, limit_s: float) -> None:
        super().__init__(
            pattern,
            f"the search computed for more than {limit_s:g} seconds. Simplify the pattern, or search a smaller folder.",
        )
        self._given = pattern, limit_s


class ProcessStartError(EnvError):
    kind = "process_start"


class ProcessLimitError(EnvError):
    """The maximum number of background processes is running; `running` contains the id and command of each
    process.
    """

    kind = "process_limit"

    def __init__(self, limit: int, running: Sequence[tuple[str, str]]) -> None:
        known = "; ".join(f"{process_id}: {_short(command)}" for process_id, command in running)
        super().__init__(
            f"{limit} background processes are running, which is the limit. End a process that is no longer "
            f"needed, or wait until one has ended, then start the new one. Running: {known}."
        )


class InputRefusedError(EnvError):
    kind = "input_refused"

    def __init__(self, process_id: str, reason: str) -> None:
        super().__init__(f"Process {process_id} cannot receive input: {reason}.")


class UnsupportedError(EnvError):
    kind = "unsupported"


class EnvironmentLostError(EnvError):
    """The connection to another machine or a container was lost, or could not be made.

    The message names the machine. `hint` says what the user can do, or is "".
    """

    kind = "lost"

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(join_sentences(sentence, hint))
        self.sentence = sentence
        self.hint = hint


class CommitError(EnvError):
    """A commit failed half way and was rolled back. `unrestored` lists the files that could not be restored."""

    kind = "commit"

    def __init__(self, path: str, reason: str, unrestored: tuple[str, ...] = ()) -> None:
        left = f" Could not restore: {', '.join(unrestored)}." if unrestored else " Nothing was changed."
        super().__init__(f"Failed to write file {path}: {reason}.{left}")
        self.path = path
        self.unrestored = unrestored


class PageError(EnvError):
    kind = "page"


class NoAnswerError(EnvError):
    """The editor cannot answer a language query, did not answer in time, or sent invalid data."""

    kind = "no_answer"


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHORT_CHARS else f"{line[: SHORT_CHARS - 1]}…"
