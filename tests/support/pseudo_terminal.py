"""Run a command of agent-ls on a pseudo-terminal: read its output and press keys. POSIX only."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tests.forking.fork_parent import take_terminal

DEADLINE_S = 240.0


class PseudoTerminal:
    """A command and its terminal. `out` redirects standard output; otherwise all three streams are the terminal."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str], out: IO[bytes] | None = None
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.printed = ""
        try:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(environ),
                stdin=theirs,
                stdout=out or theirs,
                stderr=theirs,
                start_new_session=True,
                # The terminal is the new session's own, so that Ctrl-C reaches the command.
                preexec_fn=take_terminal,
            )
        finally:
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, text: str) -> str:
        """Wait until the command prints this text; return the output since the last call up to the end of the text."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.printed:
            assert self._read(end), f"not printed: {text!r}\n{self.printed}"
        head, _, self.printed = self.printed.partition(text)
        return head + text

    def exit_code(self) -> int:
        """Read to the end of the output, and return the exit code."""
        end = time.monotonic() + DEADLINE_S
        while self._read(end):
            pass
        return self.process.wait(DEADLINE_S)

    def _read(self, end: float) -> bool:
        """Read once; return False at the end of the output or after the time limit."""
        ready, _, _ = select.select([self._ours], [], [], max(end - time.monotonic(), 0))
        try:
            data = os.read(self._ours, 65536) if ready else b""
        except OSError:  # EIO: no process has the other side open
            return False
        self.printed += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
