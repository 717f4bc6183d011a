"""A client steers and stops one subagent by its id; the turn goes on (H2, A1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from tests.support.editor import text_input
from tests.support.loopback import Answer, AnthropicServer, Gate, ToolCall
from tests.support.served import served_session


@pytest.mark.req("H2", "A1")
async def test_one_subagent_is_steered_and_stopped(tmp_path: Path) -> None:
    gate = Gate()
    asked: list[str] = []

    def answer(body: Mapping[str, Any]) -> Answer:
        said = str(body["messages"])
        if "The task:" in said:
            return [gate]
        asked.append(said)
        first: Answer = [ToolCall("spawn_agent", {"task": "look"})]
        return first if len(asked) == 1 else "The rest is done."

    with AnthropicServer(answer) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            await anyio.to_thread.run_sync(gate.wait_reached)
            started = await found.client.event("subagent", status="running")
            agent_id = started["data"]["agentId"]
            steered = await found.change("steer", session_id, input=text_input("hurry"), agentId=agent_id)
            assert steered["steerId"]
            assert await found.ask("interrupt", session_id, agentId=agent_id) == {}
            await found.client.event("subagent", status="failed", reason="stopped")
            await found.client.event("processing_end", reason="completed")
            for request, more in (
                ("interrupt", {}),
                ("steer", {"input": text_input("x")}),
            ):
                refused = await found.refused(request, session_id, agentId=agent_id, **more)
                assert refused.data["kind"] == "nothing_pending"
        gate.open()
    assert "stopped" in asked[-1]
