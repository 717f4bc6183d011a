"""What each operating system does in its own way: what lives, how we are asked to end, what can be printed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any

_INVALID_PARAMETER = 87  # what Windows answers for a pid that nobody has
_STILL_ACTIVE = 259

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def is_alive(pid: int) -> bool:
    """Whether there is such a process. One that ended and was not waited for counts as alive, except on Windows.

    What cannot be told counts as alive.
    """
    if pid <= 0:
        return True
    if sys.platform == "win32":  # its os.kill(pid, 0) sends Ctrl-C
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True


def _is_alive_on_windows(pid: int) -> bool:
    import pywintypes
    import win32api
    import win32con
    import win32process

    try:
        process = win32api.OpenProcess(win32con.PROCESS_QUERY_LIMITED_INFORMATION, False, pid)
    except pywintypes.error as error:
        return bool(error.winerror != _INVALID_PARAMETER)
    except OverflowError:
        return False
    try:
        return bool(win32process.GetExitCodeProcess(process) == _STILL_ACTIVE)
    finally:
        process.Close()


@contextmanager
def on_ending_signals(call: Callable[[], None]) -> Iterator[None]:
    """`call` is called on the event loop at SIGINT and SIGTERM, in place of what these do else.

    Not in another thread than the main one: no signal arrives there.
    """
    import asyncio  # who prints a version needs none

    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}  # as signal.signal gives it
    with suppress(ValueError):  # not the main thread
        for number in ENDING_SIGNALS:
            if sys.platform == "win32":
                before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(call))
            else:
                loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if sys.platform != "win32":
            with suppress(ValueError):
                for number in ENDING_SIGNALS:
                    loop.remove_signal_handler(number)


def below(path: str, folder: str) -> str:
    """What comes after the folder's own path, with slashes; "" when it does not lie below it. Both are absolute."""
    above = os.path.join(folder, "")
    is_below = os.path.normcase(path).startswith(os.path.normcase(above))
    return path[len(above) :].replace(os.sep, "/") if is_below else ""


def speak_plainly(as_json: bool = False) -> None:
    """A character that the terminal's encoding lacks, or half of one in a file, must not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if as_json else None, errors="replace")
