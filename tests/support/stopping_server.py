"""The real server, which stands still right before it gives a file its name: python -m tests.support.stopping_server.

A signal from outside would come too late or too soon. The first argument is how such a file's name ends, the others are
those of the server. What the interpreter is about to do, an audit hook hears before the system does.
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
        # By its own thread, which then does not even return to what it was about to do.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    sys.addaudithook(hook)


if __name__ == "__main__":
    stop_at(sys.argv.pop(1))
    sys.exit(main())
