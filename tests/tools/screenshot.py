"""The README's picture of the Neovim plugin, drawn from what Neovim really shows: python -m tests.tools.screenshot.

It plays `agent-ls demo` up to a command that waits for approval, and writes docs/images/neovim.svg.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from agent_ls.app.sample import copy_sample_project
from tests.support import commands
from tests.support.nvim_driver import REPOSITORY, Nvim

PICTURE = REPOSITORY / "docs/images/neovim.svg"
COLUMNS, ROWS = 148, 32
CELL_WIDTH, CELL_HEIGHT, BASELINE, MARGIN = 8.4, 18, 13, 14
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

BARS = {"│": (0.45, 0.1), "┃": (0.4, 0.2), "▎": (0.0, 0.25)}
"""Drawn, not written, since a font's own leave gaps between rows: where in the cell they begin, and how wide."""

Cell: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Run:
    """Cells of one row that look alike."""

    column: int
    columns: int
    text: str
    look: Mapping[str, Any]


def svg(rows: Sequence[Sequence[Cell]], default: Mapping[str, int], title: str) -> str:
    """A picture of a screen; `default` are the colours where a cell names none."""
    width = max(map(len, rows)) * CELL_WIDTH + 2 * MARGIN
    height = len(rows) * CELL_HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{_hex(default["background"])}"/>',
        f'<g font-family="{FONT}" font-size="14" xml:space="preserve" style="white-space: pre">',
    ]
    for y, row in enumerate(rows):
        for run in _runs(row):
            parts += _drawn(run, MARGIN + y * CELL_HEIGHT, default)
    return "\n".join([*parts, "</g>", "</svg>", ""])


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
            f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{CELL_HEIGHT + 0.5:g}"'
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
    text = "".join(" " if char in BARS else char for char in run.text).rstrip()
    if words := text.lstrip():
        x = left + (len(text) - len(words)) * CELL_WIDTH
        yield (
            f'<text x="{x:g}" y="{top + BASELINE:g}" fill="{_hex(front)}" textLength="{len(words) * CELL_WIDTH:g}"'
            f"{_style(run.look)}>{escape(words)}</text>"
        )


def _style(look: Mapping[str, Any]) -> str:
    style = ' font-weight="bold"' if look.get("bold") else ""
    style += ' font-style="italic"' if look.get("italic") else ""
    return style + (' text-decoration="underline"' if look.get("underline") else "")


def _hex(colour: int) -> str:
    return f"#{colour:06x}"


def play(nvim: Nvim) -> None:
    """Up to where a change waits for review and a command for approval."""
    nvim.wait_screen("walkthrough (no model)", "-- INSERT --")
    nvim.keys("<C-s>")
    nvim.wait_screen("Make this change?")
    nvim.keys("Please note the fix in CHANGES.md.<C-s>")
    nvim.wait_screen("↪ Please note")
    nvim.keys("<M-a>")
    nvim.wait_screen("agent 1 of 1", "Run this command?", "allow once")
    nvim.keys("<Esc>")
    nvim.wait_gone("-- INSERT --")


def main() -> int:
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
            columns=COLUMNS, rows=ROWS, runtime_path=plugin, cwd=shop, env=environ, arguments=arguments
        ) as nvim:
            play(nvim)
            words = "Neovim: a change of the agent under review, and a command that waits for approval"
            picture = svg(nvim.cells(), nvim.default_colours, words)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture, encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(REPOSITORY)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
