"""A real terminal: a program in tmux, keys in, screen text out."""

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
"""A screen that has not changed for so long does not change by itself."""

_SETTINGS = """
set -g remain-on-exit on
set -s escape-time 0
set -g default-terminal tmux-256color
"""


def find_tmux() -> str:
    """The tmux on PATH, "" when there is none."""
    return shutil.which("tmux") or ""


class Terminal:
    """Runs `command`, with these variables and no others, in a terminal that ends with the `with` block."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        columns: int = 110,
        rows: int = 32,
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tmux-"))  # a socket's path must be short
        (self._folder / "settings").write_text(_SETTINGS)
        self._environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environ}
        size = ["-x", str(columns), "-y", str(rows)]
        # tmux may miss the end of a program (its status is then never told), so a shell notes it.
        self._status = self._folder / "status"
        self._status.touch()
        noted = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', str(self._status)]
        self._tmux("new-session", "-d", *size, "-c", str(cwd), *noted, *command)

    def keys(self, *keys: str) -> None:
        """Presses keys by tmux's names ("Enter", "C-s", "M-a"); all else is typed."""
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_screen(self, *texts: str) -> str:
        """Waits until all the texts are on the screen; returns it."""
        return self._wait(lambda shot: all(text in shot for text in texts), f"on screen: {texts}")

    def press(self, key: str, *texts: str) -> str:
        """Presses a key until all the texts are on the screen, as a user does who sees nothing happen: what comes right
        behind the last press is taken for a key that is held.
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
        """For what the screen does not tell."""
        return self._wait(lambda _: condition(), waited_for)

    def exit_code(self) -> int:
        """Waits until the program has ended; 128 and more: a signal ended it."""
        self._wait(lambda _: self._status.read_text().endswith("\n"), "the end of the program")
        return int(self._status.read_text())

    def _wait(self, condition: Callable[[str], bool], waited_for: str) -> str:
        end = time.monotonic() + DEADLINE_S
        while not condition(shot := self.screen()):
            assert time.monotonic() < end, f"not within {DEADLINE_S} s: {waited_for}\n{shot}"
            time.sleep(POLL_S)  # between two looks: a terminal does not tell when it has changed
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
