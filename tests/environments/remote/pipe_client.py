"""A client program like ssh or `docker exec`: it starts a program and copies bytes in both directions.

When this client is killed, the input of the program ends. On SIGUSR1 it cuts the connection in the middle of the
bytes that it copies.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

CUT_BYTES = 5_000  # bytes that are still copied after the signal
CUT_S = 0.05  # time to wait if nothing is being copied


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
