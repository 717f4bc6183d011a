"""Wrap standard output and standard error, to make control characters in untrusted text harmless and report a
failed write in one sentence.
"""

from __future__ import annotations

import argparse
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


def print_error(command: str, error: AppError) -> None:
    """Print an error of a command, and below it what to do."""
    print(f"agent-ls {command}: {error}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def escaped_json(text: str) -> str:
    """Escape control characters that JSON allows in strings, and bidirectional marks."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class CheckedOutput(io.TextIOBase):
    """A text stream that writes `clean(text)` to `stream`, and raises OutputError if the write fails.

    `names_command` becomes True as soon as written text mentions an `agent-ls` command.
    """

    def __init__(self, stream: TextIO, clean: Callable[[str], str]) -> None:
        self._stream = stream
        self._clean = clean
        self.names_command = False

    def write(self, text: str) -> int:
        self.names_command |= "`agent-ls " in text
        with _checked_writes():
            self._stream.write(self._clean(text))
        return len(text)

    def flush(self) -> None:
        with _checked_writes():
            self._stream.flush()

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


@contextmanager
def _checked_writes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from error


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
    outputs = (CheckedOutput(stdout, clean), CheckedOutput(stderr, clean))
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
