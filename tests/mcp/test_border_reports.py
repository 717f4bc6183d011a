"""A draw of reports on MCP servers: what they print, list, ask, announce and forget, and how they end."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.logins import entry_of, logged_in, tried
from tests.mcp.oauth_server import METADATA, PRM, LoginOddities, login_server
from tests.mcp.odd_http_server import Oddities, odd_server
from tests.mcp.plans import change_plan, raw_server, tool, user_file
from tests.mcp.rig import echoed, running, servers_of, until_state
from tests.mcp.test_asking import answered
from tests.mcp.test_oauth_reports import AT_PLACE, challenged
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.processes import eventually
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")

SHOPS = 'Shops response: [\n  {\n    "id": 1,\n    "title": null\n  }\n]\nFound 2 shops: [\n1\n]\n'
PRINTED: list[Any] = [
    reported("ZubeidHendricks/youtube-mcp-server#26",
        {"noise": ["YouTube MCP Server v1.0.0 started successfully"], "before": "[MCP] list_tools requested\n"}),
    reported("sammcj/mcp-package-docs#7", {"noise": ["Loading npm packages"], "before": "INFO: ready\n"}),
    reported("TSavo/printify-mcp#3", {"before": SHOPS}),
    reported("genkit-ai/genkit#2954", {"noise": ["[@genkit-ai/mcp] ready", "Shutting down…"]}),
    {"before": '{"level":"info","msg":"GET /shops"}\n[1, 2]\n"x"\nnull\n3\n{}\n'},
    {"before": '{"id":7,"method":"GET","url":"/shops"}\n'},
    {"before": '{"jsonrpc":"2.0","id":99,"result":{}}\n'},
]  # fmt: skip


@pytest.mark.parametrize("plan", PRINTED)
async def test_what_a_server_prints_beside_its_messages_does_no_harm(
    tmp_path: Path, plan: dict[str, Any]
) -> None:
    assert (await echoed(tmp_path, **plan)).content == "echo {}"


LISTS: list[Any] = [
    reported("modelcontextprotocol/java-sdk#615", 210, None),
    reported("JSONbored/metagraphed#9648", 224, None),
    reported("knowsuchagency/mcp2cli#64", 54, 50),
    reported("kirodotdev/Kiro#9935", 64, 30),
    reported("anthropics/claude-code#23179", 21, 1),
]  # fmt: skip


@pytest.mark.parametrize(("count", "page"), LISTS)
async def test_the_last_tool_of_a_long_list_is_called(tmp_path: Path, count: int, page: int | None) -> None:
    tools = [tool(f"t{number}", "x" * 2000) for number in range(count)]
    plan = {"tools": tools, **({"page": page} if page else {})}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    last = f"raw__t{count - 1}"
    search = tool_call("find_tools", json.dumps({"query": f"t{count - 1}"}))
    called = tool_call("call_tool", json.dumps({"name": last, "arguments": {}}))
    async with running(tmp_path, [search, called, text("done")], deferAtPercent=0) as rig:
        talk = await rig.talk("full", say="go")
        server = servers_of(talk).server("raw")
        assert server and len(server.description.tools) == count
        assert rig.results()[-1].content == f"t{count - 1} {{}}"


def asks(form: Any) -> dict[str, Any]:
    params = {"message": "Go on?", "requestedSchema": form}
    return {
        "tools": [tool("push")],
        "calls": {"push": {"do": "ask", "method": "elicitation/create", "params": params}},
    }


TEXT = {"type": "string"}
NEEDED = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]}
BARE = {"type": "object", "properties": {}}
FORMS: list[Any] = [
    reported("modelcontextprotocol/go-sdk#758", NEEDED, "Decline", {"action": "decline"}),
    reported("modelcontextprotocol/python-sdk#1284", BARE, "Answer", {"action": "accept", "content": {}}),
    (BARE, "Decline", {"action": "decline"}),
    ({"properties": None}, "Answer", {"action": "accept", "content": {}}),
    ({"type": "object"}, "Answer", {"action": "accept", "content": {}}),
    (None, "Answer", {"action": "accept", "content": {}}),
    ({"properties": {"a": {"type": "string"}}}, "x", {"action": "accept", "content": {"a": "x"}}),
]  # fmt: skip


@pytest.mark.parametrize(("form", "choice", "reply"), FORMS)
async def test_a_form_is_answered_as_its_server_expects(
    tmp_path: Path, form: Any, choice: str, reply: Any
) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **asks(form)))
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        asked = await answered(rig, lambda event: choice)
        said = json.loads(str(rig.results()[0].content))
        assert said.get("result", said) == reply and len(asked) == 1


@pytest.mark.report("twentyhq/twenty#24582")
@pytest.mark.parametrize("token", ["tool-call-4", None, 4_000, {"a": 1}])
async def test_progress_of_no_call_does_no_harm(tmp_path: Path, token: Any) -> None:
    assert (await echoed(tmp_path, calls={"echo": {"do": "progress", "token": token}})).content == "echo {}"


LOGINS: list[Any] = [
    reported("atlassian/atlassian-mcp-server#148", LoginOddities(challenges=["Bearer"], resource_at=[])),
    reported("PrimeIntellect-ai/prime-agent#766", LoginOddities(
        resource={"authorization_servers": ["{at}/as"]}, metadata={"issuer": "{at}/as"},
        metadata_at=[f"{METADATA}/as"])),
    reported("openai/codex#42427", challenged(f'Bearer error="x", resource_metadata="{AT_PLACE}"')),
    reported("cloudflare/mcp-server-cloudflare#257", LoginOddities(challenges=[], resource_at=[])),
    reported("mcpjungle/MCPJungle#293", LoginOddities(
        challenges=[f'Bearer resource_metadata="{{at}}{PRM}"'], resource_at=[PRM])),
    reported("Swiggy/swiggy-mcp-server-manifest#88", LoginOddities(
        challenges=[f'Bearer realm="mcp", resource_metadata="{{at}}{PRM}"'], resource_at=[])),
]  # fmt: skip


@pytest.mark.parametrize("odd", LOGINS)
async def test_the_login_server_is_found(odd: LoginOddities, tmp_path: Path) -> None:
    with login_server(odd) as seen:
        entry = entry_of(seen)
        await logged_in(tmp_path, entry)
        assert [it.name for it in await tried(tmp_path, entry)] == ["echo"]


SCHEMAS: list[Any] = [
    reported("microsoft/vscode#299035", {"type": "object"}),
    reported("promptfoo/promptfoo#5960", {}),
    {"type": "object", "properties": None, "required": None},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_tool_without_parameters_is_called(tmp_path: Path, schema: Any) -> None:
    assert (await echoed(tmp_path, tools=[tool("echo", schema=schema)])).content == "echo {}"


@pytest.mark.report("anthropics/claude-code#83838")  # fmt: skip
@pytest.mark.report("anthropics/claude-code#74329")  # fmt: skip
@pytest.mark.parametrize("code", [0, 3])
async def test_a_server_that_ends_in_a_call_keeps_its_tools(tmp_path: Path, code: int) -> None:
    plan: dict[str, Any] = {
        "tools": [tool("die"), tool("echo")],
        "calls": {"die": {"do": "exit", "code": code}},
    }
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    names = ("echo", "die", "echo", "echo")
    script: list[Piece] = [*(tool_call(f"raw__{name}") for name in names), text("done")]
    async with running(tmp_path, [*script, tool_call("raw__echo"), text("done")]) as rig:
        talk = await rig.talk("full", say="go")
        await talk.say("again")
        assert [it.is_error for it in rig.results()] == [False, True, False, False, False]


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#731")  # fmt: skip
@pytest.mark.report("Hmbown/Codewhale#6187")  # fmt: skip
async def test_a_server_that_is_killed_between_messages_comes_back_with_its_tools(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    entry = raw_server(tmp_path / "plans", "raw", starts=str(starts))
    user_file(tmp_path / "state", raw=entry)
    script: list[Piece] = [tool_call("raw__echo"), text("one"), tool_call("raw__more"), text("two")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full", say="go")
        change_plan(
            tmp_path / "plans/raw.json", {"tools": [tool("echo"), tool("more")], "starts": str(starts)}
        )
        os.kill(int(starts.read_text().split()[0]), signal.SIGKILL)
        await eventually(lambda: len(starts.read_text().split()) == 2)
        await until_state(talk, "raw", "running")
        await talk.say("again")
        assert [it.content for it in rig.results()] == ["echo {}", "more {}"]


@pytest.mark.report("docker/docker-agent#2244")
async def test_a_server_by_http_that_was_restarted_is_asked_for_its_tools_again(tmp_path: Path) -> None:
    odd = Oddities(lost=404)
    with odd_server(odd) as url:
        user_file(tmp_path / "state", odd={"url": url})
        async with running(tmp_path, [tool_call("odd__echo"), tool_call("odd__echo"), text("done")]) as rig:
            await rig.talk("full", say="go")
            assert [it.content for it in rig.results()] == ["called 1", "called 2"]
    assert odd.made.count("tools/list") >= 2


READS: list[Any] = [
    reported("modelcontextprotocol/csharp-sdk#821", "kb://docs2/topic-auth.md", "text of kb://docs2/topic-auth.md"),
    reported("modelcontextprotocol/csharp-sdk#516", "kb://summary", "text of kb://summary"),
]  # fmt: skip


@pytest.mark.parametrize(("uri", "said"), READS)
async def test_a_resource_is_read_by_the_model(tmp_path: Path, uri: str, said: str) -> None:
    plan = {
        "resources": [{"uri": "kb://summary", "name": "s"}],
        "resourceTemplates": [{"uriTemplate": "kb://{path}", "name": "p"}],
    }
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(
        tmp_path, [tool_call("read_resource", json.dumps({"server": "raw", "uri": uri})), text("done")]
    ) as rig:
        await rig.talk("full", say="go")
        assert said in str(rig.results()[0].content)
