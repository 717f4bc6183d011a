"""SEAM ExecutionEnvironment: the place where tools act (000 section 4.1, REQUIREMENTS X1).

The contract stands in the docstrings here; implementations have none of their own. The suite in
`agent_ls/testing/environment.py` asks every promise of an implementation.

Paths given to an environment are absolute or relative to `working_directory()`, with `/` or the platform's
separator. Everything here is async, may be cancelled at any await, and never blocks the event loop.
A cancelled `exec_command` ends the command's processes before it lets the cancellation through; a cancelled
`commit` is either done or not begun.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from agent_ls.recent import Recent

READ_LIMIT_BYTES = 50 * 1024 * 1024
"""Default limit of one read: larger files are refused, not cut."""

Stream: TypeAlias = Literal["stdout", "stderr"]
OutputSink: TypeAlias = Callable[[Stream, str], None]
"""Called with each decoded piece of output as it comes. Must not raise and must not block."""


def sha256(data: bytes) -> str:
    """The hex digest that identifies a file's content everywhere in agent-ls.

    One edit asks for that of the same content many times, in several threads and of copies that were read anew.
    """
    return _digest(data)


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


_digest = Recent(_hashed, least=16 * 1024, most=8 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command did. `output` is stdout and stderr in the order in which they came.

    `exit_code` is the code from wait, or -N when signal N ended it. `timed_out`: ended by us at the limit;
    the output is what there was. `note` is empty, or one sentence about what a reader must know
    (a process that could not be ended, output that was cut).
    """

    stdout: str
    stderr: str
    output: str
    exit_code: int
    timed_out: bool
    duration_ms: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class DirEntry:
    """`name` is relative to the listed folder, with `/`; `size_bytes` is None for folders."""

    name: str
    is_dir: bool
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class GrepOptions:
    """`glob_filter` as in `*.py`, `!*.min.js` or both (`*.js !*.min.js`); `literal`: the pattern is no regex.

    Context is in lines before and after a match.
    """

    glob_filter: str = ""
    case_insensitive: bool = False
    literal: bool = False
    max_results: int = 100
    before_lines: int = 0
    after_lines: int = 0


@dataclass(frozen=True, slots=True)
class GrepLine:
    """One line found. `path` is relative to the working directory where it lies below it. `line` counts from 1.

    `text` is without its ending; a line of over 2,000 characters is cut around its first match.
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
    """One file's part in a commit.

    `content` None deletes the file. `base` is the bytes that the change was computed against, None for a file
    that must not exist yet; an environment compares it with what is there (the editor environment may rebase
    the change over what the user typed meanwhile, all others refuse).
    `mode_from` names the file whose permission bits the written one takes (a move; SEMANTICS D6); "" keeps those
    of an existing file and gives a new one the default. Equal `content` and `base` leave the file untouched (D7).
    """

    path: str
    content: bytes | None
    base: bytes | None
    mode_from: str = ""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file before and after a commit; None is "did not exist". `path` is absolute.

    `note` is what a person decided who saw the change before it was made, for the model; "" when nothing is to be said.
    """

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whose change it is: the ledger and the editor's undo label need to know."""

    session_id: str = ""
    turn_id: str = ""
    call_id: str = ""
    label: str = "agent-ls"


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A background process. `exit_code` None: still running. `started_ms` is Unix time.

    `is_waiting`: seen to wait for input; of one with pipes that is not known.
    """

    id: str
    command: str
    pid: int
    exit_code: int | None
    started_ms: int
    is_waiting: bool = False


class CommandTerminal(Protocol):
    """The terminal that a command runs in. Once it has ended, both do nothing."""

    async def write(self, data: str) -> None:
        """As if it were typed."""
        ...

    async def resize(self, columns: int, rows: int) -> None:
        """Of a terminal that the server keeps to itself; the editor's own has the size of its view."""
        ...


