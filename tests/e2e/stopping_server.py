"""Run the real server and stop it right before it renames a temporary file: python -m tests.e2e.stopping_server.

The first argument is the ending of the new file name, the others are those of the server. An audit hook of the
interpreter runs before the system call; a signal from the test would arrive too early or too late.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

from agent_ls.cli.main import main

NAMING = ("os.link", "os.rename")


def stop_at(ending: str) -> None:
    is_over = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal is_over
        if is_over or event not in NAMING or not str(arguments[1]).endswith(ending):
            return
        is_over = True
        # The signal goes to this thread, so that it stops before the rename.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    sys.addaudithook(hook)


if __name__ == "__main__":
    stop_at(sys.argv.pop(1))
    sys.exit(main())
