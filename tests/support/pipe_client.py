"""A client program as ssh or `docker exec` is one: it starts a program elsewhere and copies bytes both ways.

Killed, it leaves the program alone with the end of its input. By SIGUSR1 it cuts the connection in the middle of
what it copies just then.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

CUT_BYTES = 5_000  # how much still passes
CUT_S = 0.05  # and for how long, where nothing is copied


class _Cut:
    left = -1


def _copy(source: int, target: int) -> None:
    while data := os.read(source, 65536):
        if 0 <= _Cut.left < len(data):
            os.write(target, data[: _Cut.left])
            os._exit(1)
        if _Cut.left >= 0:
            _Cut.left -= len(data)
        while data:
            data = data[os.write(target, data) :]


def main() -> None:
    there = subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert there.stdin and there.stdout

    def cut(number: int, frame: object) -> None:
        _Cut.left = CUT_BYTES
        threading.Timer(CUT_S, os._exit, (1,)).start()

    signal.signal(signal.SIGUSR1, cut)
    threading.Thread(target=_copy, args=(there.stdout.fileno(), 1), daemon=True).start()
    try:
        _copy(0, there.stdin.fileno())
    except OSError:
        os._exit(1)
    there.stdin.close()
    os._exit(there.wait() & 0xFF)


if __name__ == "__main__":
    main()
