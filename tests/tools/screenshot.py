"""Draw pictures of the Neovim plugin from the screen of a real Neovim: python -m tests.tools.screenshot.

It plays `agent-ls demo` twice: up to a command that waits for approval, for docs/images/neovim.svg, and from the prompt
to the last change kept, for the recording docs/images/neovim-demo.svg.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from agent_ls.cli.sample import copy_sample_project
from tests.support import REPOSITORY, commands
from tests.support.nvim_driver import Nvim

PICTURE = REPOSITORY / "docs/images/neovim.svg"
RECORDING = REPOSITORY / "docs/images/neovim-demo.svg"
COLUMNS, ROWS = 148, 32
STREAMED_S, LOOKED_AT_S = 0.4, 2.5
"""How long the recording shows a screen that changes while the model writes, and one that waits for the user."""
STILL_S = 2.0
"""Seconds without a change after which a key is pressed again."""
CELL_WIDTH, CELL_HEIGHT, BASELINE, MARGIN = 8.4, 18, 13, 14
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

BARS = {"│": (0.45, 0.1), "┃": (0.4, 0.2), "▎": (0.0, 0.25)}
"""Drawn, not written, since a font's own leave gaps between rows: where in the cell they begin, and how wide."""

_WORDS = re.compile(r"\S+(?: \S+)*")

Cell: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Run:
    """Adjacent cells of one row with the same highlight."""

    column: int
    columns: int
    text: str
    look: Mapping[str, Any]


@dataclass(frozen=True)
class Frame:
    """A screen of a recording, and how long it is shown."""

    rows: Sequence[Sequence[Cell]]
    seconds: float


def svg(rows: Sequence[Sequence[Cell]], default: Mapping[str, int], title: str) -> str:
    """Return a picture of a screen. `default` has the colours of cells without a highlight."""
    return _document(rows, default, title, _screen(rows, default))


def animated_svg(frames: Sequence[Frame], default: Mapping[str, int], title: str) -> str:
    """Return a picture that shows the screens in turn, or only the last one if the reader prefers reduced motion."""
    total = sum(frame.seconds for frame in frames)
    styles, parts, begin = [], [], 0.0
    for i, frame in enumerate(frames):
        end = begin + frame.seconds
        hidden = "0%{visibility:hidden}" if begin else ""
        styles.append(
            f"@keyframes f{i}{{{hidden}{100 * begin / total:.2f}%{{visibility:visible}}"
            f"{100 * end / total:.2f}%{{visibility:{'hidden' if end < total else 'visible'}}}}}"
            f"#f{i}{{animation:f{i} {total:g}s step-end infinite}}"
        )
        parts += [f'<g id="f{i}" class="frame">', *_screen(frame.rows, default), "</g>"]
        begin = end
    still = f".frame{{animation:none!important;visibility:hidden}}#f{len(frames) - 1}{{visibility:visible}}"
    style = "\n".join([*styles, f"@media (prefers-reduced-motion:reduce){{{still}}}"])
    return _document(frames[0].rows, default, title, [f"<style>{style}</style>", *parts])


def _document(
    rows: Sequence[Sequence[Cell]], default: Mapping[str, int], title: str, parts: Iterable[str]
) -> str:
    width = max(map(len, rows)) * CELL_WIDTH + 2 * MARGIN
    height = len(rows) * CELL_HEIGHT + 2 * MARGIN
    begin = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{_hex(default["background"])}"/>',
        f'<g font-family="{FONT}" font-size="14">',
    ]
    return "\n".join([*begin, *parts, "</g>", "</svg>", ""])


def _screen(rows: Sequence[Sequence[Cell]], default: Mapping[str, int]) -> Iterator[str]:
    for y, row in enumerate(rows):
        for run in _runs(row):
            yield from _drawn(run, MARGIN + y * CELL_HEIGHT, default)


def _runs(row: Sequence[Cell]) -> Iterator[Run]:
    column = 0
    for look, cells in groupby(row, key=lambda cell: cell[1]):
        texts = [text for text, _ in cells]
        yield Run(column, len(texts), "".join(texts), look)
        column += len(texts)


def _drawn(run: Run, top: float, default: Mapping[str, int]) -> Iterator[str]:
    colours = {**default, **run.look}
    front, back = colours["foreground"], colours["background"]
    if run.look.get("reverse"):
        front, back = back, front
    left, width = MARGIN + run.column * CELL_WIDTH, run.columns * CELL_WIDTH
    if back != default["background"]:
        # Half a pixel more: two neighbours must not show a line between them.
        yield (
            f'<rect x="{left:g}" y="{top:g}" width="{width + 0.5:g}" height="{CELL_HEIGHT + 0.5:g}"'
            f' fill="{_hex(back)}"/>'
        )
    for i, char in enumerate(run.text):
        if char in BARS:
            begin, share = BARS[char]
            x = left + (i + begin) * CELL_WIDTH
            yield (
                f'<rect x="{x:g}" y="{top:g}" width="{share * CELL_WIDTH:g}" height="{CELL_HEIGHT + 0.5:g}"'
                f' fill="{_hex(front)}"/>'
            )
    text = "".join(" " if char in BARS else char for char in run.text)
    # Viewers differ in whether they keep several spaces in a row.
    for words in _WORDS.finditer(text):
        x, columns = left + words.start() * CELL_WIDTH, len(words[0])
        yield (
            f'<text x="{x:g}" y="{top + BASELINE:g}" fill="{_hex(front)}" textLength="{columns * CELL_WIDTH:g}"'
            f"{_style(run.look)}>{escape(words[0])}</text>"
        )


