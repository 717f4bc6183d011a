"""A desktop program on a screen that nobody sees: Xvfb, keys by xdotool, windows as what it shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

DEADLINE_S = 60.0  # a desktop program on a busy machine
POLL_S = 0.1
TOOLS = ("Xvfb", "xdotool")


def missing_tools(*programs: str) -> list[str]:
    return [name for name in (*TOOLS, *programs) if not shutil.which(name)]


class VirtualScreen:
    """Runs `command` until the end of the `with` block. There is no window manager: `focus` says who gets keys."""

    def __init__(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        reading, writing = os.pipe()
        size = ["-screen", "0", "1100x700x24", "-nolisten", "tcp"]
        self._screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), *size], pass_fds=[writing], stderr=subprocess.DEVNULL
        )
        os.close(writing)
        with open(reading, "rb") as told:
            display = told.readline().decode().strip()
        self._environ = {**environ, "DISPLAY": f":{display}", "LANG": "C.UTF-8"}
        self._program = subprocess.Popen(
            command, cwd=cwd, env=self._environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def keys(self, *keys: str) -> None:
        """By xdotool's names ("Return", "ctrl+s")."""
        self._xdotool("key", *keys)

    def write(self, text: str) -> None:
        self._xdotool("type", "--delay", "20", text)

    def windows(self, title: str) -> list[str]:
        """Ids of the visible windows whose title has a match for it."""
        return self._xdotool("search", "--onlyvisible", "--name", title).split()

    def count(self, program: str) -> int:
        """How many visible windows it has, menus that are open among them."""
        return len(self._xdotool("search", "--onlyvisible", "--class", program).split())

    def focus(self, title: str) -> None:
        """Waits for the window and gives it the keys."""
        self.until(lambda: bool(self.windows(title)), f"a window {title!r}")
        self._xdotool("windowfocus", "--sync", self.windows(title)[0])

    def accept(self, title: str) -> None:
        """Waits for a dialog and says yes until it is gone: a key is lost on one that is just coming up."""
        self.focus(title)

        def is_gone() -> bool:
            if self.windows(title):
                self._xdotool("windowfocus", self.windows(title)[0], "key", "Return")
            return not self.windows(title)

        self.until(is_gone, f"the end of the dialog {title!r}")

    def until(self, condition: Callable[[], bool], waited_for: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < end, f"not within {DEADLINE_S} s: {waited_for}\n{self._titles()}"
            assert self._program.poll() is None, f"it ended before: {waited_for}"
            time.sleep(POLL_S)  # between two looks: a screen does not tell when it has changed

    def _titles(self) -> str:
        """What is shown, for a failure's message."""
        return "\n".join(self._xdotool("getwindowname", window).strip() for window in self.windows("."))

    def _xdotool(self, *arguments: str) -> str:
        done = subprocess.run(
            ["xdotool", *arguments],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for process in (self._program, self._screen):
            process.terminate()
            try:
                process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
