"""A program that prints how it was started: python -m tests.forking.process_facts WORD..."""

from __future__ import annotations

import json
import os
import signal
import sys
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


def shown(name: str) -> list[str]:
    """Return what the system shows of this process, without what pads it."""
    return Path("/proc/self", name).read_text("utf-8").rstrip("\0").split("\0")


if __name__ == "__main__":
    print(json.dumps(facts()))  # noqa: T201  # its output is what is tested
    sys.stderr.write("an error\n")
    if sys.argv[1:2] == ["kill"]:
        os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(7)