class TerminalWatcher(Protocol):
    """Who is told of a command's terminal, where it has one. Plain calls on the event loop; must not raise."""

    def opened(self, terminal: CommandTerminal) -> None: ...

    def waits(self, waiting: bool) -> None:
        """The command waits for somebody to type, or does no more."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """`working_dir` "" is the environment's own; `env_vars` are added after filtering (X5).

    `attribution` is whose call it is: what the command does to files can be filed under it, and only a call's command
    is shown in a terminal. While it waits there for its user to type, its time limit stands still (for some minutes).
    `shown` is what people are shown in place of the command, "" for the command itself.
    `argv` is a program with its words, started in place of a shell: the command then says the same, quoted as a POSIX
    shell takes it. `inherit` minimal: of the environment's variables only the nine of 004 section 6.4.
    """

    timeout_ms: int = 10_000
    working_dir: str = ""
    env_vars: Mapping[str, str] = field(default_factory=dict)
    attribution: Attribution = Attribution()
    terminal: TerminalWatcher | None = None
    shown: str = ""
    argv: tuple[str, ...] = ()
    inherit: Literal["", "minimal"] = ""


class ExecutionEnvironment(Protocol):
    async def initialize(self) -> None: ...

    async def cleanup(self) -> None:
        """Ends all that was started here and still runs, also what commands left behind. May be called twice."""
        ...

    def working_directory(self) -> str:
        """Absolute."""
        ...

    def platform(self) -> str:
        """`linux`, `darwin`, `windows`, or `wasm`."""
        ...

    def os_version(self) -> str: ...

    async def read_bytes(self, path: str, max_bytes: int = READ_LIMIT_BYTES) -> bytes:
        """The whole content as the user sees it (an editor's unsaved text included).

        Raises:
            PathNotFoundError, NotAFileError (folders, devices, pipes), AccessDeniedError, FileTooLargeError.
        """
        ...

    async def file_exists(self, path: str) -> bool:
        """True for a file or a folder. Never raises for a path that cannot be looked at: that is False."""
        ...

    async def list_directory(self, path: str, depth: int = 1) -> Sequence[DirEntry]:
        """Entries sorted by name, folders of lower levels following their parent; links are not followed.

        Raises:
            PathNotFoundError, NotAFolderError, AccessDeniedError.
        """
        ...

    async def commit(self, writes: Sequence[FileWrite], attribution: Attribution) -> Sequence[FileState]:
        """Writes all files, or none (SEMANTICS section 8): missing parents are created, deletions come last.

        Each file is compared with `base` directly before it is written; existing permission bits, and
        symlinks, are kept; deleting a symlink leaves what it names. Order of the answer is that of `writes`.

        Raises:
            StaleFileError: a file is not what was expected; nothing was written.
            EditRefusedError: the editor would not take it (editor environment); nothing was written.
            NotAFileError: a path names a folder or a device.
            NotAFolderError: a parent is a file.
            AccessDeniedError: also for a file without any write permission bit.
            CommitError: the system failed, or one file is named twice.
        """
        ...

    async def exec_command(
        self, command: str, options: CommandOptions, on_output: OutputSink | None = None
    ) -> ExecResult:
        """Runs a shell command, or a program without a shell (`options.argv`), and waits for it. It has no input, or a
        terminal that its user can type into.

        At the time limit, and on cancellation, everything that the command started is ended: its process
        group and what left the group, TERM, 2 s, KILL; but not background processes. A non-zero exit is a
        result, not an error. What a command leaves running when it ends by itself (`server &`) is left alone
        until `cleanup`, and not waited for even if it holds the output open: then `note` says so.

        Raises:
            PathNotFoundError, NotAFolderError: no such working directory. ProcessStartError. UnsupportedError.
        """
        ...

    async def start_process(self, command: str, options: CommandOptions) -> ProcessInfo:
        """Starts a background process, which lives until it ends, `kill_process` or `cleanup`.

        `timeout_ms` has no meaning here.

        Raises:
            PathNotFoundError, NotAFolderError, ProcessStartError, UnsupportedError. ProcessLimitError: as many as may
            run at once do.
        """
        ...

    async def list_processes(self) -> Sequence[ProcessInfo]: ...

    async def read_process(self, process_id: str, offset: int = 0) -> tuple[str, int]:
        """Output (stdout and stderr together) from character `offset` on, and the offset to go on from.

        Only the end of a long output is kept; a first line tells how many characters are gone.

        Raises:
            PathNotFoundError: no such process id.
        """
        ...

    async def wait_process(self, process_id: str) -> ProcessInfo:
        """Returns when it has ended, by itself or by others; at once when it has already.

        Raises:
            PathNotFoundError: no such process id.
        """
        ...

    async def write_process(self, process_id: str, text: str, *, close: bool = False) -> ProcessInfo:
        """Gives a background process input, as it is; `close` closes its input behind it.

        Returns when the process can read all of it.

        Raises:
            PathNotFoundError: no such process id. InputRefusedError: it has ended, its input was closed, or it
            reads nothing for long; part of the text may have been taken.
        """
        ...

    async def kill_process(self, process_id: str) -> ProcessInfo:
        """Ends it (TERM, 2 s, KILL) with all it started.

        Raises:
            PathNotFoundError: no such process id.
        """
        ...

    async def grep(self, pattern: str, path: str, options: GrepOptions) -> GrepResult:
        """Lines that match, by file and line; ignore files are respected, binary files and `.git` skipped.

        A file or folder named by `path` is searched even if ignored.

        Raises:
            InvalidPatternError, PathNotFoundError, NotAFileError (a device or a pipe).
        """
        ...

    async def glob(self, pattern: str, path: str) -> Sequence[str]:
        """Paths of matching files, newest first; ignore files are respected, `.git` and links left out.

        The pattern is for the whole path below `path`: `*` stays in a folder, `**` crosses folders, `{a,b}` and
        `[a-z]` as in shells. It may be absolute, but must not leave `path`.
        Paths are relative to the working directory where they lie below it, else absolute.

        Raises:
            InvalidPatternError, PathNotFoundError, NotAFolderError.
        """
        ...
