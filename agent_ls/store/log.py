"""A session's log: append-only JSON lines, written so that kill -9 at any point leaves a readable file (R3).

The first line is the header. Each other line is an object with one key, its kind: `event` (the codec's bytes),
`turn`, `prompt`, `prefix` (the tools beside it, and what both were made of), `partial`, `config`, `intent` (a file is
about to be written), `change` (what it held before and after that), `ledger` (where the hunks of a file stand),
`review` (what a call proposes), `notice` (what the model is to be told next). A reader skips kinds that it does not
know, and drops a torn last line.
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

from agent_ls.loop.redaction import Known, none_known, without, without_known
from agent_ls.store.errors import BadSessionError, NewerFormatError, OwnershipLostError

FORMAT = 1
FOLDER_MODE = 0o700
FILE_MODE = 0o600
OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

RecordKind: TypeAlias = Literal[
    "event",
    "turn",
    "prompt",
    "prefix",
    "partial",
    "config",
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
    """The first line: what the session was when it was made. `created` is ISO 8601."""

    session_id: str
    created: str
    workspace_folder: str
    provider: str
    model: str
    title: str = ""

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
            }
        )


def parse_header(line: bytes, path: str) -> Header:
    """
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
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSessionError(path, "the first line is no header") from error


def record(kind: RecordKind, value: Any) -> bytes:
    return json_line({kind: value})


def event_record(encoded: bytes) -> bytes:
    """An event is encoded once, for the wire and the log alike."""
    return b'{"event":%b}\n' % encoded


def make_private_folder(path: Path) -> None:
    """Creates what is missing, readable by the user alone."""
    if path.is_dir():
        return
    make_private_folder(path.parent)
    path.mkdir(mode=FOLDER_MODE, exist_ok=True)


class SessionLog:
    """Appends to one file. A failing disk is reported once, to `on_failure`, and never raised (Recorder).

    What `append` raises is not of the disk: `is_ours` says no, so another process writes this session by now.
    """

    def __init__(
        self, descriptor: int, on_failure: Callable[[OSError], None], secrets: Known = none_known
    ) -> None:
        self.is_ours: Callable[[], bool] = lambda: True
        self._secrets = secrets
        self._descriptor = descriptor
        self._on_failure = on_failure
        self._has_failed = False
        self._is_torn = False
        self._is_closed = False

    @classmethod
    def create(
        cls, path: Path, header: Header, on_failure: Callable[[OSError], None], secrets: Known = none_known
    ) -> Self:
        """
        Raises:
            OSError: the file exists, or cannot be made.
        """
        make_private_folder(path.parent)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
        log = cls(os.open(path, flags, FILE_MODE), on_failure, secrets)
        log.append(header.line())
        return log

    @classmethod
    def reopen(cls, path: Path, on_failure: Callable[[OSError], None], secrets: Known = none_known) -> Self:
        """To go on with a log. A torn last line is cut off: its number would be given again.

        Raises:
            OSError.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | OPEN_FLAGS)
        try:
            _cut_torn_line(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor, on_failure, secrets)

    def clean(self, text: str) -> str:
        """Without the keys that no file of a session may hold: for what is written beside the log."""
        return without_known(text, self._secrets())

    def append(self, *lines: bytes) -> None:
        """Hands the lines to the kernel in one write.

        Raises:
            OwnershipLostError: nobody is to be told what they say.
        """
        if self._is_closed:  # its descriptor may belong to another file by now
            self._fail(OSError(errno.EBADF, "the log is closed"))
            return
        self._demand_ours()
        data = without(b"".join(lines), self._secrets())
        if self._is_torn:
            data = b"\n" + data
        try:
            while data:
                written = os.write(self._descriptor, data)
                self._is_torn = written < len(data)
                data = data[written:]
        except OSError as error:
            self._fail(error)
        self._demand_ours()  # it may have stood still since the last look, for as long as it likes

    async def sync(self) -> None:
        """On the disk itself, in a thread. A failure is reported as one of `append` is."""
        if self._is_closed:
            return
        # A copy of the descriptor: the log may be closed while the thread runs.
        descriptor = os.dup(self._descriptor)
        try:
            await anyio.to_thread.run_sync(os.fsync, descriptor)
        except OSError as error:
            self._fail(error)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            os.close(self._descriptor)

    def _demand_ours(self) -> None:
        if not self.is_ours():
            raise OwnershipLostError

    def _fail(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._on_failure(error)


def detach(path: Path) -> None:
    """Puts a copy in the log's place, so that who has it open writes where nobody reads. Blocks.

    Raises:
        OSError.
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
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # Lone surrogates (undecodable bytes of a file) survive as escapes, so that a turn comes back as it was.
        return json.dumps(value, separators=(",", ":"), default=_plain).encode("ascii") + b"\n"


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a log")
