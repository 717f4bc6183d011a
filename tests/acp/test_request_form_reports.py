"""Requests of ACP clients in public reports, each in its smallest form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.acp.prompts import file_and_lines, read_prompt
from tests.acp.client import AcpError, acp_client, acp_ready, acp_session
from tests.acp.test_prompt_reports import IMAGE
from tests.acp.test_servers import PATIENT
from tests.mcp.http_servers import counting_server, served
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

TOUCH = ToolCall("shell", {"command": "touch made"})
BLOCKS: list[Any] = [
    reported("zed-industries/zed#59809",
        [{"type": "text", "text": "See https://p.example/c/1 and /srv/shots/shot.jpeg"}],
        ["https://p.example/c/1", "/srv/shots/shot.jpeg"], []),
    reported("zed-industries/zed#47167", [{"type": "image", "mimeType": "image/jpeg", "data": IMAGE}], [],
        ["image/png"]),
    reported("formulahendry/vscode-acp#60",
        [{"type": "resource_link", "uri": "file:///p/a.py", "name": "a.py"}, {"type": "text", "text": "explain"}],
        ["/p/a.py", "explain"], []),
    reported("svkozak/pi-acp#12",
        [{"type": "resource", "resource": {"uri": "zed:///agent/diagnostics", "text": "a.py:1: unused"}}],
        ["a.py:1: unused"], []),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "words", "images"), BLOCKS)
def test_blocks_of_a_prompt_are_read_as_they_are_meant(
    blocks: list[dict[str, Any]], words: list[str], images: list[str]
) -> None:
    prompt = read_prompt(blocks)
    assert all(word in prompt.text for word in words) and [it.media_type for it in prompt.images] == images


RANGES: list[Any] = [
    reported("NousResearch/hermes-agent#16494", "file:///p/a.py#L15-L21", (15, 21)),
    ("file:///p/a.py#13-20", (13, 20)),
    ("file:///p/a.py:13:20", (13, 13)),
    ("file:///p/a.py#L7", (7, 7)),
    ("file:///p/a.py#L15:21", (15, 21)),
]  # fmt: skip


@pytest.mark.parametrize(("uri", "lines"), RANGES)
def test_a_link_to_lines_names_them(uri: str, lines: tuple[int, int]) -> None:
    path, found = file_and_lines(uri)
    assert path == "/p/a.py" and found and found[0] == lines[0]


@pytest.mark.report("avante-corp/avante.nvim#2883")  # fmt: skip
@pytest.mark.parametrize("headers", [{}, [], None])
async def test_a_server_by_http_without_headers_is_used(project: Path, headers: Any) -> None:
    with (
        served(counting_server()) as url,
        AnthropicServer([[ToolCall("away__count", {"words": "a b"})], "Done."]) as server,
    ):
        async with acp_ready(
            project, server, _meta=PATIENT, permission="allow_always", is_schema_checked=False
        ) as client:
            given = [{"type": "http", "name": "away", "url": url, "headers": headers}]
            await client.prompt(await client.new_session(mcpServers=given))
            assert client.call("count")["status"] == "completed"


@pytest.mark.report("omercnet/vscode-acp#55")  # fmt: skip
async def test_a_server_of_an_obsolete_transport_is_named_and_the_session_opens(project: Path) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_ready(project, server, _meta=PATIENT) as client:
            given = [{"type": "sse", "name": "events", "url": "https://a.example/sse", "headers": []}]
            assert await client.prompt(await client.new_session(mcpServers=given)) == "end_turn"
            assert "events" in client.text("agent_thought_chunk")


@pytest.mark.report("google-gemini/gemini-cli#21783")  # fmt: skip
@pytest.mark.report("anomalyco/opencode#30146")  # fmt: skip
async def test_a_call_is_announced_before_its_permission_and_its_turn_can_be_cancelled(project: Path) -> None:
    with AnthropicServer([[TOUCH], [ToolCall("shell", {"command": "sleep 600"})], "Never."]) as server:
        async with acp_session(project, server) as (client, session_id):
            running = await client.start_prompt(session_id)
            await client.wait_for(lambda: len(client.of_kind("tool_call")) == 2)
            (asked,) = client.asked("session/request_permission")
            assert asked["toolCall"]["toolCallId"] == client.of_kind("tool_call")[0]["toolCallId"]
            await client.cancel(session_id)
            assert (await client.answer(running))["stopReason"] == "cancelled"


@pytest.mark.report("esengine/DeepSeek-Reasonix#8241")  # fmt: skip
async def test_a_failed_turn_is_an_error_with_its_cause(project: Path) -> None:
    with AnthropicServer(["Never."], key="sk-right") as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            with pytest.raises(AcpError) as failed:
                await client.prompt(await client.new_session())
            assert "key" in str(failed.value)


@pytest.mark.report("openonion/connectonion#979")  # fmt: skip
@pytest.mark.parametrize("version", [0, 2, 99])
async def test_another_version_is_answered_with_the_own_one(project: Path, version: int) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        result = await client.request("initialize", protocolVersion=version, clientCapabilities={})
        assert result["protocolVersion"] == 1


LONG = "cat > made.txt <<'EOF'\n" + 'a line with `marks` and "quotes"\n' * 40 + "EOF\nmake all"


@pytest.mark.report("zed-industries/zed#62858")
@pytest.mark.report("gptme/gptme#1438")
@pytest.mark.parametrize("name", ["", "zed"])
async def test_options_are_short_lines_and_commands_have_no_slash(project: Path, name: str) -> None:
    with AnthropicServer([[ToolCall("shell", {"command": LONG})], "Done."]) as server:
        async with acp_ready(project, server, name=name) as client:
            session_id = await client.new_session()
            await client.prompt(session_id)
            (asked,) = client.asked("session/request_permission")
            texts = [asked["toolCall"]["title"], *(it["name"] for it in asked["options"])]
            assert all(len(text) <= 120 and "\n" not in text for text in texts)
            (update,) = client.of_kind("available_commands_update")
            names = [it["name"] for it in update["availableCommands"]]
            assert "compact" in names and not any(it.startswith("/") for it in names)


@pytest.mark.report("topcheer/ggcode#1145")
async def test_a_stricter_mode_holds_from_the_next_call_on(project: Path) -> None:
    script = [
        [ToolCall("shell", {"command": f"touch {it}"})] if it else "Done." for it in ("one", "", "two", "")
    ]
    with AnthropicServer(script) as server:
        async with acp_session(project, server, permission="reject_once") as (client, session_id):
            mode = {"sessionId": session_id, "configId": "mode"}
            await client.request("session/set_config_option", **mode, value="full")
            await client.prompt(session_id)
            await client.request("session/set_config_option", **mode, value="ask")
            await client.prompt(session_id)
            wrong = ({"value": "supervised"}, {"value": "ask", "sessionId": "none"})
            for change in wrong:
                await client.refused("session/set_config_option", **mode | change)
            assert len(client.asked("session/request_permission")) == 1
    assert (project / "one").exists() and not (project / "two").exists()
