"""Run one `agent-ls exec` for `agent-ls batch`. The request is one line of standard input. This process ends
when its standard input is closed.

The runner holds the other end of standard input open. If the runner is killed, this process stops its turn and ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from agent_ls.lean_imports import make_lean
from agent_ls.system import quick_exit, raise_files_limit

GRACE_SECONDS = 10.0


def main() -> int:
    """Read the request and run it. Returns the exit code of `agent-ls exec`."""
    end = quick_exit()
    make_lean(speaks_lsp=False)
    return end(run())


def run() -> int:
    """Do the work of `main`, in a process that is prepared for imports."""
    if sys.platform != "win32":
        # Ctrl-C on the terminal must reach only the runner, which decides when this process ends
        os.setpgid(0, 0)
    descriptor = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # prevents commands from reading the runner's messages
    os.close(null)
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(descriptor, 1024 * 1024)
        if not data:
            return 130  # the runner was killed before it had sent the whole request
        line += data
    threading.Thread(target=_end_with, args=(descriptor,), name="runner", daemon=True).start()
    return _run(json.loads(line))


def _run(request: dict[str, Any]) -> int:
    from agent_ls.cli import exec as command
    from agent_ls.cli.output import run_checked

    raise_files_limit()
    parser = argparse.ArgumentParser(prog="agent-ls")
    command.add_arguments(parser.add_subparsers(required=True).add_parser("exec"))
    options = parser.parse_args(request["arguments"])
    options.ends_at_loss = True
    if pace := request.get("pace"):
        from agent_ls.batch.pace import SharedPace

        options.middleware = SharedPace(Path(pace["file"]), int(pace["perMinute"]))
    return run_checked(lambda: command.run(options), str)


def _end_with(runner: int) -> None:
    # Read the descriptor and not a buffered file, because this thread would hold the file's lock when the
    # interpreter ends.
    while os.read(runner, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE_SECONDS)
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
