"""A hook that answers `continue: false` ends the turn, and the user reads why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.acp.client import acp_session
from tests.features.hooks.test_session import played, script, shell, write_hooks
from tests.headless.test_exec_hooks import write_hook
from tests.library.sessions import call
from tests.support.commands import environment, provider_variables, run
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.reports import reported

pytestmark = [
    pytest.mark.req("T15"),
    pytest.mark.skipif(os.name == "nt", reason="the hooks of these tests are POSIX commands"),
]

ENDS = "{'continue': False, 'stopReason': 'NO BUDGET', 'reason': 'for the model', 'systemMessage': 'shown'}"
EVENTS: list[Any] = [
    reported("microsoft/vscode#298472", "PreToolUse", ENDS, 1, []),
    reported("anthropics/claude-code#29991", "PostToolUse", ENDS, 1, ["one"]),
    ("PostToolUseFailure", ENDS, 2, ["one", "two"]),
    ("UserPromptSubmit", ENDS, 0, []),
    ("SessionStart", ENDS, 0, []),
    ("PreToolUse", "{'continue': True, 'stopReason': 'NO BUDGET'}", 3, ["one", "two"]),
    ("PostToolUse", "{'decision': 'block', 'reason': 'NO BUDGET', 'continue': True}", 3, ["one", "two"]),
]  # fmt: skip


@pytest.mark.parametrize(("event", "answer", "requests", "made"), EVENTS)
async def test_a_hook_ends_the_turn_at_any_event(
    tmp_path: Path, event: str, answer: str, requests: int, made: list[str]
) -> None:
    write_hooks(
        tmp_path / "state/hooks.json", **{event: script(tmp_path / "hooks", f"print(json.dumps({answer}))")}
    )
    both = [tool_call("shell", json.dumps({"command": f"touch {it}"}), it) for it in ("one", "two")]
    model = FakeProvider([both, shell("false"), [text("Never.")]])
    _, warnings = await played(tmp_path, model)
    assert len(model.requests) == requests
    assert [it.name for it in sorted((tmp_path / "project").iterdir())] == made
    assert any("NO BUDGET" in it for it in warnings) == (requests < 3)


@pytest.mark.parametrize("other", ["{}", "{'decision': 'block', 'reason': 'RUN THE TESTS'}"])
async def test_a_hook_that_ends_the_turn_is_stronger_than_one_that_lets_it_continue(
    tmp_path: Path, other: str
) -> None:
    folder = tmp_path / "hooks"
    commands = [script(folder, f"print(json.dumps({answer}))") for answer in (other, ENDS)]
    write_hooks(tmp_path / "state/hooks.json", Stop=" && ".join(commands[1:]))
    write_hooks(tmp_path / "project/.agent-ls/hooks.json", Stop=commands[0])
    model = FakeProvider([[text("One.")], [text("Never.")]])
    _, warnings = await played(tmp_path, model)
    assert len(model.requests) == 1 and any("NO BUDGET" in it for it in warnings)


async def test_the_next_message_starts_a_turn_again(tmp_path: Path) -> None:
    body = "if 'one' in str(event): print(json.dumps(" + ENDS + "))"
    write_hooks(tmp_path / "state/hooks.json", PreToolUse=script(tmp_path / "hooks", body))
    ends, _ = await played(tmp_path, FakeProvider([shell("touch one"), [text("Never.")]]))
    assert [end.is_error for end in ends] == [True]
    ends, _ = await played(tmp_path, FakeProvider([shell("touch two"), [text("Done.")]]))
    assert [end.is_error for end in ends] == [False]


async def test_a_hook_ends_a_subagent_and_the_main_agent_goes_on(tmp_path: Path) -> None:
    body = "if event.get('agent_id'): print(json.dumps(" + ENDS + "))"
    write_hooks(tmp_path / "state/hooks.json", PreToolUse=script(tmp_path / "hooks", body))
    model = FakeProvider(
        [call("spawn_agent", task="Look."), shell("touch one"), shell("touch one"), [text("Done.")]]
    )
    await played(tmp_path, model)
    of_agent = [request for request in model.requests if "Look." in str(request.messages[1])]
    assert len(of_agent) == 1 < len(model.requests) - 1 and (tmp_path / "project/one").exists()


ENDING = """echo '{"continue": false, "stopReason": "NO BUDGET"}'"""


@pytest.mark.req("H13")
async def test_exec_and_clients_of_acp_show_why(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_hook(tmp_path / "home/state/hooks.json", "PostToolUse", ENDING)
    project.mkdir()
    script: list[Any] = [[ToolCall("shell", {"command": "touch made"})], "Never."]
    with AnthropicServer(script) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        done = run("exec", "--mode", "full", "do it", cwd=project, environ=environ)
        assert len(server.requests) == 1 and "NO BUDGET" in done.err and done.code == 3
    with AnthropicServer(script) as server:
        async with acp_session(project, server) as (client, session_id):
            assert await client.prompt(session_id) == "end_turn"
            assert len(server.requests) == 1 and "NO BUDGET" in client.text("agent_thought_chunk")
