"""A server of nothing but frames: it says back what it hears, and does as some words tell it. Run as a program.

Its first argument is a folder, where `PID` comes to be when it starts and `PID.ended` when its stdin has ended. Told to
say its `last`, it hears nothing more, and says it when somebody writes to the pipe `go` there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(folder: Path) -> int:
    (folder / str(os.getpid())).touch()
    incoming, output = sys.stdin.buffer, sys.stdout.buffer
    while header := incoming.readline():
        incoming.readline()
        body = incoming.read(int(header.partition(b":")[2]))
        if body == b'"exit"':
            return 0
        if body == b'"fail"':
            return 3
        if body == b'"last"':
            os.close(incoming.fileno())
            os.mkfifo(folder / "go")
            (folder / "go").read_bytes()
            output.write(b'Content-Length: 6\r\n\r\n"last"')
            output.flush()
            return 0
        for _ in range(2000 if body == b'"flood"' else 1):
            said = body.ljust(10_000) if body == b'"flood"' else body
            output.write(b"Content-Length: %d\r\n\r\n%b" % (len(said), said))
            output.flush()
    (folder / f"{os.getpid()}.ended").touch()
    return 0


if __name__ == "__main__":
    try:
        code = main(Path(sys.argv[1]))
    except BrokenPipeError:
        code = 1
    os._exit(code)  # what could not be written is nobody's