def _style(look: Mapping[str, Any]) -> str:
    style = ' font-weight="bold"' if look.get("bold") else ""
    style += ' font-style="italic"' if look.get("italic") else ""
    return style + (' text-decoration="underline"' if look.get("underline") else "")


def _hex(colour: int) -> str:
    return f"#{colour:06x}"


def play(nvim: Nvim) -> None:
    """Run the demo until a change waits for review and a command for approval."""
    nvim.wait_screen("walkthrough (no model)", "-- INSERT --")
    nvim.keys("<C-s>")
    nvim.wait_screen("Make this change?")
    nvim.keys("Please note the fix in CHANGES.md.<C-s>")
    nvim.wait_screen("↪ Please note")
    nvim.keys("<M-a>")
    nvim.wait_screen("agent 1 of 1", "Run this command?", "allow once")
    nvim.keys("<Esc>")
    nvim.wait_gone("-- INSERT --")


class Recorder:
    """Control a Neovim and record its screens."""

    def __init__(self, nvim: Nvim) -> None:
        self.nvim = nvim
        self.frames: list[Frame] = []
        self._last = 0.0

    def until(self, *texts: str, key: str = "", gone: str = "", seconds: float = LOOKED_AT_S) -> None:
        """Wait until `texts` are on the screen and `gone` is not. Record changed screens, and the last one for longer.

        `key` is pressed again while nothing changes: a press right after the last one would count as a held key.
        """
        before, since = "", 0.0

        def is_there() -> bool:
            nonlocal before, since
            screen, now = self.nvim.screen(), time.monotonic()
            if all(text in screen for text in texts) and not (gone and gone in screen):
                return True
            self._keep(STREAMED_S)
            if screen != before:
                before, since = screen, now
            elif key and now - since > STILL_S:
                self.nvim.keys(key)
                since = now
            return False

        if key:
            self.nvim.keys(key)
        self.nvim.wait_until(is_there, f"on screen: {texts}, gone: {gone!r}")
        self._keep(seconds)

    def _keep(self, seconds: float) -> None:
        rows, now = self.nvim.cells(), time.monotonic()
        is_new = not self.frames or rows != self.frames[-1].rows
        if seconds == STREAMED_S and (now - self._last < STREAMED_S or not is_new):
            return
        if not is_new:
            self.frames.pop()
        self.frames.append(Frame(rows, seconds))
        self._last = now


def record(nvim: Nvim) -> list[Frame]:
    """Record the demo from the prompt to the last accepted change."""
    recorder = Recorder(nvim)
    recorder.until("walkthrough (no model)", "-- INSERT --", "Find out why")
    recorder.until("Make this change?", "allow once", key="<C-s>")
    recorder.until("agent 1 of 1", "Run this command?", "allow once", key="<M-a>")
    recorder.until("One test is left", "Make this change?", "allow once", key="<M-a>")
    recorder.until("agent 1 of 2", "Run this command?", "allow once", key="<M-a>")
    recorder.until("All tests pass.", "idle", key="<M-a>", seconds=2 * LOOKED_AT_S)
    nvim.keys("<Esc>")
    nvim.cmd("wincmd t")
    recorder.until("agent 1 of 2", key="gg]h", gone="-- INSERT --")
    recorder.until("agent 1 of 1", key=" ak", gone="agent 1 of 2")
    recorder.until("2 kept", key="gg]h ak", gone="agent 1 of 1", seconds=2 * LOOKED_AT_S)
    return recorder.frames


@contextmanager
def demo(columns: int, rows: int) -> Iterator[Nvim]:
    """Start Neovim as `agent-ls demo` does, on a copy of the sample project."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shop = copy_sample_project(home / "shop")
        environ = commands.environment(home, AGENT_LS_COMMAND=sys.executable)
        arguments = [
            "--cmd",
            "let mapleader=' '",
            "-c",
            "lua require('agent_ls.demo').start()",
            "shop/cart.py",
        ]
        plugin = [REPOSITORY / "editors/nvim"]
        with Nvim(
            columns=columns, rows=rows, runtime_path=plugin, cwd=shop, env=environ, arguments=arguments
        ) as nvim:
            yield nvim


def main() -> int:
    with demo(COLUMNS, ROWS) as nvim:
        play(nvim)
        words = "Neovim: a change of the agent under review, and a command that waits for approval"
        PICTURE.write_text(svg(nvim.cells(), nvim.default_colours, words), encoding="utf-8")
    with demo(COLUMNS, ROWS) as nvim:
        words = "Neovim: a prompt, two changes and a command that wait for approval, and the changes kept in the file"
        RECORDING.write_text(animated_svg(record(nvim), nvim.default_colours, words), encoding="utf-8")
    for path in (PICTURE, RECORDING):
        print(f"wrote {path.relative_to(REPOSITORY)}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
