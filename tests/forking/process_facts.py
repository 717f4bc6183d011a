"""Print the arguments, variables, streams etc. of this process: python -m tests.forking.process_facts WORD..."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def facts() -> dict[str, object]:
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return {
        "arguments": sys.argv,
        "original": sys.orig_argv,
        "variables": dict(os.environ),
        "shown arguments": shown("cmdline"),
        "shown variables": shown("environ"),
        "folder": os.getcwd(),
        "path": sys.path,
        "descriptors": [n for n in range(64) if os.path.lexists(f"/proc/self/fd/{n}")],
        "is a session's first": os.getsid(0) == os.getpid(),
        "is a group's first": os.getpgrp() == os.getpid(),
        "parent": os.getppid(),
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())[:31]],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "streams": [
            [stream.name, stream.mode, stream.encoding, stream.errors, stream.newlines, stream.line_buffering]
            for stream in streams
        ],
        "bytecode": sys.dont_write_bytecode,
        "input": sys.stdin.read(),
    }


def fail() -> None:
    raise ValueError("failed")


def write_later() -> None:
    """Arrange three late writes: by a thread after the main thread, by an exit function, and by a destructor."""

    class Freed:
        def __del__(self) -> None:
            os.write(2, b"freed\n")

    def write() -> None:
        threading.main_thread().join()
        os.write(2, b"thread\n")

    freed = Freed()
    vars(freed)["cycle"] = freed
    atexit.register(os.write, 2, b"exit\n")
    threading.Thread(target=write).start()


ENDINGS: dict[str, Callable[[], object]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "return nothing": sys.exit,
    "return -1": lambda: sys.exit(-1),
    "return text": lambda: sys.exit("a reason"),
    "fail": fail,
    "write later": write_later,
    "interrupt": lambda: os.kill(os.getpid(), signal.SIGINT),
    "close output": lambda: os.close(1),
    "fill output": lambda: (os.dup2(os.open("/dev/full", os.O_WRONLY), 1), print("lost")),  # noqa: T201
}


def shown(name: str) -> list[str]:
    """Return the arguments (`cmdline`) or variables (`environ`) that /proc shows for this process, without padding."""
    return Path("/proc/self", name).read_text("utf-8").rstrip("\0").split("\0")


if __name__ == "__main__":
    print(json.dumps(facts()))  # noqa: T201  # its output is what is tested
    sys.stderr.write("an error\n")
    if ending := ENDINGS.get(" ".join(sys.argv[1:2])):
        ending()
    raise SystemExit(7)
