"""Questions and their keys are readable in the colour schemes that Neovim brings, dark and light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.neovim.test_screens import asking

SCHEMES = [
    "default dark",
    "default light",
    "habamax dark",
    "lunaperche light",
    "morning light",
    "quiet light",
]
READABLE = 2.5


@pytest.mark.report("neovim/neovim#26037")
@pytest.mark.req("H10")
@pytest.mark.parametrize("look", SCHEMES)
def test_a_question_and_its_keys_are_readable(server: StandIn, start_nvim: StartNvim, look: str) -> None:
    scheme, background = look.split()
    nvim = start_nvim("one.txt")
    panel = Panel(nvim, server)
    panel.open()
    nvim.cmd("set termguicolors")
    for later in ("default", scheme):  # another one before: what its colours decided must not remain
        nvim.cmd(f"set background={background} | colorscheme {later} | set background={background}")
    nvim.keys("<Esc>")
    asking(panel)
    nvim.wait_screen("Run this command?", "allow once", "<M-a>")

    rows = ["".join(text for text, _ in row) for row in nvim.cells()]
    for words in ("Run this command?", "allow once", "<M-a>", "waiting for you", "3 failed"):
        [number] = [number for number, row in enumerate(rows) if words in row]
        begin = rows[number].index(words)
        for text, colours in nvim.cells()[number][begin : begin + len(words)]:
            ratio = contrast({**nvim.default_colours, **colours})
            assert text == " " or ratio >= READABLE, (words, text, colours, ratio)


def contrast(look: Mapping[str, Any]) -> float:
    """Return the ratio of contrast of a cell, as WCAG computes it."""
    one, other = sorted(luminance(look[name]) for name in ("foreground", "background"))
    return (other + 0.05) / (one + 0.05)


def luminance(colour: int) -> float:
    shares = [(colour >> shift & 255) / 255 for shift in (16, 8, 0)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
