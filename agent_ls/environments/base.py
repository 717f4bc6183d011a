"""Interface ExecutionEnvironment: machine and folder where tools act.

The docstrings here are the contract; implementations do not repeat them. The test suite in
`agent_ls/testing/environment.py` checks every part of the contract.

Paths given to an environment are absolute or relative to `working_directory()`, with `/` or the platform's
separator. All async methods may be cancelled at any await, and never block the event loop. A cancelled
`exec_command` ends the command's processes before it raises; a cancelled `commit` is either completed or
not begun.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from agent_ls.confinement.wanted import Confinement
from agent_ls.memo import Memo

READ_LIMIT_BYTES = 50 * 1024 * 1024
"""Default of `max_bytes` in `read_bytes`. Larger files are refused, not truncated."""

Stream: TypeAlias = Literal["stdout", "stderr"]
OutputSink: TypeAlias = Callable[[Stream, str], None]
"""Called with each decoded piece of output as it arrives. Must not raise and must not block."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 hex digest of a file's content. All modules identify contents by this digest.

    The result is memoised, because one edit needs the digest of the same content many times.
    """
    return _digest(data)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_digest = Memo(_hash, least=16 * 1024, most=8 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class DroppedOutput:
    """The size of the part of an output that was not stored. `marker` is the line in its place."""

    chars: int = 0
    lines: int = 0
    size_bytes: int = 0

    @property
    def marker(self) -> str:
        return f"\n[{self.chars} characters of output were dropped]\n" if self.chars else ""

    @property
    def missing_chars(self) -> int:
        """The characters by which the complete output is longer than the stored text with its marker."""
        return self.chars - len(self.marker)

    @property
    def missing_bytes(self) -> int:
        return self.size_bytes - len(self.marker)


NOTHING_DROPPED = DroppedOutput()


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The result of a command. `output` is stdout and stderr in the order of arrival.

    `exit_code` is the command's exit code, or -N when signal N ended it. `timed_out`: agent-ls ended the
    command at the time limit, so the output is incomplete. `note` is empty, or one sentence about a
    problem (a process that could not be ended). `dropped` is the part in the middle of `output` that was too long to
    be stored.
    """

    stdout: str
    stderr: str
    output: str
    exit_code: int
    timed_out: bool
    duration_ms: int
    note: str = ""
    dropped: DroppedOutput = NOTHING_DROPPED


@dataclass(frozen=True, slots=True)
class DirEntry:
    """An entry of a folder.

    `name` is a path relative to the listed folder, separated by `/`. `size_bytes` is None for folders. `is_tracked`:
    git shows the file even if an ignore file matches it. `is_hidden_above`: an ignore file above the working directory,
    or the user's own, hides the entry, unless one below shows it again.
    """

    name: str
    is_dir: bool
    size_bytes: int | None
    is_tracked: bool = False
    is_hidden_above: bool = False


@dataclass(frozen=True, slots=True)
class GrepOptions:
    """Options of a search. `literal`: the pattern is plain text, not a regular expression.

    `glob_filter` filters names: `*.py`, `!*.min.js` or both (`*.js !*.min.js`). `names` is a second filter of
    the same form; a file must pass both. `before_lines` and `after_lines` are lines of context around a match.
    `multiline`: a match may span lines, and `.` matches a line end too; each line of a match counts as one
    match.
    """

    glob_filter: str = ""
    names: str = ""
    case_insensitive: bool = False
    literal: bool = False
    max_results: int = 100
    before_lines: int = 0
    after_lines: int = 0
    multiline: bool = False


@dataclass(frozen=True, slots=True)
class GrepLine:
    """A line of a search result. `path` is relative to the working directory if the file is below it. `line`
    counts from 1.

    `text` has no line ending. A line of over 2,000 characters is truncated around its first match.
    """

    path: str
    line: int
    text: str
    is_match: bool = True


