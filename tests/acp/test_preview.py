"""The preview of version 2: only where the client asks and the option allows; each message fits the draft schema."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent_ls.acp.diffs import PART
from agent_ls.acp.preview import stable_initialize, wants_preview
from agent_ls.acp.preview_wire import PreviewCalls
from tests.acp.client import AcpClient, Message, acp_client
from tests.support import REPOSITORY
from tests.support.loopback import AnthropicServer, ErrorReply, Gate, Text, ToolCall

RIG = Path(os.environ.get("AGENT_LS_ACP_RIG") or REPOSITORY / ".tools" / "acp")
SCHEMA = RIG / "node_modules/@agentclientprotocol/sdk/schema/v2/schema.json"
"""The draft schema of the official SDK, if `make test-editors` has fetched it; else messages are not validated."""

EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
READ = ToolCall("read_file", {"file_path": "a.py"})
RESULTS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/prompt": "PromptResponse",
    "session/list": "ListSessionsResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/close": "CloseSessionResponse",
}
PARAMS = {
    "session/update": "UpdateSessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
}


@cache
def validator(name: str) -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


class PreviewCheck:
    """Validates the messages of the agent. Takes the place of the checks for version 1."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._asked: dict[Any, str] = {}

    def sent(self, message: Message) -> None:
        if "method" in message and "id" in message:
            self._asked[message["id"]] = message["method"]

    def received(self, message: Message) -> None:
        method = message.get("method")
        name = PARAMS.get(method or "") if method else RESULTS.get(self._asked.get(message.get("id"), ""))
        value = message.get("params") if method else message.get("result")
        if name and value is not None and SCHEMA.exists():
            self.problems += [f"{name}: {it.message[:300]}" for it in validator(name).iter_errors(value)]


@asynccontextmanager
async def preview_client(
    project: Path, server: Any, *arguments: str, **more: Any
) -> AsyncIterator[AcpClient]:
    chosen = arguments or ("--preview-v2",)
    async with acp_client(project, server, arguments=chosen, is_schema_checked=False, **more) as client:
        client.order = PreviewCheck()  # type: ignore[assignment]
        yield client


async def initialize(client: AcpClient, **capabilities: Any) -> Message:
    info = {"name": "peer", "version": "1"}
    result: Message = await client.request(
        "initialize", protocolVersion=2, info=info, capabilities=capabilities
    )
    return result


def states(client: AcpClient) -> list[str]:
    return [update["state"] for update in client.of_kind("state_update")]


async def until_idle(client: AcpClient, count: int = 1) -> Message:
    await client.wait_for(lambda: states(client).count("idle") >= count)
    return client.of_kind("state_update")[-1]


@pytest.mark.req("H13")
async def test_a_turn_of_the_preview_is_accepted_at_once_and_reported_by_states(project: Path) -> None:
    with AnthropicServer([[Text("I look."), READ], [EDIT], "Done."]) as server:
        async with preview_client(project, server) as client:
            said = await initialize(client)
            assert (said["protocolVersion"], said["info"]["name"]) == (2, "agent-ls")
            session_id = await client.new_session()
            prompt = await client.answer(await client.start_prompt(session_id, "Change it."))
            ended = await until_idle(client)

            assert ended["stopReason"] == "end_turn"
            assert (project / "a.py").read_text() == "x = 2\n"
            (message,) = client.of_kind("user_message")
            assert message["messageId"] == prompt["messageId"]
            assert states(client)[0] == "running" and "requires_action" in states(client)
            asked = client.asked("session/request_permission")
            assert asked[-1]["subject"]["toolCall"]["kind"] == "edit"
            assert not client.of_kind("tool_call")
            diffs = [
                entry
                for update in client.of_kind("tool_call_update")
                for entry in update.get("content") or []
                if entry["type"] == "diff"
            ]
            assert diffs[-1]["changes"][0]["operation"] == "modify"
            assert "-x = 1\n+x = 2\n" in diffs[-1]["patch"]["text"]
            updates = [update["sessionUpdate"] for update in client.updates]
            assert updates.index("user_message") < updates.index("tool_call_update") < len(updates) - 1


