"""A program that echoes LSP frames and obeys some commands in them.

Its argument is a folder. The program creates `PID` there at its start and `PID.ended` when its stdin has ended.
After the command `last` it stops reading and sends one more frame as soon as a test writes to the pipe `go` in that
folder.
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
    os._exit(code)  # skips the flush of output that nobody can read any more
