"""Questions of MCP servers to the user (elicitation), in both protocol eras, and without a user."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_ls.loop.events.types import QuestionAsked
from agent_ls.mcp.descriptions import Elicitation, ElicitationReply
from agent_ls.mcp.elicitation import asks_for_secret, fields_of, value_of
from agent_ls.mcp.server_questions import Asker
from agent_ls.mcp.session_errors import RequestLimit
from tests.mcp.plans import raw_server, sent, tool, user_file
from tests.mcp.rig import running
from tests.support.commands import environment, provider_variables, run
from tests.support.fake_provider import text, tool_call
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported
from tests.support.session_rig import SessionRig

pytestmark = pytest.mark.req("T11")

FORM = {
    "type": "object",
    "properties": {
        "branch": {"type": "string", "enum": ["main", "next"]},
        "count": {"type": "integer", "minimum": 1, "default": 3},
        "force": {"type": "boolean"},
    },
    "required": ["branch", "force"],
}


def asking(tmp_path: Path, state: str, message: str = "Where to?", form: Any = FORM) -> dict[str, Any]:
    params = {"mode": "form", "message": message, "requestedSchema": form}
    calls = {"push": {"do": "elicit", "form": params, "state": state}}
    return raw_server(tmp_path / "plans", "raw", modern=True, tools=[tool("push")], calls=calls)


async def answered(rig: SessionRig, choose: Callable[[QuestionAsked], str]) -> list[QuestionAsked]:
    talk = await rig.talk("full")
    asked: list[QuestionAsked] = []
    with anyio.fail_after(240), talk.live.session.subscribe() as events:
        talk.live.session.submit("go")
        async for item in events:
            event = item.envelope.event
            if isinstance(event, QuestionAsked):
                asked.append(event)
                talk.live.session.questions.reply(choose(event), "")
            if item.envelope.kind == "processing_end":
                return asked
    raise AssertionError("the session has ended")


async def test_an_elicitation_form_is_asked_field_by_field_and_its_state_is_returned_unchanged(
    tmp_path: Path,
) -> None:
    state = "s" * 1024 * 1024
    user_file(tmp_path / "state", raw=asking(tmp_path, state))

    def choose(event: QuestionAsked) -> str:
        if "branch" in event.question:
            return "next"
        if "force" in event.question:
            return "Yes"
        return "Leave this out" if "count" in event.question else "Answer"

    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        asked = await answered(rig, choose)

        assert asked[0].question == "The MCP server raw asks: Where to?"
        assert asked[1].choices[:2] == ("main", "next")
        reply, echoed = json.loads(str(rig.results()[0].content))
        assert reply == {"action": "accept", "content": {"branch": "next", "count": 3, "force": True}}
        assert echoed is True


@pytest.mark.report("mastra-ai/mastra#6796", "modelcontextprotocol/typescript-sdk#966")
async def test_declined_form_sends_nothing(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=asking(tmp_path, "x"))
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        await answered(rig, lambda event: "Decline")

        reply, _ = json.loads(str(rig.results()[0].content))
        assert reply == {"action": "decline"}


@pytest.mark.report("agentforce314/clawcodex#526")
async def test_a_form_and_an_unknown_request_during_a_call_are_both_answered(tmp_path: Path) -> None:
    params = {"mode": "form", "message": "Where to?", "requestedSchema": FORM}
    asks = {"do": "ask", "method": "elicitation/create", "params": params, "also": ["x/unknown"]}
    server = raw_server(tmp_path / "plans", "raw", tools=[tool("push")], calls={"push": asks})
    user_file(tmp_path / "state", raw=server)
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        await answered(rig, lambda event: "Decline")

        replies = [json.loads(line) for line in str(rig.results()[0].content).split("\n")]
        found = {reply["id"]: reply for reply in replies}
        assert found["asked"]["result"]["action"] == "decline"
        assert found["x/unknown"]["error"]["code"] == -32601


@pytest.mark.parametrize(
    "url",
    [
        reported("nicobailon/pi-mcp-adapter#132", "javascript:alert(1)"),
        "file:///etc/passwd",
        "vscode://x/y",
        "no address",
    ],
)
async def test_an_address_that_is_no_page_of_the_web_is_not_shown(tmp_path: Path, url: str) -> None:
    params = {"mode": "url", "elicitationId": "1", "url": url, "message": "Look"}
    calls = {"push": {"do": "ask", "method": "elicitation/create", "params": params}}
    user_file(
        tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", tools=[tool("push")], calls=calls)
    )
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        assert await answered(rig, lambda event: event.choices[0]) == []
        assert json.loads(str(rig.results()[0].content))["result"] == {"action": "cancel"}


@pytest.mark.report("anthropics/claude-code#89858")
def test_a_form_is_cancelled_in_exec_because_there_is_no_user(tmp_path: Path) -> None:
    user_file(tmp_path / "state", raw=asking(tmp_path, "x"))
    (tmp_path / "project").mkdir()
    with AnthropicServer([[ToolCall("raw__push", {})], "Done."]) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        settings = tmp_path / "settings.json"
        settings.write_text(json.dumps({"agentLs": {"mcp": {"firstWaitMs": 60_000}}}))
        environ["AGENT_LS_STATE_DIR"] = str(tmp_path / "state")
        environ["AGENT_LS_SETTINGS"] = str(settings)
        arguments = ("exec", "--allow", "raw__push", "push it")
        done = run(*arguments, cwd=tmp_path / "project", environ=environ)
        last = json.dumps(server.requests[-1].body["messages"][-1])
    assert "cancel" in last and "decline" not in last, (done, last)


async def test_a_form_that_asks_for_a_password_has_a_warning(tmp_path: Path) -> None:
    form = {"type": "object", "properties": {"db_password": {"type": "string"}}}
    user_file(tmp_path / "state", raw=asking(tmp_path, "x", "Log in", form))
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        asked = await answered(rig, lambda event: "Decline")

        assert len(asked) == 1 and "in doubt" in asked[0].question


PAGE = {"mode": "url", "elicitationId": "1", "url": "https://auth.example/go", "message": "Allow it"}


@pytest.mark.report("strands-agents/harness-sdk#1742")
@pytest.mark.report("topcheer/ggcode#2462")
@pytest.mark.report("cloudflare/agents#1875")
@pytest.mark.parametrize(("answer", "calls"), [("I have opened the page", 2), ("Decline", 1)])
async def test_a_call_that_needs_a_page_is_made_again_when_the_user_has_opened_it(
    tmp_path: Path, answer: str, calls: int
) -> None:
    log = tmp_path / "log"
    error = {"code": -32042, "message": "more is required", "data": {"elicitations": [PAGE]}}
    plan = {"tools": [tool("push")], "calls": {"push": {"error": error}}, "log": str(log)}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [tool_call("raw__push"), text("done")]) as rig:
        [asked] = await answered(rig, lambda event: answer)

        assert "https://auth.example/go" in asked.question
        assert len([it for it in sent(log) if it.get("method") == "tools/call"]) == calls
        assert "https://auth.example/go" in str(rig.results()[0].content)


@pytest.mark.report("UsefulSoftwareCo/executor#1953")
async def test_the_time_that_the_user_takes_to_answer_does_not_count() -> None:
    asking = anyio.Event()
    with RequestLimit(1000) as limit:
        begun = limit.deadline

        async def elicit(asked: Elicitation) -> ElicitationReply:
            assert limit.deadline == math.inf
            asking.set()
            return ElicitationReply("decline")

        asker = Asker(elicit)
        with asker.during(limit):
            await asker.ask(Elicitation("?"))
        assert asking.is_set() and begun <= limit.deadline < math.inf


@pytest.mark.parametrize(
    ("schema", "words", "value"),
    [
        ({"type": "integer", "minimum": 2}, "3", 3),
        ({"type": "integer", "minimum": 2}, "1", None),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "many", None),
        ({"type": "boolean"}, "no", False),
        ({"type": "boolean"}, "perhaps", None),
        ({"type": "string", "maxLength": 3}, "abcd", None),
        ({"type": "string", "enum": ["a"], "enumNames": ["First"]}, "First", "a"),
        ({"type": "string", "oneOf": [{"const": "x", "title": "The x"}]}, "The x", "x"),
        ({"type": "string", "enum": ["a"]}, "b", None),
    ],
)
def test_typed_text_is_converted_to_the_type_of_the_field(schema: Any, words: str, value: Any) -> None:
    [field] = fields_of({"properties": {"f": schema}})

    if value is None:
        with pytest.raises(ValueError):
            value_of(field, (words,))
    else:
        assert value_of(field, (words,)) == value


def test_questions_for_secrets_are_recognised() -> None:
    assert asks_for_secret("Enter your API key", ())
    assert asks_for_secret("", fields_of({"properties": {"access_token": {"type": "string"}}}))
    assert not asks_for_secret("Which branch?", fields_of({"properties": {"branch": {"type": "string"}}}))
