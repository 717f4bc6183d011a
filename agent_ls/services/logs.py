"""The log of this process: a file in the user's state folder, written by a separate thread. Keys are removed.

It contains statistics of each session (loop/events/figures.py) and errors. Only the server and `agent-ls
exec` write it; a program that uses the library configures its own logging.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeAlias

from agent_ls.loop.calls.redaction import Known, redacted
from agent_ls.services.settings.state_folder import state_folder

LogLevel: TypeAlias = Literal["error", "warning", "info", "debug"]

LOGGER = "agent_ls"
FILE_BYTES = 4 * 1024 * 1024
OLD_FILES = 2
MOMENT_S = 0.1
BATCH_LINES = 500
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127)} | {10: "\\n", 9: "\\t"}


def log_path(folder: Path | None = None) -> Path:
    """Return the path of the log. `folder` None: the user's state folder."""
    return (folder or state_folder()) / "log" / "agent-ls.log"


def start_log(level: LogLevel, known: Known, folder: Path | None = None) -> None:
    """Start logging to the file, and write warnings and errors to stderr too. Later calls only set the level.

    `known` returns the API keys that are removed from messages. A failure to write the file is reported once on
    stderr.
    """
    logger = logging.getLogger(LOGGER)
    logger.setLevel(level.upper())
    if any(isinstance(handler, QueueHandler) for handler in logger.handlers):
        return
    formatter = _Plain(known)
    for handler in logging.getLogger().handlers:
        handler.setLevel(logging.WARNING)
        handler.setFormatter(formatter)
    queue: SimpleQueue[logging.LogRecord] = SimpleQueue()
    listener = _Listener(queue, _PrivateFile(log_path(folder)))
    sender = QueueHandler(queue)
    sender.setFormatter(formatter)  # formatted in the thread that logs, so that no key is in the queue
    logger.addHandler(sender)
    listener.start()
    atexit.register(listener.stop)


def set_level(level: LogLevel) -> None:
    logging.getLogger(LOGGER).setLevel(level.upper())


def apply_passed_level(settings: Mapping[str, Any]) -> None:
    """Set the level if the settings that a program passed have one. Otherwise the level is the program's own."""
    if level := settings.get("logLevel"):
        set_level(level)


class _Plain(logging.Formatter):
    """Formats a message as one line, with control characters escaped, and a traceback below it."""

    converter = staticmethod(time.gmtime)
    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def __init__(self, known: Known) -> None:
        super().__init__("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
        self._known = known

    def formatMessage(self, record: logging.LogRecord) -> str:  # overrides logging.Formatter
        return super().formatMessage(record).translate(_CONTROL)

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record), self._known())


class _Listener(QueueListener):
    """Writes messages in batches, but warnings and errors at once.

    Batches wake this thread less often. Each wake-up takes the interpreter lock from the event loop.
    """

    queue: SimpleQueue[logging.LogRecord]

    def __init__(self, queue: SimpleQueue[logging.LogRecord], file: _PrivateFile) -> None:
        super().__init__(queue, file)
        self._file = file
        self._is_ending = threading.Event()

    def dequeue(self, block: bool) -> logging.LogRecord:  # overrides QueueListener
        is_first = self.queue.empty()
        record = super().dequeue(block)
        # The sentinel that ends the listener is not a record and has no level.
        if is_first and getattr(record, "levelno", logging.WARNING) < logging.WARNING:
            self._is_ending.wait(MOMENT_S)
        return record

    def handle(self, record: logging.LogRecord) -> None:  # overrides QueueListener
        super().handle(record)
        if self.queue.empty():
            self._file.write_batch()

    def stop(self) -> None:
        self._is_ending.set()
        super().stop()
        self._file.write_batch()


class _PrivateFile(RotatingFileHandler):
    """A file that only the user may read, created when the first line is written. `write_batch` writes what was
    handled since the last call.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            maxBytes=FILE_BYTES,
            backupCount=OLD_FILES,
            encoding="utf-8",
            delay=True,
            errors="backslashreplace",
        )
        self._has_failed = False
        self._batch: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:  # overrides RotatingFileHandler
        self._batch.append(record)
        if len(self._batch) >= BATCH_LINES:
            self.write_batch()

    def write_batch(self) -> None:
        """Write the batch with one call, so that the interpreter lock is taken once."""
        records, self._batch = self._batch, []
        if records:
            lines = self.terminator.join(map(self.format, records))
            super().emit(logging.makeLogRecord({"msg": lines}))

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open(  # the handler closes this file
            self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=_private
        )

    def handleError(self, record: logging.LogRecord) -> None:  # overrides logging.Handler
        if not self._has_failed:
            self._has_failed = True
            sys.stderr.write(f"agent-ls: the log {self.baseFilename} cannot be written\n")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
