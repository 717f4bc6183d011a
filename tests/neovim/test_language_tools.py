"""Language tools in a real Neovim, with the real server and a small language server next to it (T14, H12)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neovim.conftest import PLUGIN
from tests.support import REPOSITORY
from tests.support.loopback import Answer, AnthropicServer, Gate, ToolCall
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("T14", "H10")

SHOP = "def total\n  '😀' add total\ndef add\n"
USER = "'é😀' total; total\nadd\n"


def calls(gate: Gate) -> list[Answer]:
    return [
        [ToolCall("definition", {"file_path": "user.toy", "line": 1, "symbol": "total"})],
        [ToolCall("references", {"file_path": "shop.toy", "line": 2, "symbol": "total"})],
        [ToolCall("symbols", {"file_path": "shop.toy"}), ToolCall("symbols", {"query": "tot"})],
        [
            ToolCall("hover", {"file_path": "user.toy", "line": 1, "symbol": "total"}),
            ToolCall("implementations", {"file_path": "user.toy", "line": 1, "symbol": "total"}),
            ToolCall("call_hierarchy", {"file_path": "user.toy", "line": 1, "symbol": "total"}),
            ToolCall("code_actions", {"file_path": "shop.toy", "line": 3}),
        ],
        [
            ToolCall("definition", {"symbol": "add"}),
            ToolCall("definition", {"file_path": "plain.txt", "symbol": "x"}),
        ],
        [
            ToolCall(
                "rename_symbol", {"file_path": "shop.toy", "line": 2, "symbol": "total", "new_name": "sum"}
            )
        ],
        [ToolCall("read_file", {"file_path": "shop.toy"})],
        [
            ToolCall(
                "edit_file", {"file_path": "shop.toy", "old_string": "def add", "new_string": "def add bad"}
            )
        ],
        [gate, ToolCall("diagnostics", {"file_path": "shop.toy"})],
        [ToolCall("code_actions", {"file_path": "shop.toy", "line": 3})],
        [ToolCall("apply_code_action", {"file_path": "shop.toy", "line": 3, "title": "Correct it"})],
        "All done.",
    ]


@pytest.fixture
def gate() -> Gate:
    """A gate that pauses the script before the last call."""
    return Gate()


@pytest.fixture
def provider(gate: Gate) -> Iterator[AnthropicServer]:
    with AnthropicServer(calls(gate)) as server:
        yield server


@pytest.fixture
def nvim(project: Path, tmp_path: Path, provider: AnthropicServer) -> Iterator[Nvim]:
    (project / "shop.toy").write_text(SHOP)
    (project / "user.toy").write_text(USER)
    (project / "plain.txt").write_text("x\n")
    env = {
        "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
        "ANTHROPIC_API_KEY": "sk-test-loopback",
        "ANTHROPIC_BASE_URL": provider.base_url,
        "AGENT_LS_TRUSTED_FOLDERS": "/",
        "PYTHONPATH": str(REPOSITORY),
    }
    with Nvim(runtime_path=[PLUGIN], cwd=project, columns=120, rows=40, env=env) as nvim:
        nvim.lua(
            "vim.filetype.add({ extension = { toy = 'toy' } })\n"
            "local python, root = ...\n"
            "vim.api.nvim_create_autocmd('FileType', { pattern = 'toy', callback = function()\n"
            "  local cmd = { python, '-m', 'tests.neovim.toy_language_server' }\n"
            "  vim.lsp.start({ name = 'toy', cmd = cmd, root_dir = root })\n"
            "end })\n"
            "require('agent_ls').setup({ cmd = { python, '-m', 'agent_ls', 'serve', '--stdio' },\n"
            "  provider = 'anthropic', mode = 'edits', settings = { diagnosticsWaitMs = 60000 } })",
            sys.executable,
            str(project),
        )
        nvim.cmd("edit plain.txt")
        nvim.cmd("edit shop.toy")
        nvim.wait_for("vim.lsp.get_clients({ name = 'toy', bufnr = 0 })[1] ~= nil")
        yield nvim


def results(provider: AnthropicServer) -> list[str]:
    """Return the result of each call, as the model received it."""
    parts = [
        part
        for message in provider.requests[-1].body["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part["type"] == "tool_result"
    ]
    return [
        part["content"] if isinstance(part["content"], str) else part["content"][0]["text"] for part in parts
    ]


@pytest.mark.req("H12")
def test_language_tools_query_the_editors_language_servers_and_agent_ls_applies_the_rename(
    nvim: Nvim, project: Path, provider: AnthropicServer, gate: Gate
) -> None:
    nvim.cmd("AgentLs")
    nvim.keys("go<C-s>")
    nvim.wait_for("vim.fn.getbufline('shop.toy', 1)[1] == 'def sum'")
    nvim.wait_for("vim.diagnostic.get(vim.fn.bufnr('shop.toy'))[1] ~= nil")
    gate.open()
    nvim.wait_screen("All done.")

    outputs = iter(results(provider))
    assert next(outputs) == "shop.toy:1: def total"
    assert next(outputs).splitlines() == [
        "shop.toy:1: def total",
        "shop.toy:2: '😀' add total",
        "user.toy:1: 'é😀' total; total",
    ]
    assert next(outputs).splitlines() == ["shop.toy:", "  function total [1]", "  function add [3]"]
    assert next(outputs) == "shop.toy:1: function total"
    assert next(outputs) == "```toy\ndef total\n```\n\nThe word total."
    assert next(outputs) == "shop.toy:1: def total"
    assert next(outputs).splitlines() == [
        "shop.toy:1: file file, called on line 2",
        "user.toy:1: file file, called on line 1",
    ]
    assert next(outputs) == "The editor offers no code actions for shop.toy:3."
    assert next(outputs) == "shop.toy:3: def add"
    assert "no language server" in next(outputs)
    assert next(outputs).splitlines() == [
        "Renamed total to sum in 2 files:",
        "",
        "shop.toy:1: def sum",
        "shop.toy:2: '😀' add sum",
        "user.toy:1: 'é😀' sum; sum",
    ]
    assert [next(outputs).split(" ")[0] for _ in ("read_file", "edit_file")] == ["1", "Edited"]
    assert next(outputs) == "shop.toy:3: error: this is bad (toy)"
    assert next(outputs) == "shop.toy:3:\n  Correct it [quickfix]"
    assert next(outputs) == "Applied 'Correct it' in 1 file:\n\nshop.toy:3: def add good"

    shop = nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('shop.toy'), 0, -1, false)")
    assert shop == ["def sum", "  '😀' add sum", "def add good"]
    assert (project / "shop.toy").read_text() == SHOP, "an open file is changed in its buffer"
    assert (project / "user.toy").read_text() == "'é😀' sum; sum\nadd\n"
    assert nvim.lua("return vim.fn.bufloaded('user.toy')") == 0, (
        "a file that was only asked about is closed again"
    )
    encodings = nvim.lua(
        "return vim.tbl_map(function(c) return c.offset_encoding end, vim.lsp.get_clients())"
    )
    assert "utf-8" in encodings, json.dumps(encodings)
