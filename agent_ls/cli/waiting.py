"""Tell the user what a command waits for: a line on the terminal with the elapsed time, which goes away at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

FIRST_S = 2.0
"""Shorter waits need no word."""
EACH_S = 1.0

_CLEAR_LINE = "\r\x1b[K"


def name_client(command: str, client: str, page: str) -> None:
    """Say what a server waits for, if its standard input is a terminal: the user has started it by hand."""
    if sys.stdin.isatty() and sys.stderr is not None:
        print(
            f"agent-ls {command}: {client} has to start this command and write to its standard input.\n"
            f"  `agent-ls docs {page}` says how to set it up. Ctrl-C ends this command.",
            file=sys.stderr,
        )


@contextmanager
def waiting_line(
    what: str, out: TextIO | None = None, *, first_s: float = FIRST_S, each_s: float = EACH_S
) -> Iterator[None]:
    """While the body runs, show `what` with the elapsed seconds on `out`, standard error by default, if it is a
    terminal.
    """
    # Not sys.stderr: the checked output of a command would show the control characters.
    stream = out or sys.__stderr__
    if stream is None or not stream.isatty():
        yield
        return
    ended = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, stream, ended, first_s, each_s), daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def _tell(what: str, stream: TextIO, ended: threading.Event, first_s: float, each_s: float) -> None:
    began = time.monotonic()
    if ended.wait(first_s):
        return
    with suppress(OSError, ValueError):  # the terminal is gone
        while True:
            stream.write(f"{_CLEAR_LINE}{what}\N{HORIZONTAL ELLIPSIS} {time.monotonic() - began:.0f} s")
            stream.flush()
            if ended.wait(each_s):
                break
        stream.write(_CLEAR_LINE)
        stream.flush()
