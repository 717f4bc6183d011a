"""A real terminal: a program in tmux, driven by keys and read as screen text."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

DEADLINE_S = 30.0
POLL_S = 0.05
STILL_S = 2.0
"""Seconds without a change after which the screen counts as final."""

_SETTINGS = """
set -g remain-on-exit on
set -s escape-time 0
set -g default-terminal tmux-256color
"""


def find_tmux() -> str:
    """Return the tmux on PATH; "" if there is none."""
    return shutil.which("tmux") or ""


class Terminal:
    """Runs `command`, with exactly these variables, in a terminal that ends with the `with` block."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        columns: int = 110,
        rows: int = 32,
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tmux-"))  # a socket path must be short
        (self._folder / "settings").write_text(_SETTINGS)
        self._environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environ}
        size = ["-x", str(columns), "-y", str(rows)]
        # tmux may miss the end of a program and never report its status, so a shell writes it to a file
        self._status = self._folder / "status"
        self._status.touch()
        noted = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', str(self._status)]
        self._tmux("new-session", "-d", *size, "-c", str(cwd), *noted, *command)

    def keys(self, *keys: str) -> None:
        """Press keys by tmux's names ("Enter", "C-s", "M-a"); other texts are typed."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_screen(self, *texts: str) -> str:
        """Wait until all texts are on the screen; return it."""
        return self._wait(lambda shot: all(text in shot for text in texts), f"on screen: {texts}")

    def press(self, key: str, *texts: str) -> str:
        """Press a key until all texts are on the screen, as a user does when nothing happens.

        Waits between two presses, because presses in quick succession would count as a held key.
        """
        still_since, before = 0.0, ""

        def look(shot: str) -> bool:
            nonlocal still_since, before
            if all(text in shot for text in texts):
                return True
            now = time.monotonic()
            if not before or now - still_since > STILL_S:
                self.keys(key)
            if shot != before or now - still_since > STILL_S:
                still_since, before = now, shot
            return False

        return self._wait(look, f"on screen after {key}: {texts}")

    def wait_gone(self, text: str) -> str:
        return self._wait(lambda shot: text not in shot, f"gone from the screen: {text!r}")

    def wait_until(self, condition: Callable[[], bool], waited_for: str) -> str:
        """Wait for a condition that is not visible on the screen."""
        return self._wait(lambda _: condition(), waited_for)

    def exit_code(self) -> int:
        """Wait until the program has ended; codes from 128 on mean a signal."""
        self._wait(lambda _: self._status.read_text().endswith("\n"), "the end of the program")
        return int(self._status.read_text())

    def _wait(self, condition: Callable[[str], bool], waited_for: str) -> str:
        end = time.monotonic() + DEADLINE_S
        while not condition(shot := self.screen()):
            assert time.monotonic() < end, f"not within {DEADLINE_S} s: {waited_for}\n{shot}"
            time.sleep(POLL_S)  # the interval between two checks, because a terminal does not report changes
        return shot

    def _tmux(self, *arguments: str) -> str:
        own = ["-f", str(self._folder / "settings"), "-S", str(self._folder / "socket")]
        done = subprocess.run(
            [find_tmux(), *own, *arguments], env=self._environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"tmux {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)
