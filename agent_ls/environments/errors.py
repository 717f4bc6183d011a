"""What an environment refuses or fails at.

EnvError
    PathNotFoundError         nothing is there
    NotAFileError             a folder, a device, a pipe: no regular file
    NotAFolderError           a file where a folder is needed
    AccessDeniedError         the operating system or a policy says no
        OutsideBoundsError        a place that a person has to allow first
            SecretFileError           one in the workspace, whose name says that it holds secrets
    FileTooLargeError         over the limit of the call
    StaleFileError            the file is not what the change was computed against
    EditRefusedError          the editor would not take the edit
    InvalidPatternError       a search pattern that does not parse
    ProcessStartError         the command could not be started
    ProcessLimitError         as many background processes as may run at once do
    InputRefusedError         a process that takes no input
    UnsupportedError          this environment cannot do that
    CommitError               a commit failed half way; tells what could not be put back
    PageError                 a page of the web could not be fetched, or may not be
    NoAnswerError             the editor's language tools could not tell
"""

from __future__ import annotations

from collections.abc import Sequence

SHORT_CHARS = 60


class EnvError(Exception):
    """Base of all. `str()` is one sentence that a model or a user can act on."""

    kind = "environment"


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
    """`real` is where the path leads, links followed."""

    def __init__(self, path: str, real: str) -> None:
        where = "" if real == path else f" (it leads to {real})"
        super().__init__(path, f"outside the workspace{where}, and nobody allowed it yet")
        self.real = real


class SecretFileError(OutsideBoundsError):
    def __init__(self, path: str, real: str) -> None:
        AccessDeniedError.__init__(self, path, "it holds secrets, by its name, and nobody allowed it yet")
        self.real = real


class FileTooLargeError(EnvError):
    kind = "too_large"

    def __init__(self, path: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"File too large: {path} has {size_bytes} bytes, the limit is {limit_bytes}")
        self.path = path


class StaleFileError(EnvError):
    kind = "stale"

    def __init__(self, path: str, detail: str = "its content changed since it was read") -> None:
        super().__init__(f"Stale file: {path}: {detail}. Read it again and retry.")
        self.path = path


class EditRefusedError(EnvError):
    kind = "edit_refused"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The editor did not take the edit of {path}: {reason}")
        self.path = path


class InvalidPatternError(EnvError):
    kind = "invalid_pattern"

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"Invalid pattern {pattern!r}: {reason}")


class ProcessStartError(EnvError):
    kind = "process_start"


class ProcessLimitError(EnvError):
    """`running` are those that run: id and command."""

    kind = "process_limit"

    def __init__(self, limit: int, running: Sequence[tuple[str, str]]) -> None:
        known = "; ".join(f"{process_id}: {_short(command)}" for process_id, command in running)
        super().__init__(
            f"{limit} background processes run, and no more may at once. End one that is no longer needed, or wait "
            f"until one has ended, and start it then. They are {known}."
        )


class InputRefusedError(EnvError):
    kind = "input_refused"

    def __init__(self, process_id: str, reason: str) -> None:
        super().__init__(f"Process {process_id} takes no input: {reason}.")


class UnsupportedError(EnvError):
    kind = "unsupported"


class CommitError(EnvError):
    """A commit failed half way and was rolled back; `unrestored` lists paths that could not be put back."""

    kind = "commit"

    def __init__(self, path: str, reason: str, unrestored: tuple[str, ...] = ()) -> None:
        left = f" Could not restore: {', '.join(unrestored)}." if unrestored else " Nothing was changed."
        super().__init__(f"Failed to write file {path}: {reason}.{left}")
        self.path = path
        self.unrestored = unrestored


class PageError(EnvError):
    kind = "page"


class NoAnswerError(EnvError):
    """Of an editor: it cannot tell, did not in time, or told what makes no sense."""

    kind = "no_answer"


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= SHORT_CHARS else f"{line[: SHORT_CHARS - 1]}…"