async def test_version_two_is_answered_only_with_the_option(project: Path) -> None:
    with AnthropicServer([]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            assert (await initialize(client))["protocolVersion"] == 1
        async with acp_client(project, server, arguments=["--preview-v2"]) as client:
            assert (await client.initialize("peer"))["protocolVersion"] == 1, "the client asked for version 1"


async def test_a_cancelled_turn_ends_idle(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Working", gate)]]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await client.wait_for(lambda: client.of_kind("agent_message_chunk"))
            await client.cancel(session_id)

            assert (await until_idle(client))["stopReason"] == "cancelled"


async def test_a_failed_turn_ends_idle_with_its_error(project: Path) -> None:
    with AnthropicServer(
        [ErrorReply(400, kind="invalid_request_error", message="no")], allow_violations=True
    ) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            ended = await until_idle(client)

            assert ended["stopReason"] == "error" and ended["error"]["message"]


async def test_a_resumed_session_is_replayed_on_demand_and_reports_its_state(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            session_id = await client.new_session()
            await client.answer(await client.start_prompt(session_id))
            await until_idle(client)
        for replay, texts in (({"replayFrom": {"type": "start"}}, ["Hello."]), ({}, [])):
            async with preview_client(project, server) as client:
                await initialize(client)
                await client.request("session/resume", sessionId=session_id, cwd=str(project), **replay)
                assert [it["content"]["text"] for it in client.of_kind("agent_message_chunk")] == texts
                assert states(client) == ["idle"]


async def test_options_are_set_by_their_new_names(project: Path) -> None:
    with AnthropicServer([]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            result = await client.request("session/new", cwd=str(project), mcpServers=[])
            assert "modes" not in result
            assert "mode" in {option["configId"] for option in result["configOptions"]}
            wanted = {"sessionId": result["sessionId"], "configId": "mode", "type": "id", "value": "plan"}
            changed = await client.request("session/set_config_option", **wanted)
            now = {option["configId"]: option["currentValue"] for option in changed["configOptions"]}
            assert now["mode"] == "plan" and not client.of_kind("current_mode_update")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}, -32601),
        ("session/set_mode", {"sessionId": "s", "modeId": "plan"}, -32601),
        ("session/prompt", {"sessionId": "s-unknown", "prompt": []}, -32002),
        ("session/prompt", {}, -32602),
        ("session/resume", {}, -32602),
        ("authenticate", {"methodId": "keys"}, -32601),
        ("session/new", [], -32602),
        ("terminal/cancel", {}, -32602),
        ("terminal/cancel", [], -32602),
        ("terminal/cancel", {"sessionId": "s-unknown", "terminalId": "t"}, -32002),
        ("tool_call/cancel", {"sessionId": None, "toolCallId": {}}, -32602),
    ],
)
async def test_what_the_preview_does_not_know_is_refused(
    project: Path, method: str, params: Any, code: int
) -> None:
    with AnthropicServer([]) as server:
        async with preview_client(project, server) as client:
            await initialize(client)
            number = await client.start(method, params)
            with pytest.raises(Exception) as refused:
                await client.answer(number)
            assert getattr(refused.value, "code", None) == code


# -- the mapping alone


def test_a_change_of_which_only_a_part_is_known_has_no_patch() -> None:
    entry = {"type": "diff", "path": "/w/a.py", "oldText": "x\n", "newText": "y\n"}
    whole, part = (
        next(
            PreviewCalls().updates({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [it]})
        )["content"][0]
        for it in (entry, {**entry, "_meta": PART})
    )

    assert "patch" in whole and "patch" not in part
    assert whole["patch"]["text"].startswith("diff --git a/w/a.py b/w/a.py\n--- a/w/a.py\n")


@pytest.mark.parametrize(
    ("old", "new", "operation"), [(None, "y\n", "add"), ("x\n", "", "delete"), ("x\n", "y\n", "modify")]
)
def test_changes_name_their_operation(old: str | None, new: str, operation: str) -> None:
    entry = {"type": "diff", "path": "/w/a.py", "oldText": old, "newText": new}
    (update,) = PreviewCalls().updates({"sessionUpdate": "tool_call", "toolCallId": "c", "content": [entry]})

    assert (update["sessionUpdate"], update["content"][0]["changes"][0]["operation"]) == (
        "tool_call_update",
        operation,
    )


@pytest.mark.parametrize(
    ("version", "expected"), [(1, False), (2, True), (3, True), ("2", False), (True, False)]
)
def test_the_client_has_to_ask_by_number(version: object, expected: bool) -> None:
    assert wants_preview({"protocolVersion": version}) is expected


def test_files_and_terminals_of_the_client_are_not_used() -> None:
    given = {"protocolVersion": 2, "capabilities": {"fs": {"readTextFile": True}, "auth": {"terminal": {}}}}

    assert stable_initialize(given)["clientCapabilities"] == {
        "auth": {"terminal": True}, "plan": {}, "session": {"compaction": {}, "notices": {}},
        "_meta": {"terminal_output": True},
    }  # fmt: skip
