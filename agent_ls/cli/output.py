"""Wrap standard output and standard error, to make control characters in untrusted text harmless and report a
failed write in one sentence.
"""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO, cast

from agent_ls.patterns import regex

if TYPE_CHECKING:
    from agent_ls.services.errors import AppError

_HIDDEN = regex("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class OutputError(Exception):
    """Standard output cannot be written; the message says why."""


def to_single_row(text: str) -> str:
    """Return `text` as one line with newlines escaped, because a title or path with a newline would look like
    two rows.
    """
    return text.replace("\r", "").replace("\n", "\\n")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, for programs")


def print_json(rows: Iterable[Mapping[str, object]]) -> None:
    """Print one JSON object per line."""
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def print_error(command: str, error: AppError) -> int:
    """Print an error of a command, and below it what to do. Returns the exit code of the command."""
    print(f"agent-ls {command}: {error}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
    return 2 if error.is_usage else 1


def escaped_json(text: str) -> str:
    """Escape control characters that JSON allows in strings, and bidirectional marks."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class CheckedOutput(io.TextIOBase):
    """A text stream that writes `clean(text)` to `stream`, and raises OutputError if the write fails.

    `is_lossy`: after a failed write, all text is dropped instead. `names_command` becomes True as soon as written
    text mentions an `agent-ls` command.
    """

    def __init__(self, stream: TextIO, clean: Callable[[str], str], *, is_lossy: bool = False) -> None:
        self._stream = stream
        self._clean = clean
        self._is_lossy = is_lossy
        self.names_command = False

    def write(self, text: str) -> int:
        self.names_command |= "`agent-ls " in text
        with self._checked():
            self._stream.write(self._clean(text))
        return len(text)

    def flush(self) -> None:
        with self._checked():
            self._stream.flush()

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._is_lossy:
                _redirect_to_null(self._stream)
            elif isinstance(error, BrokenPipeError):
                raise  # the reader has closed the pipe
            else:
                raise OutputError(error.strerror or str(error)) from error

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def reconfigure(self, *, encoding: str | None = None, errors: str | None = None) -> None:
        if isinstance(self._stream, io.TextIOWrapper):
            self._stream.reconfigure(encoding=encoding, errors=errors)

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a variable in the base class
        return self._stream.encoding


def _no_note() -> str:
    return ""


def run_checked(
    run: Callable[[], int], clean: Callable[[str], str], note: Callable[[], str] = _no_note
) -> int:
    """Run a command with checked output. Returns its exit code, or 1 if its output could not be written.

    If the output mentions an `agent-ls` command and standard error is a terminal, the text from `note()` is
    printed at the end.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if sys.stdout is None:
        return _report_failure("it is closed")
    stdout, stderr = sys.stdout, sys.stderr
    # A command does its work also if nobody can read its messages, as with a closed standard error.
    outputs = (CheckedOutput(stdout, clean), CheckedOutput(stderr, clean, is_lossy=True))
    sys.stdout, sys.stderr = (cast("TextIO", output) for output in outputs)
    try:
        try:
            return run()
        finally:
            sys.stdout.flush()
            if stderr.isatty() and any(output.names_command for output in outputs):
                sys.stderr.write(note())
    except Exception as error:
        found = _output_error(error)
        if found is None:
            raise
        _redirect_to_null(stdout)
        sys.stderr = stderr
        return _report_failure(str(found)) if isinstance(found, OutputError) else 1
    finally:
        sys.stdout, sys.stderr = stdout, stderr


def report_disk(error: OSError) -> int:
    """Report a deleted current folder, or a disk that takes no file. Returns the exit code, 0 for another cause."""
    try:
        os.getcwd()
    except FileNotFoundError:
        print("agent-ls: the current folder was deleted: change to a folder that exists", file=sys.stderr)
        return 2
    has_no_temporary = error.errno == errno.ENOENT and not error.filename  # raised by `tempfile`
    if not has_no_temporary and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return 0
    where = f": {error.filename}" if error.filename else ""
    print(f"agent-ls: a file cannot be written: {error.strerror}{where}", file=sys.stderr)
    print("  free some space on the disk, or set TMPDIR to a folder that you may write", file=sys.stderr)
    return 1


def _report_failure(why: str) -> int:
    try:
        print(f"agent-ls: standard output cannot be written: {why}", file=sys.stderr, flush=True)
    except OSError:
        _redirect_to_null(sys.stderr)
    return 1


def _output_error(error: BaseException) -> OutputError | BrokenPipeError | None:
    """Find an OutputError in `error`: the exception itself, or a member of an exception group.

    Returns None if there is no OutputError.
    """
    if isinstance(error, OutputError | BrokenPipeError):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for it in inner if (found := _output_error(it))), None)


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect the stream's descriptor to the null device, so that the interpreter's last flush cannot fail
    again.
    """
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
