"""A desktop program on a virtual screen: Xvfb for the display, xdotool for keys and windows."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

DEADLINE_S = 60.0  # enough for a desktop program on a busy machine
POLL_S = 0.1
TOOLS = ("Xvfb", "xdotool")


def missing_tools(*programs: str) -> list[str]:
    return [name for name in (*TOOLS, *programs) if not shutil.which(name)]


class VirtualScreen:
    """Run `command` on a virtual screen until the end of the `with` block.

    There is no window manager, so `focus` selects the window for keys.
    """

    def __init__(self, command: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> None:
        reading, writing = os.pipe()
        size = ["-screen", "0", "1100x700x24", "-nolisten", "tcp"]
        self._screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), *size], pass_fds=[writing], stderr=subprocess.DEVNULL
        )
        os.close(writing)
        with open(reading, "rb") as file:
            display = file.readline().decode().strip()
        self._environ = {**environ, "DISPLAY": f":{display}", "LANG": "C.UTF-8"}
        self._program = subprocess.Popen(
            command, cwd=cwd, env=self._environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def keys(self, *keys: str) -> None:
        """Press keys by xdotool's names ("Return", "ctrl+s")."""
        self._xdotool("key", *keys)

    def write(self, text: str) -> None:
        self._xdotool("type", "--delay", "20", text)

    def windows(self, title: str) -> list[str]:
        """Return the ids of the visible windows whose title matches."""
        return self._xdotool("search", "--onlyvisible", "--name", title).split()

    def count(self, program: str) -> int:
        """Return the number of the program's visible windows, including open menus."""
        return len(self._xdotool("search", "--onlyvisible", "--class", program).split())

    def focus(self, title: str) -> None:
        """Wait for the window and give it the keyboard focus."""
        self.until(lambda: bool(self.windows(title)), f"a window {title!r}")
        self._xdotool("windowfocus", "--sync", self.windows(title)[0])

    def accept(self, title: str) -> None:
        """Wait for a dialog and confirm it until it has closed, because a key may be lost while it opens."""
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
            time.sleep(POLL_S)  # the interval between two checks, because a screen does not report changes

    def _titles(self) -> str:
        """Return the titles on the screen, for a failure message."""
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
