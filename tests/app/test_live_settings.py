"""Settings that change while sessions are open: what holds for them, from when, and what stays as it was chosen."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.app.models import Models
from agent_ls.app.settings import Settings
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.messages import user
from agent_ls.llm.requests import Request
from agent_ls.loop.config import ContextConfig
from agent_ls.loop.events import ApprovalResolved
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.loopback import AnthropicServer
from tests.support.workbench import PROVIDER, running, wait

pytestmark = pytest.mark.req("H2")


async def test_limits_times_and_the_like_hold_for_a_session_that_is_open(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        talk = await bench.talk()
        changed = {
            "maxTurns": 3,
            "maxToolRoundsPerInput": 4,
            "defaultCommandTimeoutMs": 5,
            "maxCommandTimeoutMs": 6,
            "userInstructions": "Be brief.",
            "edits": {"ambiguous": "refuse", "readFirst": "all"},
            "context": {"keepMessages": 6},
            "limits": {"tokensPerInput": 7},
        }
        assert bench.workbench.change_settings(changed) == []
        config = talk.live.session.config
        assert (config.max_turns, config.max_tool_rounds_per_input) == (3, 4)
        assert (config.default_command_timeout_ms, config.max_command_timeout_ms) == (5, 6)
        assert config.user_instructions == "Be brief."
        assert (config.refuse_ambiguous_edits, config.read_first) == (True, "all")
        assert config.context == ContextConfig(keep_messages=6)
        assert config.limits.tokens_per_input == 7


async def test_what_was_chosen_for_a_session_stays_and_new_ones_begin_with_the_settings(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, []) as bench:
        talk = await bench.talk("edits")
        await talk.live.configure(effort="high", limits={"tokens_per_input": 9})
        changed = {"mode": "plan", "review": "before", "effort": "low", "limits": {"costUsdPerInput": 2}}
        bench.workbench.change_settings(changed)
        summary, config = talk.live.summary(), talk.live.session.config
        assert (summary.mode, summary.review, summary.effort) == ("edits", "after", "high")
        assert (config.limits.tokens_per_input, config.limits.cost_usd_per_input) == (9, 2)
        new = await bench.workbench.new_session(workspace_folder=str(tmp_path), provider=PROVIDER)
        assert (new.summary().mode, new.summary().review, new.summary().effort) == ("plan", "before", "low")


@pytest.mark.req("O6")
async def test_tools_change_with_the_next_input_and_the_instructions_too(tmp_path: Path) -> None:
    async with running(tmp_path, [text("One."), text("Two.")]) as bench:
        talk = await bench.talk()
        await talk.say("one")
        bench.workbench.change_settings(
            {"thinkTool": True, "nativeToolNames": True, "webFetch": True, "userInstructions": "Be brief."}
        )
        await talk.say("two")
        before, after = ({tool.name for tool in request.tools} for request in bench.model.requests)
    assert "edit_file" in before and "think" not in before
    assert {"think", "Edit", "WebFetch"} <= after and "edit_file" not in after
    assert "Be brief." not in str(bench.model.requests[0]) and "Be brief." in str(bench.model.requests[1])


@pytest.mark.req("X5")
async def test_the_next_command_of_an_open_session_gets_the_variables_that_are_let_through_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "1")
    look = tool_call("shell", json.dumps({"command": 'echo "mine=$MINE."'}))
    script: list[Piece] = [look, text("Seen."), look, text("Seen.")]
    async with running(tmp_path, script, credentials=Credentials.from_environment()) as bench:
        talk = await bench.talk("full")
        await talk.say("look")
        bench.workbench.change_settings({"commandEnvironment": {"inherit": "core"}})
        await talk.say("look again")
        one, two = (result.content for result in bench.results())
    assert "mine=1." in one and "mine=." in two


async def test_a_question_that_is_asked_from_then_on_waits_as_long_as_the_setting_says(
    tmp_path: Path,
) -> None:
    script: list[Piece] = [
        tool_call("shell", json.dumps({"command": "touch made"})),
        text("So be it."),
    ]
    async with running(tmp_path, script) as bench:
        talk = await bench.talk("ask", answers=wait)
        bench.workbench.change_settings({"approvalTimeoutMs": 1})
        await talk.say("make it")
        assert [event.decided_by for event in talk.of(ApprovalResolved)] == ["timeout"]


@pytest.mark.req("U11")
async def test_another_address_of_a_provider_holds_from_the_next_call_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    request = Request(messages=(user("hello"),), model="claude-sonnet-4-5", provider="anthropic")
    with AnthropicServer(["One."]) as one, AnthropicServer(["Two."]) as two:

        def at(server: AnthropicServer, **more: object) -> Settings:
            return Settings.model_validate({"providers": {"anthropic": {"baseUrl": server.base_url, **more}}})

        models = Models(at(one), Credentials.from_environment(), {})
        assert (await models.client.complete(request)).text == "One."
        models.change(at(two, headers={"X-Team": "a"}))
        assert (await models.client.complete(request)).text == "Two."
        assert two.requests[0].headers["x-team"] == "a"
        await models.client.close()


async def test_the_level_of_the_log_and_who_listens_are_told_at_once(tmp_path: Path) -> None:
    heard: list[Settings] = []
    async with running(tmp_path, []) as bench:
        bench.workbench.on_settings = heard.append
        bench.workbench.change_settings({"logLevel": "debug", "save": "never"})
        assert logging.getLogger("agent_ls").level == logging.DEBUG
        bench.workbench.change_settings({})
        assert logging.getLogger("agent_ls").level == logging.INFO
    assert [settings.save for settings in heard] == ["never", "agent"]


@pytest.mark.req("R5")
async def test_what_is_wrong_leaves_the_last_that_was_right(tmp_path: Path) -> None:
    wrong: Mapping[str, Any] = {"maxTurns": -1, "mode": "yolo", "save": "never"}
    async with running(tmp_path, []) as bench:
        talk = await bench.talk()
        bench.workbench.change_settings({"maxTurns": 3, "mode": "plan"})
        problems = bench.workbench.change_settings(wrong)
        assert talk.live.session.config.max_turns == 3
        standing = bench.workbench.settings
        assert (standing.max_turns, standing.mode, standing.save) == (3, "plan", "never")
    assert ["maxTurns" in problems[1], "-1" in problems[1], "greater than or equal to 0" in problems[1]] == [
        True
    ] * 3
    assert '"yolo"' in problems[0] and "'plan', 'ask', 'edits' or 'full'" in problems[0]


@pytest.mark.req("X4")
async def test_a_sandbox_for_sessions_that_are_open_is_said_to_come_later(tmp_path: Path) -> None:
    async with running(tmp_path, []) as bench:
        assert bench.workbench.change_settings({"sandbox": {"enabled": True}}) == []
        await bench.talk()
        (told,) = bench.workbench.change_settings({})
    assert told.startswith("agentLs.sandbox") and "until they are closed" in told
