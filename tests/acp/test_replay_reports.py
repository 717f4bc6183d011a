"""Clients of ACP in public reports: their answers to permissions, replays and unsaved texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import Message, acp_client, acp_session
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

TOUCH = ToolCall("shell", {"command": "touch made"})


@pytest.mark.report("openabdev/openab#130")
async def test_an_answer_without_an_outcome_allows_nothing(project: Path) -> None:
    async def flat(params: Message) -> Message:
        return {"optionId": next(it["optionId"] for it in params["options"] if it["kind"] == "allow_always")}

    with AnthropicServer([[TOUCH], "One.", "Two."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.on["session/request_permission"] = flat
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            assert not (project / "made").exists()
            assert client.call("touch made")["status"] == "failed"
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report("zed-industries/codex-acp#191")  # fmt: skip
async def test_a_command_looks_the_same_when_its_session_is_loaded(project: Path) -> None:
    with AnthropicServer([[TOUCH], "One."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id)
            live = client.call("touch made")
        async with acp_client(project, server) as client:
            await client.initialize()
            await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            again = client.call("touch made")
    seen = ("title", "kind", "status")
    assert [again[it] for it in seen] == [live[it] for it in seen] and live["kind"] == "execute"


@pytest.mark.report("stefandevo/glm-acp-agent#108")  # fmt: skip
async def test_unsaved_text_of_a_client_that_cannot_write_does_not_reach_the_disk(project: Path) -> None:
    async def read(params: Message) -> Message:
        return {"content": "unsaved\nx = 1\n"}

    (project / "a.py").write_text("x = 1\n")
    edit = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
    with AnthropicServer([[ToolCall("read_file", {"file_path": "a.py"})], [edit], "Done."]) as server:
        async with acp_client(project, server, permission="allow_always") as client:
            client.on["fs/read_text_file"] = read
            await client.initialize(capabilities={"fs": {"readTextFile": True, "writeTextFile": False}})
            assert await client.prompt(await client.new_session()) == "end_turn"
            assert "unsaved" not in (project / "a.py").read_text()
            (result,) = server.requests[-1].body["messages"][-1]["content"]
            assert result["is_error"] and "unsaved changes" in result["content"]


ANSWERS: list[Any] = [
    reported(
        "echoVic/orca-agent#76",
        {"outcome": "cancelled"},
        "without an answer",
    ),
    reported(
        "kurrent-io/kcap-cli#879",
        {"outcome": "selected", "optionId": "allow-always-x"},
        "does not understand",
    ),
]


@pytest.mark.parametrize(("outcome", "reason"), ANSWERS)
async def test_an_answer_that_allows_nothing_is_told_from_a_refusal(
    project: Path, outcome: Message, reason: str
) -> None:
    async def decide(params: Message) -> Message:
        return {"outcome": outcome}

    with AnthropicServer([[TOUCH], "One.", "Two."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = decide
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "end_turn"
            (result,) = server.requests[-1].body["messages"][-1]["content"]
            assert reason in result["content"] and not (project / "made").exists()
            assert await client.prompt(session_id) == "end_turn"
