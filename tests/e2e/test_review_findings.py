"""/review over real stdio: findings are diagnostics that move with the text and have code actions, in all clients
(H2).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.e2e.stock import chatting
from tests.support.framed_client import CAPABILITIES, ResponseError
from tests.support.loopback import Answer, AnthropicServer, ToolCall
from tests.support.served import Served, served

HOSTILE = "Rates are \x1b[31msubtracted\u202e [x](command:evil) <b>once</b>"
FINDING = {
    "file_path": "shop/cart.py",
    "start_line": 11,
    "end_line": 11,
    "severity": "error",
    "message": HOSTILE,
    "suggested_fix": "amount * (1 - DISCOUNT_RATE)",
}
OTHER = {
    **FINDING,
    "start_line": 1,
    "end_line": 1,
    "severity": "info",
    "message": "A remark.",
    "suggested_fix": "",
}

REVIEW = [{"type": "command", "name": "review", "arguments": "shop"}]


def review() -> list[Answer]:
    return [[ToolCall("report_finding", FINDING), ToolCall("report_finding", OTHER)], "Two findings."]


def is_marked(path: Path, *lines: int) -> Callable[[dict[str, Any]], bool]:
    """Return a predicate: a message publishes our findings at exactly these lines."""

    def found(message: dict[str, Any]) -> bool:
        params = message.get("params") or {}
        if message.get("method") != "textDocument/publishDiagnostics" or params["uri"] != path.as_uri():
            return False
        marks = [it for it in params["diagnostics"] if it["code"] == "review"]
        return sorted(it["range"]["start"]["line"] for it in marks) == sorted(lines)

    return found


@pytest.fixture(autouse=True)
def announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Announce diagnostics and code actions, as VS Code's client library and Neovim do."""
    literals = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix"]}}}
    documents = {**CAPABILITIES["vscode"]["textDocument"], "publishDiagnostics": {}, "codeAction": literals}
    monkeypatch.setitem(CAPABILITIES, "vscode", {**CAPABILITIES["vscode"], "textDocument": documents})


@asynccontextmanager
async def reviewed(
    tmp_path: Path, script: list[Answer]
) -> AsyncIterator[tuple[Served, str, Path, AnthropicServer]]:
    with AnthropicServer(script) as provider:
        async with served(tmp_path, provider=provider, mode="ask") as found:
            cart = found.project / "shop" / "cart.py"
            await found.editor.open(cart)
            session_id = await found.editor.new_session(provider="anthropic")
            yield found, session_id, cart, provider


async def actions(found: Served, path: Path, line: int) -> dict[str, dict[str, Any]]:
    """Return the commands of the code actions at a line, keyed by the verb in the command name."""
    at = {"line": line, "character": 0}
    answer = await found.client.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": path.as_uri()},
            "range": {"start": at, "end": at},
            "context": {"diagnostics": []},
        },
    )
    return {
        it["command"]["command"].removeprefix("agentLs.").removesuffix("Finding"): it["command"]
        for it in answer
    }


def tool_names(request: Any) -> list[str]:
    return [tool["name"] for tool in request.body["tools"]]


@pytest.mark.req("H21", "H2")
async def test_findings_are_plain_text_diagnostics_that_move_with_edits_and_disappear_when_their_line_changes(
    tmp_path: Path,
) -> None:
    async with reviewed(tmp_path, review()) as (found, session_id, cart, _):
        await found.editor.say(session_id, "", input=REVIEW)
        sent = await found.client.wait_for(is_marked(cart, 0, 10))

        (mark,) = [it for it in sent["params"]["diagnostics"] if it["severity"] == 1]
        assert (mark["source"], mark["range"]["end"]["line"]) == ("agent-ls", 11)
        assert isinstance(mark["message"], str), "plain text, never Markdown"
        assert "amount * (1" in mark["message"] and "[x](command:evil) <b>" in mark["message"]
        assert "\x1b" not in mark["message"] and "\u202e" not in mark["message"]

        await found.editor.type(cart, 5, "# a line above\n")
        await found.client.wait_for(is_marked(cart, 0, 11))
        await found.editor.type(cart, 11, "    ")
        await found.client.wait_for(is_marked(cart, 0))
        await found.editor.type(cart, 0, "x")
        await found.client.wait_for(is_marked(cart))


@pytest.mark.req("H21", "H2")
async def test_actions_fix_explain_and_dismiss_a_finding(tmp_path: Path) -> None:
    script: list[Answer] = [*review(), "It is subtracted.", "Fixed."]
    async with reviewed(tmp_path, script) as (found, session_id, cart, provider):
        await found.editor.say(session_id, "", input=REVIEW)
        await found.client.wait_for(is_marked(cart, 0, 10))
        offered = await actions(found, cart, 10)
        assert set(offered) == {"fix", "explain", "dismiss"} and not await actions(found, cart, 5)

        for act, words in (("explain", "Explain this finding"), ("fix", "Fix this finding")):
            seen = len(found.client.received)
            await found.client.request("workspace/executeCommand", offered[act])
            await found.editor.turn_end(session_id, seen)
            last = json.dumps(provider.requests[-1].body["messages"][-1])
            assert words in last and "cart.py, line 11" in last

        await found.client.request("workspace/executeCommand", offered["dismiss"])
        await found.client.wait_for(is_marked(cart, 0))
        with pytest.raises(ResponseError, match="no longer listed"):
            await found.client.request("workspace/executeCommand", offered["dismiss"])
        for nonsense in ({"command": "rm"}, {"command": "agentLs.fixFinding"}, {"command": 7}, 7):
            with pytest.raises(ResponseError):
                await found.client.request("workspace/executeCommand", nonsense)


@pytest.mark.req("H21", "H2")
async def test_the_finding_tool_is_offered_from_the_first_review_on_also_after_a_resume(
    tmp_path: Path,
) -> None:
    script: list[Answer] = ["Hello.", *review(), "Bye.", "Again."]
    async with reviewed(tmp_path, script) as (found, session_id, _, provider):
        await found.editor.say(session_id, "hello")
        await found.editor.say(session_id, "", input=REVIEW)
        await found.editor.say(session_id, "bye")
        await found.change("closeSession", session_id)
        await found.editor.subscribe(session_id)
        await found.editor.say(session_id, "again")

        first, *others = provider.requests
        assert "report_finding" not in tool_names(first)
        assert tool_names(others[0]) == [*tool_names(first), "report_finding"]
        beginnings = {json.dumps([it.body["system"], it.body["tools"]]) for it in others}
        assert len(beginnings) == 1, "the beginning of all later requests is the same"


@pytest.mark.req("H21", "H2", "H11")
async def test_an_editor_without_a_plugin_gets_diagnostics_and_code_actions_of_findings(
    tmp_path: Path,
) -> None:
    project = copy_sample_project(tmp_path / "project")
    cart = project / "shop" / "cart.py"
    with AnthropicServer([*review(), "Fixed."]) as provider:
        async with chatting(project / "chat.agent.md", None, provider, name="helix") as editor:
            await editor.open(cart)
            await editor.open(project / "chat.agent.md", "")
            await editor.say("/review shop")
            await editor.chat_until("Two findings.")
            await editor.client.wait_for(is_marked(cart, 0, 10))

            offered = {it["title"].split(":")[0]: it for it in await editor.actions(cart, 10, 10)}
            assert {"Fix with the agent", "Let the agent explain", "Dismiss"} <= set(offered)
            await editor.choose(offered["Dismiss"])
            await editor.client.wait_for(is_marked(cart, 0))
