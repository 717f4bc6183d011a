"""Language tools in a real VS Code workbench: its own JavaScript server answers the model (T14)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editors import vscode_rig as vscode
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = vscode.MARKS

CART = "export function total(rows) {\n  const never = 1;\n  return rows.length;\n}\n"
SHOP = 'import { total } from "./cart.js";\n\nconsole.log("😀", total([]), total([1]));\n'
AT = {"file_path": "cart.js", "line": 1, "symbol": "total"}
MISTAKE = {"file_path": "cart.js", "old_string": "rows.length", "new_string": "nothere"}

FIX = "Remove unused declaration for: 'never'"

SCRIPT: list[Any] = [
    [
        ToolCall("definition", {"file_path": "shop.js", "line": 3, "symbol": "total"}),
        ToolCall("references", AT),
        ToolCall("symbols", {"file_path": "cart.js", "query": "total"}),
        ToolCall("hover", {"file_path": "shop.js", "line": 3, "symbol": "total"}),
        ToolCall("implementations", {"file_path": "shop.js", "line": 3, "symbol": "total"}),
        ToolCall("call_hierarchy", AT),
        ToolCall("code_actions", {"file_path": "cart.js", "line": 2, "symbol": "never"}),
    ],
    "I have looked.",
    [ToolCall("apply_code_action", {"file_path": "cart.js", "line": 2, "symbol": "never", "title": FIX})],
    "It is fixed.",
    [ToolCall("rename_symbol", {**AT, "new_name": "sumOf"})],
    [ToolCall("read_file", {"file_path": "cart.js"})],
    [ToolCall("edit_file", MISTAKE)],
    "It has another name.",
    [ToolCall("diagnostics", {"file_path": "cart.js"})],
    "I see what is wrong.",
]


@pytest.mark.req("T14", "H9", "H12")
def test_the_language_server_of_vscode_is_queried_and_agent_ls_applies_the_rename(tmp_path: Path) -> None:
    project = tmp_path / "store"
    project.mkdir()
    (project / "cart.js").write_text(CART)
    (project / "shop.js").write_text(SHOP)
    (project / "jsconfig.json").write_text('{"compilerOptions": {"checkJs": true, "module": "es2022"}}\n')
    with AnthropicServer(SCRIPT, key=vscode.KEY) as server:
        vscode.play(
            "language.mjs",
            project,
            machine=vscode.machine(server, mode="edits"),
            env=vscode.variables(tmp_path / "state", AGENT_LS_TRUSTED_FOLDERS="/"),
        )
        found = results(server)

    assert found[0] == "cart.js:1: export function total(rows) {"
    assert found[1].splitlines() == [
        "cart.js:1: export function total(rows) {",
        'shop.js:1: import { total } from "./cart.js";',
        'shop.js:3: console.log("😀", total([]), total([1]));',
    ]
    assert found[2].splitlines() == ["cart.js:", "  function total [1-4]"]
    assert "total(rows: any): any" in found[3]
    assert found[4] == "cart.js:1: export function total(rows) {"
    assert found[5].startswith("shop.js:1: ") and found[5].endswith("called on line 3")
    assert FIX in found[6] and "agent" not in found[6]
    assert found[7].startswith(f"Applied {FIX!r} in 1 file:") or found[7].startswith(
        f'Applied "{FIX}" in 1 file:'
    )
    assert found[8].startswith(
        "Renamed total to sumOf in 2 files:\n\ncart.js:1: export function sumOf(rows) {"
    )
    assert "cart.js:2: error: Cannot find name 'nothere'. (ts 2304)" in found[11].splitlines()
    assert (project / "cart.js").read_text() == CART
    assert (project / "shop.js").read_text() in (SHOP, SHOP.replace("total", "sumOf"))


def results(server: AnthropicServer) -> list[str]:
    """Return the result of each call, as the model received it."""
    parts = [part for message in server.requests[-1].body["messages"] for part in message["content"]]
    found = [part["content"] for part in parts if isinstance(part, dict) and part["type"] == "tool_result"]
    return [content if isinstance(content, str) else content[0]["text"] for content in found]
