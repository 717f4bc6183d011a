"""What users of other ACP agents and clients reported, each in its smallest form, with this agent as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.acp.prompts import file_and_lines, read_prompt
from tests.acp.client import NO_ANSWER, AcpClient, Refusal, acp_client, write_to_disk
from tests.mcp.plans import raw_server, sent
from tests.support.loopback import AnthropicServer, ErrorReply, Reasoning, Text, ToolCall
from tests.support.processes import new_token, processes_with

pytestmark = pytest.mark.req("H13")

READ = ToolCall("read_file", {"file_path": "a.py"})
EDIT = ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
TOUCH = ToolCall("shell", {"command": "touch made"})
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


def reported(*values: Any, source: str, what: str, before: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.report(source, what, area="acp", before=before), id=source)


async def answered(client: AcpClient, line: str) -> dict[str, Any]:
    """Send a line as it is, and return the next message of the agent."""
    start = len(client.wire)
    await client.send_line(line.encode())
    await client.wait_for(lambda: [it for way, it in client.wire[start:] if way == "<"])
    return next(it for way, it in client.wire[start:] if way == "<")


INITIALIZE = [
    reported(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},'
        '"clientInfo":{"name":"test","version":"1.0"},"protocolVersion":"2024-11-05"}}',
        1,
        source="google-gemini/gemini-cli#22647",
        what="plain lines on stdout, and a date as the version of the protocol is refused",
        before="failed",
    ),
    reported(
        '{"jsonrpc":"2.0","id":"0","method":"initialize","params":{"protocolVersion":1}}',
        "0",
        source="Hmbown/Codewhale#1696",
        what="the id of an answer has another type than the id of the request",
        before="passed",
    ),
    reported(
        '{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}',
        0,
        source="zed-industries/zed#37128",
        what="a client leaves out the version of JSON-RPC, and the agent refuses each message",
        before="failed",
    ),
]


@pytest.mark.parametrize(("line", "number"), INITIALIZE)
async def test_the_first_line_is_the_answer_to_initialize(project: Path, line: str, number: object) -> None:
    async with acp_client(project, is_schema_checked=False) as client:
        answer = await answered(client, line)
        assert answer["id"] == number and type(answer["id"]) is type(number)
        assert answer["result"]["protocolVersion"] == 1


@pytest.mark.report(
    "gptme/gptme#1268",
    "messages for the console reach the client as lines of JSON",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "anomalyco/opencode#13634", "a first start writes about its data to stdout", area="acp", before="passed"
)
@pytest.mark.report(
    "zed-industries/codex-acp#177",
    "one line that is not JSON breaks the channel, and nothing is answered any more",
    area="acp",
    before="passed",
)
async def test_stdout_has_only_messages_and_a_broken_line_harms_no_later_one(project: Path) -> None:
    """The client reads each line of stdout as JSON, and fails if stderr has anything."""
    with AnthropicServer([[TOUCH], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            await client.initialize()
            session_id = await client.new_session()
            answer = await answered(client, "stitem parent list node; CSS resets")
            assert answer["error"]["code"] == -32700
            assert await client.prompt(session_id) == "end_turn"


@pytest.mark.report(
    "OpenHands/OpenHands-CLI#543",
    "an update of a session arrives before the answer that names it, and the client waits for ever",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "PrimeIntellect-ai/prime-agent#1306",
    "the commands are never told, so a client can complete none",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "stefandevo/glm-acp-agent#99",
    "commands of the project are not in the list of the client",
    area="acp",
    before="passed",
)
async def test_commands_are_told_after_the_answer_that_names_the_session(project: Path) -> None:
    page = project / ".claude" / "commands" / "ship.md"
    page.parent.mkdir(parents=True)
    page.write_text("Ship it.\n")
    async with acp_client(project) as client:
        await client.initialize()
        session_id = await client.new_session()
        await client.wait_for(lambda: "ship" in json.dumps(client.of_kind("available_commands_update")))
        received = [it for way, it in client.wire if way == "<"]
        answer = next(
            at for at, it in enumerate(received) if it.get("result", {}).get("sessionId") == session_id
        )
        assert not [it for it in received[:answer] if it.get("method") == "session/update"]
        names = [it["name"] for it in client.of_kind("available_commands_update")[-1]["availableCommands"]]
        assert not [name for name in names if name.startswith("/")]


@pytest.mark.report(
    "anomalyco/opencode#4870", "a loaded session shows no conversation", area="acp", before="passed"
)
@pytest.mark.report(
    "NousResearch/hermes-agent#12285",
    "only the list of commands is sent when a session is loaded",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "netease-lcap/wave-agent#1185",
    "the model knows the conversation of a loaded session, the client does not",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "NousResearch/hermes-agent#26957",
    "a loaded conversation arrives after the answer, when clients no longer expect it",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "MoonshotAI/kimi-cli#2132", "thoughts and calls of a loaded session are lost", area="acp", before="passed"
)
@pytest.mark.report(
    "mattapperson/noetic#99",
    "after a session was loaded, its modes are gone and a mode can no longer be chosen",
    area="acp",
    before="passed",
)
async def test_the_whole_conversation_is_sent_before_the_answer_to_load(project: Path) -> None:
    with AnthropicServer([[Reasoning("Hm."), Text("I look."), READ], "Seen."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            session_id = await client.new_session()
            await client.prompt(session_id, "Look at it.")
        async with acp_client(project, server) as client:
            await client.initialize()
            told = await client.request("session/load", sessionId=session_id, cwd=str(project), mcpServers=[])
            received = [it for way, it in client.wire if way == "<"]
            answer = next(at for at, it in enumerate(received) if "modes" in it.get("result", {}))
            kinds = [it["params"]["update"]["sessionUpdate"] for it in received[:answer] if "params" in it]
            talk = [kind for kind in kinds if kind.endswith("_chunk") or kind == "tool_call"]
            assert talk == [
                "user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "agent_message_chunk",
            ]  # fmt: skip
            assert client.of_kind("tool_call")[-1]["status"] in ("completed", "pending")
            assert {it["id"] for it in told["modes"]["availableModes"]} >= {"plan", "ask"}
            assert await client.request("session/set_mode", sessionId=session_id, modeId="plan") == {}


CANCELS = [
    reported(
        True,
        source="ThinkInAIXYZ/deepchat#1881",
        what="a permission that nobody answers keeps a cancelled prompt open",
        before="passed",
    ),
    reported(
        False,
        source="QwenLM/qwen-code#7295",
        what="a prompt that is cancelled while it waits for a permission ends as end_turn",
        before="passed",
    ),
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
    "hawkingrei/agenthub#603",
    "a refused permission ends the whole prompt",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "NousResearch/hermes-agent#50723",
    "calls of the last round never get their final status",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "NousResearch/hermes-agent#72964",
    "nine of ten calls stay open after the turn",
    area="acp",
    before="passed",
)
async def test_each_call_ends_with_a_status_and_a_refused_one_ends_no_prompt(project: Path) -> None:
    calls = [READ, TOUCH, ToolCall("glob", {"pattern": "*"}), ToolCall("read_file", {"file_path": "none"})]
    with AnthropicServer([calls, "As you wish."]) as server:
        async with acp_client(project, server) as client:
            client.permission = "reject_once"
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
            last = {
                it["toolCallId"]: it["status"] for it in client.of_kind("tool_call_update") if "status" in it
            }
            assert sorted(last.values()) == ["completed", "completed", "failed", "failed"]
            assert {it["toolCallId"] for it in client.of_kind("tool_call")} == set(last)


REFUSED_SETTINGS = [
    reported(
        "session/set_mode",
        {"modeId": "does-not-exist"},
        source="langchain-ai/deepagents#6138",
        what="any mode is accepted, also one that was never offered",
        before="passed",
    ),
    reported(
        "session/set_config_option",
        {"configId": "model", "value": "totally-not-a-real-model-xyz"},
        source="NousResearch/hermes-agent#72439",
        what="any model is accepted, and the next prompt ends at once without a word",
        before="passed",
    ),
    reported(
        "session/set_mode",
        {"modeId": "unsupported"},
        source="MoonshotAI/kimi-cli#1689",
        what="an unknown mode is answered with an internal error",
        before="passed",
    ),
    reported(
        "session/set_config_option",
        {"configId": "mode", "value": "auto"},
        source="agentclientprotocol/claude-agent-acp#507",
        what="a mode that a client offers fails with an internal error",
        before="passed",
    ),
]


@pytest.mark.parametrize(("method", "params"), REFUSED_SETTINGS)
async def test_a_value_that_was_not_offered_is_refused_and_changes_nothing(
    project: Path, method: str, params: dict[str, Any]
) -> None:
    with AnthropicServer(["Hello."]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            session_id = await client.new_session()
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
    reported(
        whole_file,
        source="agentrq/acp-gateway#62",
        what="a client returns the whole file though some lines were asked for",
        before="passed",
    ),
    reported(
        window_only_with_a_line,
        source="NousResearch/hermes-agent#19967",
        what="a client keeps to the number of lines only if the first line is not 1",
        before="passed",
    ),
    reported(
        None,
        source="raphaeltm/simple-agent-manager#68",
        what="a client announces files and refuses each read",
        before="passed",
    ),
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


@pytest.mark.report(
    "anomalyco/opencode#31321",
    "the first message about a call has no arguments and no place",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "anomalyco/opencode#7368",
    "later messages about a call do not say what kind it is",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "AntigmaLabs/ante#198",
    "calls are shown without kind, place and difference",
    area="acp",
    before="passed",
)
async def test_a_call_is_shown_with_kind_arguments_absolute_place_and_difference(project: Path) -> None:
    new = ToolCall("write_file", {"file_path": "new.py", "content": "y = 1\n"})
    with AnthropicServer([[READ], [EDIT, new], "Done."]) as server:
        async with acp_client(project, server) as client:
            client.permission = "allow_always"
            await client.initialize()
            assert await client.prompt(await client.new_session()) == "end_turn"
            for title, path, old in (("a.py", "a.py", "x = 1\n"), ("new.py", "new.py", None)):
                started = [it for it in client.of_kind("tool_call") if title in it["title"]][-1]
                assert started["locations"][0]["path"] == str(project / path)
                assert started["kind"] == "edit" and started["rawInput"]
                (diff,) = [it for it in client.call(started["title"])["content"] if it["type"] == "diff"]
                assert (diff["path"], diff.get("oldText")) == (str(project / path), old)


@pytest.mark.report(
    "anomalyco/opencode#49563",
    "the cancellation of a request does not reach the running prompt",
    area="acp",
    before="passed",
)
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


FAILURES = [
    reported(
        ErrorReply(401, "invalid x-api-key"),
        source="svkozak/pi-acp#135",
        what="a refused key ends the prompt as if it were answered",
        before="passed",
    ),
    reported(
        ErrorReply(400, "model: no such model"),
        source="anomalyco/opencode#24494",
        what="an error of the model ends as end_turn with an empty answer",
        before="passed",
    ),
    reported(
        ErrorReply(403, "not allowed for this account"),
        source="agent-of-empires/agent-of-empires#2426",
        what="an unsupported model is shown as a command without output",
        before="passed",
    ),
]


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failed_model_call_is_an_error_with_its_reason(project: Path, failure: ErrorReply) -> None:
    with AnthropicServer([failure]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            prompt = [{"type": "text", "text": "hi"}]
            refused = await client.refused(
                "session/prompt", sessionId=await client.new_session(), prompt=prompt
            )
            assert refused.message != "Internal error" and refused.details


@pytest.mark.report(
    "sudoprivacy/sudocode#417",
    "a session that waits for a permission keeps all other sessions of the process waiting",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "endorhq/rover#552",
    "only one session at a time can use a connection",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "zed-industries/codex-acp#130",
    "a session in another folder edits files of the folder in which the process began",
    area="acp",
    before="passed",
)
async def test_sessions_of_one_process_run_side_by_side_in_their_own_folders(project: Path) -> None:
    async def never(params: dict[str, Any]) -> Any:
        return NO_ANSWER

    other = project.parent / "other"
    other.mkdir()
    (other / "a.py").write_text("y = 9\n")

    def script(body: Any) -> Any:
        said = json.dumps(body["messages"])
        if "wait here" in said:
            return [TOUCH]
        return "Seen." if "y = 9" in said else [READ]

    with AnthropicServer(script) as server:
        async with acp_client(project, server) as client:
            client.on["session/request_permission"] = never
            await client.initialize()
            waiting = await client.start_prompt(await client.new_session(), "wait here")
            await client.wait_for(lambda: client.requests)
            second = await client.new_session(cwd=str(other))
            assert await client.prompt(second, "look") == "end_turn"
            assert not client._asked[waiting][2]


@pytest.mark.report(
    "agentclientprotocol/claude-agent-acp#325",
    "the process goes on when its client has closed the input",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "can1357/oh-my-pi#4788",
    "calls that run when the client goes are left behind",
    area="acp",
    before="passed",
)
async def test_a_process_whose_client_goes_ends_with_its_commands(project: Path) -> None:
    token = new_token()
    with AnthropicServer([[ToolCall("shell", {"command": f": {token}; sleep 600; true"})]]) as server:
        async with acp_client(project, server) as client:
            await client.initialize()
            await client.start_prompt(await client.new_session())
            await client.wait_for(lambda: "in_progress" in json.dumps(client.of_kind("tool_call_update")))
            assert await client.end() == 0
    assert not processes_with(token)


@pytest.mark.report(
    "yetone/alma-releases#76",
    "a client sends variables as an object, and the agent refuses the session",
    area="acp",
    before="passed",
)
@pytest.mark.report(
    "can1357/oh-my-pi#7722",
    "an MCP server with a malformed entry is left out, and nobody is told",
    area="acp",
    before="passed",
)
async def test_variables_as_an_object_are_taken_and_a_malformed_server_is_told(
    project: Path, tmp_path: Path
) -> None:
    entry = raw_server(tmp_path / "plans", "raw", log=str(tmp_path / "log"))
    given = [{"name": "raw", **entry, "env": {"MODE": "dev"}}, {"name": "broken", "args": 7}]
    with AnthropicServer([[ToolCall("raw__echo", {"text": "hello"})], "Done."]) as server:
        async with acp_client(project, server, is_schema_checked=False) as client:
            client.permission = "allow_always"
            await client.initialize(
                _meta={"agent-ls": {"mcp": {"firstWaitMs": 60_000, "startTimeoutMs": 60_000}}}
            )
            session_id = await client.new_session(mcpServers=given)
            assert await client.prompt(session_id) == "end_turn"
            assert [it for it in sent(tmp_path / "log") if it["method"] == "tools/call"]
            assert "broken" in json.dumps(client.updates)


IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
TEXT = "dGhlIGNvbnRlbnQ="

CONTENT = [
    reported(
        {
            "type": "resource",
            "resource": {"uri": "file:///p/image.png", "mimeType": "image/png", "blob": IMAGE},
        },
        "image/png",
        source="esengine/DeepSeek-Reasonix#8271",
        what="an image that a client embeds as a resource never reaches the model",
        before="passed",
    ),
    reported(
        {"type": "image", "mimeType": "image/png", "data": IMAGE, "uri": None, "annotations": None},
        "image/png",
        source="PrimeIntellect-ai/prime-agent#613",
        what="images are announced, and left out without a word",
        before="passed",
    ),
    reported(
        {"type": "image", "mimeType": "image/jpg", "data": "/9j/4AAQSkZJRg=="},
        "image/jpeg",
        source="agentscope-ai/QwenPaw#3313",
        what="a picture of type image/jpg is refused by each model",
        before="failed",
    ),
    reported(
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "mimeType": "text/plain", "blob": TEXT}},
        "the content",
        source="evalstate/fast-agent#470",
        what="the text of an embedded file that arrives as bytes is not read",
        before="failed",
    ),
    reported(
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "text": "the\r\ncontent"}},
        "the",
        source="NousResearch/hermes-agent#26607",
        what="a prompt of an embedded resource alone is empty",
        before="passed",
    ),
    reported(
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        "left out",
        source="OpenHands/software-agent-sdk#2982",
        what="content that is not text is left out, and nobody is told",
        before="passed",
    ),
]


@pytest.mark.parametrize(("block", "found"), CONTENT)
def test_content_of_a_prompt_reaches_the_model_or_is_named_as_left_out(
    block: dict[str, Any], found: str
) -> None:
    prompt = read_prompt([block])
    assert found in prompt.text or [it.media_type for it in prompt.images] == [found]


URIS = [
    reported(
        "file:///p/my%20notes/a%23b.md",
        "/p/my notes/a#b.md",
        source="pacifio/atlas#162",
        what="agents take the rest of a URI for a path as it is, so blanks and # name no file",
        before="passed",
    ),
    reported(
        "file:///tmp/a.txt?x=1",
        "/tmp/a.txt",
        source="anomalyco/opencode#33534",
        what="the path of a URI is read only on one system",
        before="passed",
    ),
]


@pytest.mark.parametrize(("uri", "path"), URIS)
def test_a_link_to_a_file_names_its_path(uri: str, path: str) -> None:
    assert file_and_lines(uri)[0] == path


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/PNG", IMAGE),
        ("image/png; charset=binary", IMAGE),
        ("application/octet-stream", f"data:image/png;base64,{IMAGE}"),
        ("image/png", "\n".join([IMAGE[:40], IMAGE[40:], ""])),
        ("image/x-png", IMAGE),
        ("image/jpeg", IMAGE),
    ],
)
def test_an_image_is_read_under_each_usual_name_and_form(media_type: str, data: str) -> None:
    (image,) = read_prompt([{"type": "image", "mimeType": media_type, "data": data}]).images
    assert image.media_type == "image/png" and (image.data or b"").startswith(b"\x89PNG")
