"""The sessions of subagents fit the schema of the official TypeScript SDK, which its Python SDK does not know yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.acp.test_subagents import TOUCH, following, script
from tests.editors.acp_rig import RIG, missing_rig
from tests.support.loopback import AnthropicServer

SCHEMA = RIG / "node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json"


@pytest.mark.req("H13")
@pytest.mark.skipif(bool(missing_rig()), reason=missing_rig() or "-")
async def test_the_updates_of_a_subagent_fit_the_schema_of_the_official_sdk(tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text())
    valid = Draft202012Validator({"$ref": "#/$defs/SessionNotification", "$defs": schema["$defs"]})
    with AnthropicServer(script([TOUCH], "There is one.")) as server:
        async with following(tmp_path, server) as client:
            session_id = await client.new_session()
            await client.request("session/set_mode", sessionId=session_id, modeId="ask")
            await client.prompt(session_id)
            sent = [
                it["params"] for way, it in client.wire if way == "<" and it.get("method") == "session/update"
            ]
    kinds = {it["update"]["sessionUpdate"] for it in sent}
    assert {"subagent_update", "session_message", "tool_call"} <= kinds
    assert [error.message for it in sent for error in valid.iter_errors(it)] == []
