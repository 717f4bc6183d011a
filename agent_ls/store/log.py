"""A session's log: append-only JSON lines that stay readable if the process is killed at any point.

The first line is the header. Each other line is an object with one key, its kind, for example: `event` (the
codec's bytes), `turn`, `prompt`, `prefix` (the tools, and the sources of prompt and tools), `partial`, `config`,
`intent` (a file is about to be written), `change` (its content before and after the write), `ledger` (the
positions of a file's hunks), `review` (the proposal of a call), `notice` (text for the model's next request). A
reader skips unknown kinds, and drops an incomplete last line.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import anyio.to_thread

from agent_ls.loop.calls.redaction import Known, none_known, redact_line, without_known
from agent_ls.store.errors import BadSessionError, NewerFormatError, OwnershipLostError

FORMAT = 1
FOLDER_MODE = 0o700
FILE_MODE = 0o600
COPY_BYTES = 1024 * 1024
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Limit for the lines that wait in memory because the disk fails. Further lines are lost."""

OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

RecordKind: TypeAlias = Literal[
    "event",
    "turn",
    "prompt",
    "prefix",
    "partial",
    "config",
    "copied",
    "intent",
    "ledger",
    "notice",
    "review",
    "result",
    "images",
    "shown",
    "known",
    "change",
    "agentTurn",
]


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a log: the session's properties at its creation. `created` is ISO 8601.

    If `has_worktree`, the session works in its own git worktree, and its changes are proposed as hunks in
    `workspace_folder`. If `has_own_environment`, it acts in an environment of a program, which may wrap this machine.
    """

    session_id: str
    created: str
    workspace_folder: str
    provider: str
    model: str
    title: str = ""
    has_worktree: bool = False
    has_own_environment: bool = False

    def line(self) -> bytes:
        return json_line(
            {
                "format": FORMAT,
                "sessionId": self.session_id,
                "created": self.created,
                "workspaceFolder": self.workspace_folder,
                "provider": self.provider,
                "model": self.model,
                "title": self.title,
                **({"worktree": True} if self.has_worktree else {}),
                **({"ownEnvironment": True} if self.has_own_environment else {}),
            }
        )


def parse_header(line: bytes, path: str) -> Header:
    """Parse the first line of a log.

    Raises:
        BadSessionError, NewerFormatError.
    """
    try:
        raw = json.loads(line)
        format_ = raw["format"]
        if not isinstance(format_, int) or format_ > FORMAT:
            raise NewerFormatError(path, format_)
        return Header(
            session_id=str(raw["sessionId"]),
            created=str(raw["created"]),
            workspace_folder=str(raw["workspaceFolder"]),
            provider=str(raw.get("provider", "")),
            model=str(raw.get("model", "")),
            title=str(raw.get("title", "")),
            has_worktree=raw.get("worktree") is True,
            has_own_environment=raw.get("ownEnvironment") is True,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSessionError(path, "the first line of the session log is not a header") from error


def record(kind: RecordKind, value: Any) -> bytes:
    return json_line({kind: value})


def event_record(encoded: bytes) -> bytes:
    """Return the log line for an event that is encoded as for clients."""
    return b'{"event":%b}\n' % encoded


def make_private_folder(path: Path) -> None:
    """Create the missing folders of a path, accessible only to the user."""
    if path.is_dir():
        return
    make_private_folder(path.parent)
    path.mkdir(mode=FOLDER_MODE, exist_ok=True)


class SessionLog:
    """Appends lines to one file.

    If a write fails, `on_failure` is called. Further failures are reported only after a successful write.
    Lines that cannot be written wait in memory and are written by the next successful append. If the log file
    was deleted, the next append creates it again with its former content. `append` raises OwnershipLostError
    if `is_ours` returns False, because another process writes this session now.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        on_failure: Callable[[OSError], None],
        secrets: Known = none_known,
    ) -> None:
        self.is_ours: Callable[[], bool] = lambda: True
        self.on_restored: Callable[[], None] = lambda: None
        """Called after a deleted log was created again. May raise OSError."""
        self.problem = ""
        """The reason why the last lines could not be written, "" if they were written."""
        self._path = path
        self._secrets = secrets
        self._descriptor = descriptor
        self._on_failure = on_failure
        self._waiting = b""
        self._is_closed = False
        self._syncing = 0
        self._released: list[int] = []

    @classmethod
    def create(
        cls, path: Path, header: Header, on_failure: Callable[[OSError], None], secrets: Known = none_known
    ) -> Self:
        """Create a log with its header.

        Raises:
            OSError: the file exists, or cannot be created or written.
        """
        make_private_folder(path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
        descriptor = os.open(path, flags, FILE_MODE)
        try:
            _write_all(descriptor, redact_line(header.line(), secrets()))
        except OSError:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            raise
        return cls(path, descriptor, on_failure, secrets)

    @classmethod
    def reopen(cls, path: Path, on_failure: Callable[[OSError], None], secrets: Known = none_known) -> Self:
        """Open a log to continue it. Removes an incomplete last line, because its event number will be used again.

        Raises:
            OSError: the file cannot be opened or truncated.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | OPEN_FLAGS)
        try:
            _cut_torn_line(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return cls(path, descriptor, on_failure, secrets)

    def clean(self, text: str) -> str:
        """Return `text` with secret keys redacted, for files next to the log."""
        return without_known(text, self._secrets())

    def append(self, *lines: bytes) -> None:
        """Write the lines. Lines that cannot be written wait for the next append.

        Raises:
            OwnershipLostError: another process owns the session; the caller must not publish these lines.
        """
        if self._is_closed:  # after closing, the descriptor's number may belong to another file
            self._fail(OSError(errno.EBADF, "the log is closed"))
            return
        self._check_ownership()
        # Lines beyond the limit are lost; readers detect the gap in the event numbers.
        if len(self._waiting) <= MAX_WAITING_BYTES:
            self._waiting += redact_line(b"".join(lines), self._secrets())
        try:
            if _is_deleted(self._descriptor):
                self._restore()
            while self._waiting:
                self._waiting = self._waiting[os.write(self._descriptor, self._waiting) :]
            self.problem = ""
        except OSError as error:
            self._fail(error)
        self._check_ownership()  # check again: this process may have been suspended since the first check

    async def sync(self) -> None:
        """Call fsync in a thread. A failure is reported to `on_failure`."""
        if self._is_closed:
            return
        self._syncing += 1
        try:
            await anyio.to_thread.run_sync(os.fsync, self._descriptor)
        except OSError as error:
            self._fail(error)
        finally:
            self._syncing -= 1
            self._close_released()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._release(self._descriptor)

    def _release(self, descriptor: int) -> None:
        """Close a descriptor, but not before a running fsync has ended.

        The operating system reuses descriptor numbers, so the fsync in a thread might otherwise reach another
        file.
        """
        self._released.append(descriptor)
        self._close_released()

    def _close_released(self) -> None:
        while self._released and not self._syncing:
            os.close(self._released.pop())

    def _restore(self) -> None:
        """Create the deleted log again, with the content read from the descriptor that is still open.

        Raises:
            OSError: the file cannot be created, or another program has created a file with this name.
        """
        make_private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
        descriptor = os.open(self._path, flags, FILE_MODE)
        try:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            while data := os.read(self._descriptor, COPY_BYTES):
                _write_all(descriptor, data)
            self.on_restored()
        except BaseException:
            os.close(descriptor)
            self._path.unlink(missing_ok=True)
            raise
        self._release(self._descriptor)
        self._descriptor = descriptor

    def _check_ownership(self) -> None:
        if not self.is_ours():
            raise OwnershipLostError

    def _fail(self, error: OSError) -> None:
        is_new = not self.problem
        self.problem = error.strerror or str(error)
        if is_new:
            self._on_failure(error)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes.

    Raises:
        OSError: the write failed.
    """
    while data:
        data = data[os.write(descriptor, data) :]


def _is_deleted(descriptor: int) -> bool:
    """Return whether the open file was deleted. Windows does not delete open files."""
    return os.name == "posix" and os.fstat(descriptor).st_nlink == 0


def detach(path: Path) -> None:
    """Replace the log by a copy, so that a former owner writes to a file that is no longer read. Blocks.

    Raises:
        OSError: the copy cannot be written.
    """
    copy = path.with_name(f"{path.name}.{os.getpid()}.part")
    descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | OPEN_FLAGS, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file, path.open("rb") as log:
        shutil.copyfileobj(log, file)
        file.flush()
        os.fsync(file.fileno())
    copy.replace(path)


def _cut_torn_line(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    end, step = size, 64 * 1024
    while end > 0:
        start = max(0, end - step)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)


def json_line(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_to_json_value)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate represents an undecodable byte of a file. UTF-8 cannot encode it, so write an escape.
        return json.dumps(value, separators=(",", ":"), default=_to_json_value).encode("ascii") + b"\n"


def _to_json_value(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored in a log")
