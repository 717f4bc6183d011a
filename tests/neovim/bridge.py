"""Connect the pipes of this program with a socket on which the test is the server: python bridge.py SOCKET."""

from __future__ import annotations

import os
import socket
import sys
import threading


def bridge(path: str) -> int:
    """Copy data between Neovim's pipes and the test's socket.

    Returns 3 when the test closes the connection; exits with 0 when Neovim closes its pipe.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)

    def to_test() -> None:
        while data := os.read(0, 1 << 16):
            connection.sendall(data)
        os._exit(0)

    threading.Thread(target=to_test, daemon=True).start()
    while data := connection.recv(1 << 16):
        while data:
            data = data[os.write(1, data) :]
    return 3


if __name__ == "__main__":
    os._exit(bridge(sys.argv[1]))
