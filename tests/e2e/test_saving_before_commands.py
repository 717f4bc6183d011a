"""Unsaved text of a file that a command will read: the server saves or reports it, as the setting says (H8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.editor import Editor
from tests.support.framed_client import server_process
from tests.support.loopback import AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H8", "H17")

CALLS = [[ToolCall("shell", {"command": "cat a.py"})]] * 2


@pytest.mark.parametrize(
    ("policy", "answer", "read", "questions"),
    [
        ("auto", None, "# mine\nold\n", 0),
        ("ask", "Save", "# mine\nold\n", 1),
        ("ask", "Leave Unsaved", "old\n", 1),
        ("ask", None, "old\n", 1),
        ("agent", "Save", "old\n", 0),
    ],
)
async def test_a_command_reads_saved_or_unsaved_text_as_the_save_setting_selects(
    tmp_path: Path, policy: str, answer: str | None, read: str, questions: int
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("old\n")
    asked: list[Any] = []

    async def choose(params: Any) -> Any:
        asked.append(params)
        return {"title": answer} if answer else None

    with AnthropicServer([*CALLS, "Done."]) as provider:
        env = {
            "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
            "ANTHROPIC_API_KEY": "sk-test-loopback",
            "ANTHROPIC_BASE_URL": provider.base_url,
        }
        async with server_process(env=env) as server, anyio.create_task_group() as tasks:
            editor = Editor(server.client)
            server.client.handlers["window/showMessageRequest"] = choose
            await editor.start(project, save=policy)
            await editor.open(project / "a.py")
            await editor.type(project / "a.py", 0, "# mine\n")
            tasks.start_soon(editor.do_as_asked)
            session_id = await editor.new_session(provider="anthropic")
            await editor.submit(session_id, "go")
            ended = (await server.client.event("tool_call_end"))["data"]
            await server.client.event("processing_end", reason="completed")
            tasks.cancel_scope.cancel()

    assert ended["output"].startswith(read) and len(asked) == questions
    assert ("unsaved changes" in ended["output"]) == (read == "old\n")
