"""Tests of how VS Code displays a session: conversation, costs, and comparisons of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors import vscode_rig as vscode
from tests.editors.test_vscode import STOCK, shell
from tests.editors.test_vscode_faults import edit, read
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS

ANSWER = """| file | what it is for | share |
| --- | --- | --- |
| `store/_connection.py` | acknowledgements of every supplier that delivers parts to the store | 24/7 |
| `store/_transformation.py` | representation of quantities, in pieces and in boxes | line/s |

- [x] read the functions
- [ ] change them

See [its two functions](stock.py#L4-L5) and `stock.py:12`.

```diff
-old line
+new line
```
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    project = tmp_path / "store"
    project.mkdir()
    (project / "stock.py").write_text(STOCK)
    (project / "parts.txt").write_text("bolt\nnut\n")
    return project


@pytest.mark.req("H9", "H7")
def test_commands_answers_and_costs_are_rendered_readably_in_the_chat(store: Path, tmp_path: Path) -> None:
    script: list[Any] = [
        ANSWER,
        [shell("mv parts.txt bolts.txt && echo the old name")],
        "It is moved.",
        [shell("rm bolts.txt"), shell("rm nuts.txt")],
        "They stay.",
    ]
    state = tmp_path / "state"

    def questions() -> int:
        """Return how many approvals were requested so far."""
        return sum(path.read_text().count('"approval_requested"') for path in state.rglob("*.jsonl"))

    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "surface.mjs",
            store,
            machine=vscode.machine(server),
            env=vscode.variables(state),
            answers={"questions": questions},
        )

    assert (store / "nuts.txt").exists() and not (store / "bolts.txt").exists()


@pytest.mark.req("H6", "H9")
def test_no_change_decoration_is_drawn_in_a_diff_editor(store: Path, tmp_path: Path) -> None:
    count = edit("    return sum(list(stock.values()))", "    return sum(stock.values())")
    new = ToolCall("write_file", {"file_path": "test_stock.py", "content": "def test():\n    assert True\n"})
    script: list[Any] = [read(), count, [new], [shell("rm parts.txt")], "Three files are changed."]
    with AnthropicServer(script, key=vscode.KEY) as server:
        vscode.play(
            "diffs.mjs",
            store,
            machine=vscode.machine(server, mode="full"),
            env=vscode.variables(tmp_path / "state"),
        )