@dataclass(frozen=True, slots=True)
class GrepResult:
    lines: tuple[GrepLine, ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class FileWrite:
    """The change of one file in a commit.

    `content` None deletes the file. `base` is the content that the change was computed from, None if the file
    must not exist yet. An environment compares `base` with the current content. If they differ, the editor
    environment may rebase the change over text that the user typed in between; other environments refuse it.
    `mode_from` names a file whose permission bits are copied (used for a move); "" keeps the bits of an
    existing file and gives a new file the bits `mode`, None: the default bits. If `content` equals `base`, the file
    is not touched.
    """

    path: str
    content: bytes | None
    base: bytes | None
    mode_from: str = ""
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class FileState:
    """A file before and after a commit; None means that the file did not exist. `path` is absolute.

    `note` describes the user's decisions for the model if the change was reviewed before it was applied, else
    "". `moved_on`: the user has typed after the commit, so the file differs from `after`. `moved_from` is the
    old path of a moved file, `created_folders` are new parent folders; tools set both. `mode` are the permission
    bits of a file that was deleted, None if they are not known.
    """

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""
    moved_on: bool = False
    moved_from: str = ""
    created_folders: tuple[str, ...] = ()
    mode: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Author of a change, for the ledger (the record of changes) and the editor's undo label."""

    session_id: str = ""
    turn_id: str = ""
    call_id: str = ""
    label: str = "agent-ls"


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A background process. `exit_code` is None while the process is running. `started_ms` is Unix time.

    `is_waiting`: the process waits for input; known only for processes in a terminal.
    """

    id: str
    command: str
    pid: int
    exit_code: int | None
    started_ms: int
    is_waiting: bool = False


class CommandTerminal(Protocol):
    """The terminal that a command runs in. After the command has ended, both methods do nothing."""

    async def write(self, data: str) -> None:
        """Send input, as if it were typed."""
        ...

    async def resize(self, columns: int, rows: int) -> None:
        """Resize a terminal that the server owns.

        A terminal in the editor ignores this: the editor sets its size.
        """
        ...


class TerminalWatcher(Protocol):
    """Receives events of a command's terminal, on the event loop's thread. Must not raise."""

    def report_terminal(self, terminal: CommandTerminal) -> None: ...

    def report_waiting(self, waiting: bool) -> None:
        """Handle the event that the command has started or stopped waiting for input."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """Options of a command. If `working_dir` is "", the environment's working directory is used.

    `env_vars` are added to the variables that the command inherits. Rules for inherited variables (such as
    the removal of secrets) do not apply to `env_vars`.

    - `attribution`: the call that runs the command. On this machine, file changes by the command are attributed to it;
      in an environment of a program, nobody looks for them. Only a command that belongs to a tool call is displayed in
      a terminal. While the command waits there for input, its time limit is paused for some minutes.
    - `shown`: text displayed instead of the command, "" for the command itself.
    - `argv`: a program with its arguments, started without a shell. The `command` argument then has the
      same words, quoted for a POSIX shell.
    - `is_own_program`: `argv` names a program that agent-ls itself needs, so it is searched only in folders of PATH
      outside of the project (program_lookup.py), and leaves no processes running.
    - `one_stream`: standard error is written to standard output, so that `output` has both in their exact order. All of
      it then belongs to `stdout`.
    - `inherit` "minimal": the command inherits only the nine variables of `MINIMAL_NAMES` in
      environments/local/environ.py.
    - `confinement`: limits that are enforced when the command is started. If this machine cannot enforce
      them, the command is not started.
    """

    timeout_ms: int = 10_000
    working_dir: str = ""
    env_vars: Mapping[str, str] = field(default_factory=dict)
    attribution: Attribution = Attribution()
    terminal: TerminalWatcher | None = None
    shown: str = ""
    argv: tuple[str, ...] = ()
    is_own_program: bool = False
    confinement: Confinement | None = None
    inherit: Literal["", "minimal"] = ""
    one_stream: bool = False


class ExecutionEnvironment(Protocol):
    async def initialize(self) -> None:
        """Start the environment. A session calls it first, before any other method."""
        ...

    async def cleanup(self) -> None:
        """End all processes that this environment started, including processes that commands left running.

        May be called twice.
        """
        ...

    def working_directory(self) -> str:
        """Return the absolute path of the working directory."""
        ...

    def platform(self) -> str:
        """Return `linux`, `darwin`, `windows`, or `wasm`."""
        ...

    def os_version(self) -> str: ...

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """Return the whole content of a file; for a document that is open in the editor, its current text,
        saved or not.

        Raises:
            PathNotFoundError, NotAFileError (folders, devices, pipes), AccessDeniedError,
            FileTooLargeError.
        """
        ...

    async def file_exists(self, path: str) -> bool:
        """Return True for a file or a folder.

        Never raises: the result is False if the path cannot be checked.
        """
        ...

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        """Return entries sorted by name; the contents of a subfolder follow its own entry. Links are not
        followed.

        Raises:
            PathNotFoundError, NotAFolderError, AccessDeniedError.
        """
        ...

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        """Write all files or none (docs/editing.md, All or nothing). Deletions are carried out last.

        Missing parent folders are created. Each file is compared with `base` directly before it is written.
        Existing permission bits and symbolic links are kept; deleting a symbolic link keeps its target. The
        results are in the order of `writes`.

        Raises:
            StaleFileError: a file does not have the expected content; nothing was written.
            EditRefusedError: the editor refused the edit (editor environment); nothing was written.
            NotAFileError: a path names a folder or a device.
            NotAFolderError: a parent is a file.
            AccessDeniedError: the system refused, or a file has no write permission bit.
            CommitError: a system call failed, or `writes` names a file twice.
        """
        ...

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        """Run a shell command, or a program without a shell (`options.argv`), and wait until it has ended.

        The command has no standard input, or a terminal in which the user can type. At the time limit, and on
        cancellation, everything that the command started is ended with SIGTERM and, after two seconds, SIGKILL.
        This includes processes that left the command's process group, but not processes started by
        `start_process`. A non-zero exit code is a result, not an error. Processes that a command leaves running
        when it ends by itself (`server &`) run until `cleanup`. This method does not wait for them, even if
        they have the command's output open; the result's `note` reports processes that do.

        Raises:
            PathNotFoundError, NotAFolderError: the working directory does not exist. ProcessStartError.
            UnsupportedError.
        """
        ...

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        """Start a background process.

        It runs until it ends by itself, or `kill_process` or `cleanup` ends it.

        `timeout_ms` is ignored.

        Raises:
            PathNotFoundError, NotAFolderError, ProcessStartError, UnsupportedError.
            ProcessLimitError: the maximum number of processes is running.
        """
        ...

    async def list_processes(self) -> Sequence[ProcessInfo]: ...

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        """Return output (stdout and stderr together) from character `offset` on, and the offset to continue from.

        Only the end of a long output is stored. If characters after `offset` are no longer stored, the returned
        text begins with a line that says how many.

        Raises:
            PathNotFoundError: unknown process id.
        """
        ...

    async def wait_process(self, process_id: str) -> ProcessInfo:
        """Wait until the process has ended for any reason.

        Raises:
            PathNotFoundError: unknown process id.
        """
        ...

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        """Send `text` unchanged to the input of a background process; `close` closes the input afterwards.

        Returns when all of the text has been written to the process.

        Raises:
            PathNotFoundError: unknown process id. InputRefusedError: the process has ended, its input was
            closed, or the process has read nothing for a long time. Part of the text may have been sent.
        """
        ...

    async def kill_process(self, process_id: str) -> ProcessInfo:
        """End a process and everything that it started, with SIGTERM and, after two seconds, SIGKILL.

        Raises:
            PathNotFoundError: unknown process id.
        """
        ...

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        """Return matching lines, sorted by file and line.

        Files that .gitignore and similar files list, binary files and `.git` are skipped.

        A file or folder named by `path` is searched even if it is ignored.

        Raises:
            InvalidPatternError, PathNotFoundError, NotAFileError (a device or a pipe).
        """
        ...

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        """Return the paths of matching files, newest first.

        Files that .gitignore and similar files list, `.git` and symbolic links are left out.

        The pattern applies to the whole path below `path`: `*` stays in a folder, `**` crosses folders,
        `{a,b}` and `[a-z]` work as in shells. An absolute pattern must be below `path`. Resulting paths are
        relative to the working directory if they are below it, else absolute.

        Raises:
            InvalidPatternError, PathNotFoundError, NotAFolderError.
        """
        ...
