"""Snapshots of whole screens of the plugin at two sizes. AGENT_LS_UPDATE_SNAPSHOTS=1 writes them again.

A screen is compared as soon as it contains the words given for its state. It must not contain a running timer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.neovim.conftest import Panel, StartNvim
from tests.neovim.stand_in_server import StandIn
from tests.support.nvim_driver import Nvim
from tests.support.snapshots import check_snapshot

KEPT = Path(__file__).parent / "screens"
TRANSCRIPT = "require('agent_ls.chat.transcript')"
SIZES = [(80, 24), (200, 50)]

DIFF = (
    "@@ -1,4 +1,4 @@\n def total(prices):\n     amount = sum(prices)\n"
    "-    return amount\n+    return round(amount, 2)\n"
)
ANSWER = """# What I found

The sum is **not rounded**: see [the docs](https://example.org/round).

| case | before | after |
| --- | --- | --- |
| three prices | 0.30000000000000004 | 0.3 |
| none | 0 | 0 |

- [x] round the sum
- [ ] round the discount

```lua
local total = round(sum, 2) -- two digits
```"""


def working(panel: Panel) -> None:
    """Emit read-only calls, a change with its decision, and a failed command."""
    server = panel.server
    server.emit("user_input", {"text": "Prices have too many digits. Fix that, please."})
    for number, name in enumerate(("cart.py", "tests/test_cart.py", "README.md")):
        panel.call(f"r{number}", "read_file", name)
        panel.call_end(f"r{number}", "read_file", summary="12 lines")
    panel.say("I round the sum.", "p1")
    panel.call("e1", "edit_file", "cart.py", '{"file_path": "cart.py"}')
    change = {"callId": "e1", "path": "/w/cart.py", "uri": "file:///w/cart.py", "action": "modify"}
    server.emit("file_change", change | {"added": 1, "removed": 1, "diff": DIFF, "hunks": []})
    panel.call_end("e1", "edit_file", summary="1 replacement")
    panel.call("s1", "shell", "python -m pytest -q")
    panel.call_end("s1", "shell", summary="exit 1: 3 failed", isError=True, exitCode=1, durationMs=2100)


def asking(panel: Panel) -> None:
    working(panel)
    panel.call("c1", "shell", "make test")
    rules = [
        {"id": "r1", "label": "Allow `make test`", "scope": "session"},
        {"id": "r2", "label": "Allow `make` with any target", "scope": "session"},
    ]
    panel.ask(command="make test TARGET='unit tests' && echo done", rules=rules)


def answered(panel: Panel) -> None:
    panel.server.emit("user_input", {"text": "Why are there so many digits?"})
    panel.say(ANSWER, "p2")


def failed(panel: Panel) -> None:
    panel.server.emit("user_input", {"text": "Go on."})
    error = {"message": "Anthropic refused the key.", "errorKind": "authentication", "action": "setKey"}
    panel.server.emit("error", error | {"hint": "Check ANTHROPIC_API_KEY."})


STATES: dict[str, tuple[Callable[[Panel], None], Sequence[str]]] = {
    "empty": (lambda _: None, ("What should change?",)),
    "working": (working, ("3 failed",)),
    "asking": (asking, ("Run this command?", "c change")),
    "answered": (answered, ("two digits", "☐")),
    "failed": (failed, ("set a key…",)),
}


def shown(nvim: Nvim) -> str:
    """Return the screen without dates and times."""
    return re.sub(r"\d\d-\d\d \d\d:\d\d", "MM-DD hh:mm", nvim.screen()) + "\n"


@pytest.mark.req("H10")
@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("name", STATES)
def test_each_screen_equals_its_snapshot(
    server: StandIn, start_nvim: StartNvim, name: str, columns: int, rows: int
) -> None:
    play, known_by = STATES[name]
    nvim = start_nvim("one.txt", columns=columns, rows=rows)
    panel = Panel(nvim, server)
    panel.open()
    nvim.keys("<Esc>")

    play(panel)

    nvim.wait_screen(*known_by)
    step_by_step = nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()"))
    nvim.lua(f"{TRANSCRIPT}.configure({{ keys = vim.deepcopy(require('agent_ls.config').options.keymaps) }})")
    assert nvim.lines(nvim.lua(f"return {TRANSCRIPT}.buffer()")) == step_by_step, "drawn at once it differs"
    # The panel is opened again, because its scroll position depends on the number of drawn frames.
    nvim.lua("local view = require('agent_ls.chat.view') view.close() view.open() view.draw()")
    nvim.wait_mode("i")
    nvim.wait_screen(*known_by)
    check_snapshot(KEPT / f"{name}-{columns}x{rows}.txt", shown(nvim))
