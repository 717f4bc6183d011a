"""Why new files are written to the disk and not by the editor: an editor that creates a file keeps its text to itself.

`CreateFile` of the protocol has no text. With a text edit behind it, the text is in an unsaved document: a command that
runs next reads an empty file, and a crash of the editor loses the text (docs/deviations.md).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import anyio
import pytest

from tests.loopback.script import Answer
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.nvim_driver import find_nvim
from tests.support.served import served

pytestmark = pytest.mark.req("H4")

DEADLINE_S = 120
CREATE_BY_EDITOR = """
local uri = vim.uri_from_fname(arg[1])
vim.lsp.util.apply_workspace_edit({
  documentChanges = {
    { kind = "create", uri = uri, options = { ignoreIfExists = false } },
    {
      textDocument = { uri = uri, version = vim.NIL },
      edits = { {
        newText = "print(1)\\n",
        range = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 0 } },
      } },
    },
  },
}, "utf-16")
local buffer = vim.fn.bufnr(arg[1])
io.write(vim.fn.getbufline(buffer, 1)[1], "|", tostring(vim.bo[buffer].modified))
"""


@pytest.mark.skipif(not find_nvim(), reason="there is no Neovim")
@pytest.mark.group("processes")
def test_a_file_that_neovim_creates_by_a_workspace_edit_is_empty_on_disk(tmp_path: Path) -> None:
    script, made = tmp_path / "create.lua", tmp_path / "made.py"
    script.write_text(CREATE_BY_EDITOR)
    done = subprocess.run(
        [find_nvim(), "--headless", "--clean", "-n", "-l", str(script), str(made)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "print(1)|true"), done.stderr
    assert made.read_bytes() == b""


@pytest.mark.parametrize("editor", ["vscode", "neovim"])
async def test_the_next_command_reads_a_new_file_although_the_editor_could_create_it(
    tmp_path: Path, editor: str
) -> None:
    script: list[Answer] = [
        [ToolCall("write_file", {"file_path": "made.py", "content": "print(1)\n"})],
        [ToolCall("shell", {"command": "cat made.py"})],
        "Done.",
    ]
    with AnthropicServer(script) as provider:
        async with (
            served(tmp_path, editor, provider=provider) as found,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(found.editor.approve_all)
            tasks.start_soon(found.editor.do_as_asked)
            session_id = await found.editor.new_session(provider="anthropic", mode="edits")
            await found.editor.submit(session_id, "go")
            await found.client.event("processing_end", reason="completed")
            asked = [
                it["params"]["edit"]
                for it in found.client.received
                if it.get("method") == "workspace/applyEdit"
            ]
            found.server.process.kill()
            tasks.cancel_scope.cancel()
    assert "print(1)" in str(provider.requests[2].body["messages"][-1])
    assert '"create"' not in str(asked)
    assert (tmp_path / "project" / "made.py").read_text() == "print(1)\n"
