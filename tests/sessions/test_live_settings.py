"""Settings that change while sessions are open: which of them apply, from when, and which choices of a session stay."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.credentials import Credentials
from agent_ls.llm.messages import user
from agent_ls.llm.requests import Request
from agent_ls.llm.retry import RetryPolicy
from agent_ls.loop.config import ContextConfig, SessionConfig
from agent_ls.loop.events.types import ApprovalResolved, ProcessingEnd, QuestionAnswered
from agent_ls.services.models.service import ModelService
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.build.config import session_config
from agent_ls.sessions.new_session import SessionSpec
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.loopback import AnthropicServer
from tests.support.session_rig import PROVIDER, running, wait

pytestmark = pytest.mark.req("H2")


async def test_limits_and_times_apply_to_an_open_session(tmp_path: Path) -> None:
    async with running(tmp_path, []) as rig:
        talk = await rig.talk()
        changed = {
            "maxTurns": 3,
            "maxToolRoundsPerInput": 4,
            "defaultCommandTimeoutMs": 5,
            "maxCommandTimeoutMs": 6,
            "userInstructions": "Be brief.",
            "edits": {"ambiguous": "refuse", "readFirst": "all"},
            "context": {"keepMessages": 6},
            "limits": {"tokensPerInput": 7},
            "toolOutputLimits": {"shell": 8},
            "toolLineLimits": {"grep": 9},
            "loopDetection": {"enabled": False, "window": 11},
            "subagents": {"maxDepth": 2, "maxRunning": 3, "maxTurns": 4, "maxCostUsd": 5},
            "retry": {"maxRetries": 4, "baseDelayMs": 500, "maxDelayMs": 6000},
        }
        assert rig.manager.change_settings(changed) == []
        config = talk.live.session.config
        assert (config.max_turns, config.max_tool_rounds_per_input) == (3, 4)
        assert (config.default_command_timeout_ms, config.max_command_timeout_ms) == (5, 6)
        assert config.user_instructions == "Be brief."
        assert (config.refuse_ambiguous_edits, config.read_first) == (True, "all")
        assert config.context == ContextConfig(keep_messages=6)
        assert config.limits.tokens_per_input == 7
        assert (config.tool_output_limits, config.tool_line_limits) == ({"shell": 8}, {"grep": 9})
        assert (config.enable_loop_detection, config.loop_detection_window) == (False, 11)
        assert (config.max_subagent_depth, config.max_subagents, config.max_subagent_turns) == (2, 3, 4)
        assert config.max_subagent_cost_usd == 5
        assert config.retry == RetryPolicy(max_retries=4, base_delay_s=0.5, max_delay_s=6)


@pytest.mark.req("L2")
def test_each_session_config_field_can_be_changed_by_a_setting() -> None:
    """When every setting differs from its default, so does every field of the config but the one of subagents."""
    others = {
        "maxTurns": 1, "maxToolRoundsPerInput": 1, "defaultCommandTimeoutMs": 1, "maxCommandTimeoutMs": 1,
        "toolOutputLimits": {"shell": 1}, "toolLineLimits": {"shell": 1}, "userInstructions": "x",
        "loopDetection": {"enabled": False, "window": 2},
        "subagents": {"maxDepth": 0, "maxRunning": 1, "maxTurns": 1, "maxCostUsd": 1},
        "edits": {"ambiguous": "refuse", "readFirst": "all"}, "limits": {"tokensPerInput": 1},
        "context": {"keepMessages": 6}, "retry": {"maxRetries": 0},
    }  # fmt: skip
    config = session_config(Settings.model_validate(others), "high")
    assert [
        field.name
        for field in fields(config)
        if getattr(config, field.name) == getattr(SessionConfig(), field.name)
    ] == ["is_subagent"]


async def test_changed_process_and_read_limits_apply_to_an_open_session(tmp_path: Path) -> None:
    start = tool_call("shell", json.dumps({"command": "sleep 60", "background": True}))
    read = tool_call("read_file", json.dumps({"file_path": "big.txt"}))
    script: list[Piece] = [start, start, text("Stop."), read, text("Too large."), read, text("Read.")]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("full")
        (Path(talk.live.summary().workspace_folder) / "big.txt").write_text("x" * (1024 * 1024 + 1))
        rig.manager.change_settings({"maxBackgroundProcesses": 1, "maxReadMebibytes": 1})
        await talk.say("start two")
        await talk.say("read")
        rig.manager.change_settings({})
        await talk.say("read again")
        one, two, small, large = (result.is_error for result in rig.results())
    assert (one, two, small, large) == (False, True, True, False)


async def test_changed_settings_do_not_override_options_set_for_an_open_session(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, []) as rig:
        talk = await rig.talk("edits")
        await talk.live.configure(effort="high", limits={"tokens_per_input": 9})
        changed = {"mode": "plan", "review": "before", "effort": "low", "limits": {"costUsdPerInput": 2}}
        rig.manager.change_settings(changed)
        summary, config = talk.live.summary(), talk.live.session.config
        assert (summary.mode, summary.review, summary.effort) == ("edits", "after", "high")
        assert (config.limits.tokens_per_input, config.limits.cost_usd_per_input) == (9, 2)
        new = await rig.manager.new_session(SessionSpec(workspace_folder=str(tmp_path), provider=PROVIDER))
        assert (new.summary().mode, new.summary().review, new.summary().effort) == ("plan", "before", "low")


@pytest.mark.req("O6")
async def test_tools_and_instructions_change_with_the_next_input(tmp_path: Path) -> None:
    async with running(tmp_path, [text("One."), text("Two.")]) as rig:
        talk = await rig.talk(say="one")
        rig.manager.change_settings(
            {"thinkTool": True, "nativeToolNames": True, "webFetch": True, "userInstructions": "Be brief."}
        )
        await talk.say("two")
        before, after = ({tool.name for tool in request.tools} for request in rig.model.requests)
    assert "edit_file" in before and "think" not in before
    assert {"think", "Edit", "WebFetch"} <= after and "edit_file" not in after
    assert "Be brief." not in str(rig.model.requests[0]) and "Be brief." in str(rig.model.requests[1])


@pytest.mark.req("X5")
async def test_a_changed_command_environment_applies_to_the_next_command_of_an_open_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "1")
    look = tool_call("shell", json.dumps({"command": 'echo "mine=$MINE."'}))
    script: list[Piece] = [look, text("Seen."), look, text("Seen.")]
    async with running(tmp_path, script, credentials=Credentials.from_environment()) as rig:
        talk = await rig.talk("full", say="look")
        rig.manager.change_settings({"commandEnvironment": {"inherit": "core"}})
        await talk.say("look again")
        one, two = (result.content for result in rig.results())
    assert "mine=1." in one and "mine=." in two


async def test_a_changed_approval_timeout_applies_to_the_next_approval_of_an_open_session(
    tmp_path: Path,
) -> None:
    script: list[Piece] = [
        tool_call("shell", json.dumps({"command": "touch made"})),
        text("So be it."),
    ]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", answers=wait)
        rig.manager.change_settings({"approvalTimeoutMs": 1})
        await talk.say("make it")
        assert [event.decided_by for event in talk.of(ApprovalResolved)] == ["timeout"]


@pytest.mark.req("U11", "L15")
async def test_the_approval_timeout_declines_a_question_of_the_model(tmp_path: Path) -> None:
    asked = tool_call("ask_user", json.dumps({"question": "Which?", "choices": ["a", "b"]}))
    async with running(tmp_path, [asked, text("I take a.")]) as rig:
        talk = await rig.talk("full", answers=wait)
        rig.manager.change_settings({"approvalTimeoutMs": 1})
        await talk.say("go")
        assert [(it.declined, it.decided_by) for it in talk.of(QuestionAnswered)] == [(True, "timeout")]
        assert [event.reason for event in talk.of(ProcessingEnd)] == ["completed"]


@pytest.mark.req("U11", "H18")
async def test_the_approval_timeout_ends_a_turn_at_a_limit(tmp_path: Path) -> None:
    call = tool_call("read_file", json.dumps({"file_path": "a.txt"}))
    async with running(tmp_path, [call, text("never")]) as rig:
        talk = await rig.talk("full", answers=wait)
        rig.manager.change_settings({"approvalTimeoutMs": 1, "limits": {"tokensPerInput": 5}})
        await talk.say("go")
        assert [(it.declined, it.decided_by) for it in talk.of(QuestionAnswered)] == [(True, "timeout")]
        assert [event.reason for event in talk.of(ProcessingEnd)] == ["limit"]


@pytest.mark.req("U11")
async def test_a_changed_provider_url_applies_from_the_next_model_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    request = Request(messages=(user("hello"),), model="claude-sonnet-4-5", provider="anthropic")
    with AnthropicServer(["One."]) as one, AnthropicServer(["Two."]) as two:

        def at(server: AnthropicServer, **more: object) -> Settings:
            return Settings.model_validate({"providers": {"anthropic": {"baseUrl": server.base_url, **more}}})

        models = ModelService(at(one), Credentials.from_environment(), {})
        assert (await models.client.complete(request)).text == "One."
        models.change(at(two, headers={"X-Team": "a"}))
        assert (await models.client.complete(request)).text == "Two."
        assert two.requests[0].headers["x-team"] == "a"
        await models.client.close()


async def test_the_log_level_changes_and_listeners_are_called_at_once(tmp_path: Path) -> None:
    heard: list[Settings] = []
    async with running(tmp_path, []) as rig:
        rig.client.on_settings = heard.append
        rig.manager.change_settings({"logLevel": "debug", "save": "never"})
        assert logging.getLogger("agent_ls").level == logging.DEBUG
        rig.manager.change_settings({})
        assert logging.getLogger("agent_ls").level == logging.INFO
    assert [settings.save for settings in heard] == ["never", "agent"]


@pytest.mark.req("R5")
async def test_an_invalid_setting_keeps_the_last_valid_value(tmp_path: Path) -> None:
    wrong: Mapping[str, Any] = {"maxTurns": -1, "mode": "yolo", "save": "never"}
    async with running(tmp_path, []) as rig:
        talk = await rig.talk()
        rig.manager.change_settings({"maxTurns": 3, "mode": "plan"})
        problems = rig.manager.change_settings(wrong)
        assert talk.live.session.config.max_turns == 3
        standing = rig.manager.settings
        assert (standing.max_turns, standing.mode, standing.save) == (3, "plan", "never")
    assert ["maxTurns" in problems[1], "-1" in problems[1], "equal to 0" in problems[1]] == [True] * 3
    assert '"yolo"' in problems[0] and "'plan', 'ask', 'edits' or 'full'" in problems[0]


@pytest.mark.req("X4")
async def test_a_sandbox_setting_is_reported_as_not_applied_to_open_sessions(tmp_path: Path) -> None:
    async with running(tmp_path, []) as rig:
        assert rig.manager.change_settings({"sandbox": {"enabled": True}}) == []
        await rig.talk()
        (problem,) = rig.manager.change_settings({})
    assert problem.startswith("agentLs.sandbox") and "are closed" in problem
