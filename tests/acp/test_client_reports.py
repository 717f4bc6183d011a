"""Public reports of users of other ACP agents and clients, each in its smallest form, with the agent as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.client import NO_ANSWER, AcpClient, Refusal, acp_client, acp_ready, acp_session, write_to_disk
from tests.support.loopback import AnthropicServer, Reasoning, Text, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
TOUCH = ToolCall("shell", {"command": "touch made"})
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


async def answered(client: AcpClient, line: str) -> dict[str, Any]:
    """Send a line as it is, and return the next answer of the agent. Updates may come before it."""
    start = len(client.wire)
    await client.send_line(line.encode())

    def answers() -> list[dict[str, Any]]:
        return [it for way, it in client.wire[start:] if way == "<" and "method" not in it]

    await client.wait_for(answers)
    return answers()[0]


INITIALIZE = [
    reported(
        "google-gemini/gemini-cli#22647",
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},'
        '"clientInfo":{"name":"test","version":"1.0"},"protocolVersion":"2024-11-05"}}',
        1,
    ),
    reported(
        "Hmbown/Codewhale#1696",
        '{"jsonrpc":"2.0","id":"0","method":"initialize","params":{"protocolVersion":1}}',
        "0",
    ),
    reported(
        "zed-industries/zed#37128",
        '{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}',
        0,
    ),
]


@pytest.mark.parametrize(("line", "number"), INITIALIZE)
async def test_the_first_line_is_the_answer_to_initialize(project: Path, line: str, number: object) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        answer = await answered(client, line)
        assert answer["id"] == number and type(answer["id"]) is type(number)
        assert answer["result"]["protocolVersion"] == 1


@pytest.mark.report("gptme/gptme#1268", "anomalyco/opencode#13634", "zed-industries/codex-acp#177")
async def test_stdout_has_only_messages_and_a_broken_line_harms_no_later_one(project: Path) -> None:
    """The client reads each line of stdout as JSON, and fails if stderr has anything."""
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_session(project, server, is_schema_checked=False) as (client, session_id):
            answer = await answered(client, "stitem parent list node; CSS resets")
            assert answer["error"]["code"] == -32700
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report(
    "OpenHands/OpenHands-CLI#543", "PrimeIntellect-ai/prime-agent#1306", "stefandevo/glm-acp-agent#99"
)
async def test_commands_are_told_after_the_answer_that_names_the_session(project: Path) -> None:
    page = project / ".claude" / "commands" / "ship.md"
    page.parent.mkdir(parents=True)
    page.write_text("Ship it.\n")
    async with acp_session(project) as (client, session_id):
        await client.wait_for(lambda: "ship" in json.dumps(client.of_kind("available_commands_update")))
        received = [it for way, it in client.wire if way == "<"]
        answer = next(
            at for at, it in enumerate(received) if it.get("result", {}).get("sessionId") == session_id
        )
        assert not [it for it in received[:answer] if it.get("method") == "session/update"]
        names = [it["name"] for it in client.of_kind("available_commands_update")[-1]["availableCommands"]]
        assert not [name for name in names if name.startswith("/")]


@pytest.mark.report(
    "anomalyco/opencode#4870",
    "NousResearch/hermes-agent#12285",
    "netease-lcap/wave-agent#1185",
    "NousResearch/hermes-agent#26957",
    "MoonshotAI/kimi-cli#2132",
    "mattapperson/noetic#99",
)
async def test_the_whole_conversation_is_sent_before_the_answer_to_load(project: Path) -> None:
    with AnthropicServer([[Reasoning("Hm."), Text("I look."), READ], "Seen."]) as server:
        async with acp_session(project, server) as (client, session_id):
            await client.prompt(session_id, "Look at it.")
        async with acp_ready(project, server) as client:
            result = await client.request(
                "session/load", sessionId=session_id, cwd=str(project), mcpServers=[]
            )
            received = [it for way, it in client.wire if way == "<"]
            answer = next(at for at, it in enumerate(received) if "modes" in it.get("result", {}))
            kinds = [it["params"]["update"]["sessionUpdate"] for it in received[:answer] if "params" in it]
            talk = [kind for kind in kinds if kind.endswith("_chunk") or kind == "tool_call"]
            assert talk == [
                "user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "agent_message_chunk",
            ]  # fmt: skip
            assert client.of_kind("tool_call")[-1]["status"] in ("completed", "pending")
            assert {it["id"] for it in result["modes"]["availableModes"]} >= {"plan", "ask"}
            assert await client.request("session/set_mode", sessionId=session_id, modeId="plan") == {}


CANCELS = [
    reported("ThinkInAIXYZ/deepchat#1881", True),
    reported("QwenLM/qwen-code#7295", False),
]


@pytest.mark.parametrize("is_silent", CANCELS)
async def test_a_prompt_cancelled_while_it_waits_for_a_permission_ends_as_cancelled(
    project: Path, is_silent: bool
) -> None:
    async def answer(params: dict[str, Any]) -> Any:
        await client.cancel(session_id)
        return NO_ANSWER if is_silent else {"outcome": {"outcome": "cancelled"}}

    with AnthropicServer([[TOUCH], "Again."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = answer
            await client.initialize()
            session_id = await client.new_session()
            assert await client.prompt(session_id) == "cancelled"
            assert await client.prompt(session_id) == "end_turn"
    assert not (project / "made").exists()


@pytest.mark.report(
    "hawkingrei/agenthub#603", "NousResearch/hermes-agent#50723", "NousResearch/hermes-agent#72964"
)
async def test_each_call_ends_with_a_status_and_a_refused_one_ends_no_prompt(project: Path) -> None:
    calls = [READ, TOUCH, ToolCall("glob", {"pattern": "*"}), ToolCall("read_file", {"file_path": "none"})]
    with AnthropicServer([calls, "As you wish."]) as server:
        async with acp_ready(project, server, permission="reject_once") as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            last = {
                it["toolCallId"]: it["status"] for it in client.of_kind("tool_call_update") if "status" in it
            }
            assert sorted(last.values()) == ["completed", "completed", "failed", "failed"]
            assert {it["toolCallId"] for it in client.of_kind("tool_call")} == set(last)


REFUSED_SETTINGS = [
    reported("langchain-ai/deepagents#6138", "session/set_mode", {"modeId": "does-not-exist"}),
    reported(
        "NousResearch/hermes-agent#72439",
        "session/set_config_option",
        {"configId": "model", "value": "totally-not-a-real-model-xyz"},
    ),
    reported("MoonshotAI/kimi-cli#1689", "session/set_mode", {"modeId": "unsupported"}),
    reported(
        "agentclientprotocol/claude-agent-acp#507",
        "session/set_config_option",
        {"configId": "mode", "value": "auto"},
    ),
]


@pytest.mark.parametrize(("method", "params"), REFUSED_SETTINGS)
async def test_a_value_that_was_not_offered_is_refused_and_changes_nothing(
    project: Path, method: str, params: dict[str, Any]
) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_session(project, server) as (client, session_id):
            refused = await client.refused(method, sessionId=session_id, **params)
            assert refused.code == -32602
            assert await client.request("session/set_mode", sessionId=session_id, modeId="ask") == {}
            assert await client.prompt(session_id) == "end_turn"
            assert client.text() == "Hello."


def whole_file(params: dict[str, Any]) -> str:
    try:
        return Path(params["path"]).read_text()
    except FileNotFoundError:
        raise Refusal(-32002, "no such file") from None


def window_only_with_a_line(params: dict[str, Any]) -> str:
    lines = whole_file(params).splitlines(keepends=True)
    start = (params.get("line") or 1) - 1
    return "".join(lines[start : start + params["limit"]] if start and params.get("limit") else lines)


CLIENT_READS = [
    reported("agentrq/acp-gateway#62", whole_file),
    reported("NousResearch/hermes-agent#19967", window_only_with_a_line),
    reported("raphaeltm/simple-agent-manager#68", None),
]


@pytest.mark.parametrize("reads", CLIENT_READS)
async def test_lines_are_right_whatever_a_client_makes_of_line_and_limit(project: Path, reads: Any) -> None:
    async def read(params: dict[str, Any]) -> Any:
        if reads is None:
            raise Refusal(-32603, "not supported")
        return {"content": await anyio.to_thread.run_sync(reads, params)}

    (project / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 41)))
    calls = [
        ToolCall("read_file", {"file_path": "long.txt", "offset": 11, "limit": 2}),
        ToolCall("read_file", {"file_path": "long.txt", "offset": 1, "limit": 2}),
    ]
    with AnthropicServer([calls, "Seen."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": read, "fs/write_text_file": write_to_disk}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
        (later, first) = server.requests[1].body["messages"][-1]["content"]
    assert "line 11" in str(later) and "line 12" in str(later) and "line 13" not in str(later)
    assert "line 1" in str(first) and "line 2" in str(first) and "line 3" not in str(first)


@pytest.mark.report("anomalyco/opencode#12850")
@pytest.mark.parametrize("code", [-32002, -32603, -32000])
async def test_a_new_file_is_written_if_the_client_finds_no_such_file(project: Path, code: int) -> None:
    async def read(params: dict[str, Any]) -> Any:
        raise Refusal(code, "ENOENT: no such file")

    new = ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})
    with AnthropicServer([[new], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.on |= {"fs/read_text_file": read, "fs/write_text_file": write_to_disk}
            await client.initialize("", FILES)
            assert await client.prompt(await client.new_session()) == "end_turn"
    assert (project / "new.txt").read_text() == "x\n"


@pytest.mark.report("anomalyco/opencode#31321", "anomalyco/opencode#7368", "AntigmaLabs/ante#198")
async def test_a_call_is_shown_with_kind_arguments_absolute_place_and_difference(project: Path) -> None:
    new = ToolCall("write_file", {"file_path": "new.py", "content": "y = 1\n"})
    with AnthropicServer([[READ], [EDIT, new], "Done."]) as server:
        async with acp_ready(project, server, permission="allow_always") as client:
            assert await client.prompt(await client.new_session()) == "end_turn"
            for title, path, old in (("a.py", "a.py", "x = 1\n"), ("new.py", "new.py", None)):
                started = [it for it in client.of_kind("tool_call") if title in it["title"]][-1]
                assert started["locations"][0]["path"] == str(project / path)
                assert started["kind"] == "edit" and started["rawInput"]
                (diff,) = [it for it in client.call(started["title"])["content"] if it["type"] == "diff"]
                assert (diff["path"], diff.get("oldText")) == (str(project / path), old)


@pytest.mark.report("anomalyco/opencode#49563")
async def test_a_cancelled_request_ends_its_prompt_and_its_permission(project: Path) -> None:
    async def never(params: dict[str, Any]) -> Any:
        await client.notify("$/cancel_request", requestId=running)
        return NO_ANSWER

    with AnthropicServer([[TOUCH], "Again."]) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = never
            await client.initialize()
            session_id = await client.new_session()
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: client._asked[running][2])
            await client.wait_for(
                lambda: "$/cancel_request" in str([it for way, it in client.wire if way == "<"])
            )
            assert await client.prompt(session_id) == "end_turn"
    assert not (project / "made").exists()
