"""Tools of MCP servers in a session with a real server process: listed, approved, called, and their results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.headless.allowed import allow_listed
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd, Warning
from agent_ls.mcp.names import tool_name
from agent_ls.services.errors import BadChoiceError
from tests.mcp.plans import project_file, raw_server, sent, tool, user_file
from tests.mcp.rig import running
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.reports import reported
from tests.support.session_rig import allow, deny

pytestmark = pytest.mark.req("T11")


def names(request: object) -> list[str]:
    return [it.name for it in request.tools]  # type: ignore[attr-defined]


async def test_tools_of_a_users_server_follow_the_built_in_ones_and_can_be_called(tmp_path: Path) -> None:
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", log=str(log)))
    script: list[Piece] = [tool_call("raw__echo", '{"text": "hello"}'), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="call it")

        assert names(rig.model.requests[0])[-1] == "raw__echo"
        assert rig.results()[0].content == 'echo {"text": "hello"}'
        [asked] = talk.of(ApprovalRequested)
        assert asked.effect["server"] == "raw" and json.loads(asked.effect["text"]) == {"text": "hello"}
        calls = [message for message in sent(log) if message["method"] == "tools/call"]
        assert [call["params"]["arguments"] for call in calls] == [{"text": "hello"}]


async def test_denied_call_is_not_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", log=str(log)))
    async with running(tmp_path, [tool_call("raw__echo"), text("done")]) as rig:
        await rig.talk(answers=deny, say="call it")

        assert rig.results()[0].is_error
        assert "tools/call" not in [message["method"] for message in sent(log)]


async def test_invalid_arguments_are_not_sent_and_the_model_gets_the_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    plan = raw_server(tmp_path / "plans", "raw", tools=[tool("add", schema=schema)], log=str(log))
    user_file(tmp_path / "state", raw=plan)
    async with running(tmp_path, [tool_call("raw__add", '{"n": "one"}'), text("done")]) as rig:
        talk = await rig.talk(say="call it")

        assert "must be integer" in str(rig.results()[0].content)
        assert not talk.of(ApprovalRequested)
        assert "tools/call" not in [message["method"] for message in sent(log)]


async def test_plan_mode_refuses_an_mcp_tool_call_and_full_mode_runs_it_without_approval(
    tmp_path: Path,
) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw"))
    script: list[Piece] = [tool_call("raw__echo"), text("done"), tool_call("raw__echo"), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("plan", say="call it")
        assert "plan mode" in str(rig.results()[0].content)

        await talk.live.configure(mode="full")
        await talk.say("call it")
        assert rig.results()[-1].content == "echo {}"
        assert not talk.of(ApprovalRequested)


async def test_rule_for_a_tool_covers_later_calls_with_other_arguments(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw"))
    script: list[Piece] = [
        tool_call("raw__echo", '{"text": "1"}'),
        tool_call("raw__echo", '{"text": "2"}'),
        text("done"),
    ]

    def keep(request: ApprovalRequested) -> ApprovalAnswer:
        rule = next(it for it in request.rules if it.id.startswith("tool:") and it.scope == "session")
        return ApprovalAnswer("allow", "session", rule.id, decided_by="test")

    async with running(tmp_path, script) as rig:
        talk = await rig.talk(answers=keep, say="call it twice")

        assert len(talk.of(ApprovalRequested)) == 1
        assert [it.content for it in rig.results()] == ['echo {"text": "1"}', 'echo {"text": "2"}']


async def test_a_rule_for_read_only_tools_allows_all_read_only_tools_of_the_server_and_no_others(
    tmp_path: Path,
) -> None:
    reading: dict[str, Any] = {"annotations": {"readOnlyHint": True}}
    tools = [tool("get", **reading), tool("list", **reading), tool("put")]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools))
    script: list[Piece] = [tool_call("raw__get"), tool_call("raw__list"), tool_call("raw__put"), text("done")]

    def keep(request: ApprovalRequested) -> ApprovalAnswer:
        rule = next((it for it in request.rules if it.id.startswith("reads:")), None)
        return ApprovalAnswer("allow", "session", rule.id, decided_by="test") if rule else allow(request)

    async with running(tmp_path, script) as rig:
        talk = await rig.talk(answers=keep, say="go on")

        assert [it.effect["title"] for it in talk.of(ApprovalRequested)] == ["get", "put"]


async def test_an_allow_listed_tool_needs_no_approval(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=[tool("get"), tool("put")]))
    async with running(tmp_path, [tool_call("raw__get"), tool_call("raw__put"), text("done")]) as rig:
        talk = await rig.talk()
        await allow_listed(talk.live, ["raw__get"], {})
        await talk.say("go")

        assert [it.effect["title"] for it in talk.of(ApprovalRequested)] == ["put"]


@pytest.mark.parametrize(
    ("pattern", "asked"),
    [
        reported("ambient-code/platform#668", "raw__*", ["a_get"]),
        reported("anthropics/claude-code#65797", "raw__get*", ["put", "a_get"]),
        ("raw__*e*", ["put", "a_get"]),
        reported(
            "anthropics/claude-code#73052",
            "mcp__raw__*",
            ["a_get"],
        ),
        reported(
            "stefanhoelzl/codehydra#536",
            "mcp__raw",
            ["a_get"],
        ),
        reported(
            "anthropics/claude-code#28127",
            "mcp__raw__get*",
            ["put", "a_get"],
        ),
        ("mcp__raw__longer", ["get-now", "put"]),
        ("raw__get_now", ["put", "a_get"]),
        ("mcp__raw__get-now", ["put", "a_get"]),
    ],
)
async def test_a_pattern_allows_tools_of_the_named_server_only(
    tmp_path: Path, pattern: str, asked: list[str]
) -> None:
    raw = raw_server(tmp_path / "plans", "raw", tools=[tool("get-now"), tool("put")])
    longer = raw_server(tmp_path / "plans", "longer", tools=[tool("a_get")])
    user_file(tmp_path / "state", raw=raw, raw__longer=longer)
    calls = ["raw__get_now", "raw__put", "raw__longer__a_get"]
    async with running(tmp_path, [*map(tool_call, calls), text("done")]) as rig:
        talk = await rig.talk()
        await allow_listed(talk.live, [pattern], {})
        await talk.say("go")

        assert [it.effect["title"] for it in talk.of(ApprovalRequested)] == asked


@pytest.mark.parametrize(
    "rule",
    [
        reported(
            "bbvch-ai/aihub-core#1439",
            "mcp__*",
        ),
        "other__*",
        "mcp__other",
        "mcp__other__get",
        "foo-bar__get",
        "foo.bar",
    ],
)
async def test_a_rule_for_no_server_of_the_session_is_refused(tmp_path: Path, rule: str) -> None:
    user_file(tmp_path / "state", **{"foo.bar": raw_server(tmp_path / "plans", "raw")})
    async with running(tmp_path) as rig:
        talk = await rig.talk()
        with pytest.raises(BadChoiceError, match=r"foo\.bar"):
            await allow_listed(talk.live, [rule], {})


@pytest.mark.report("QwenLM/qwen-code#10199")
@pytest.mark.parametrize("rule", ["foo_bar__echo", "mcp__foo_bar__echo", "foo_bar__*"])
async def test_a_rule_for_one_server_allows_nothing_of_one_with_a_similar_name(
    tmp_path: Path, rule: str
) -> None:
    entry = raw_server(tmp_path / "plans", "raw")
    user_file(tmp_path / "state", **{"foo_bar": entry, "foo.bar": entry})
    of_model = ("foo_bar__echo", tool_name("foo_bar", "echo", ("foo_bar__echo",)))
    async with running(tmp_path, [*map(tool_call, of_model), text("done")]) as rig:
        talk = await rig.talk()
        await allow_listed(talk.live, [rule], {})
        await talk.say("go")

        assert [it.effect["server"] for it in talk.of(ApprovalRequested)] == ["foo.bar"]


async def test_annotations_count_only_for_servers_that_the_user_trusts(tmp_path: Path) -> None:
    tools = [tool("get", annotations={"readOnlyHint": True})]
    entry = raw_server(tmp_path / "plans", "raw", tools=tools)
    user_file(tmp_path / "state", doubted=entry, believed={**entry, "trust": "annotations"})
    script: list[Piece] = [tool_call("believed__get"), tool_call("doubted__get"), text("done")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk(say="go on")

        assert [it.effect["server"] for it in talk.of(ApprovalRequested)] == ["doubted"]


async def test_failed_and_mixed_results_reach_the_model(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "here"},
        {"type": "resource_link", "uri": "demo://1", "name": "one"},
        {"type": "resource", "resource": {"uri": "demo://2", "text": "two"}},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    ]
    calls = {"mixed": {"content": content}, "broken": {"text": "no such row", "is_error": True}}
    tools = [tool("mixed"), tool("broken")]
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=tools, calls=calls))
    async with running(tmp_path, [tool_call("raw__mixed"), tool_call("raw__broken"), text("done")]) as rig:
        await rig.talk("full", say="go on")

        mixed, broken = rig.results()
        expected = (
            "here\n[resource one <demo://1>]\nResource <demo://2>:\n```\ntwo\n```\n"
            "[audio audio/wav: 3 bytes, not displayed]"
        )
        assert mixed.content == expected
        assert broken.is_error and broken.content == "no such row"


async def test_progress_notifications_are_streamed_as_tool_call_output(tmp_path: Path) -> None:
    plan = {"tools": [tool("slow")], "calls": {"slow": {"do": "progress", "text": "over"}}}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__slow"), text("done")]) as rig:
        talk = await rig.talk("full")
        texts: list[str] = []
        with talk.live.session.subscribe() as events:
            await talk.say("go on")
            async for item in events:
                texts.append(getattr(item.envelope.event, "text", ""))
                if isinstance(item.envelope.event, ToolCallEnd):
                    break

        assert "1/3 step 1\n2/3 step 2\n3/3 step 3\n" in "".join(texts)


async def test_a_session_without_servers_has_no_server_tools(tmp_path: Path) -> None:
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="hello")

        assert not [name for name in names(rig.model.requests[0]) if "__" in name]
        assert talk.live.servers is not None and not talk.live.servers.made


async def test_project_server_files_are_not_read_if_the_setting_is_off(tmp_path: Path) -> None:
    project_file(tmp_path / "project", raw=raw_server(tmp_path / "plans", "raw"))
    async with running(tmp_path, [text("done")], projectFiles=False) as rig:
        talk = await rig.talk(say="hello")

        assert not talk.of(ApprovalRequested) and not talk.of(Warning)
