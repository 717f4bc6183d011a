"""Mistakes of new users in a real Neovim with the real server: no key, a wrong key, a wrong name, an interrupted
answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loopback.script import CutStream, Reply, Text
from tests.neovim.conftest import StartReal, start_served
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, ErrorReply


@pytest.mark.req("H10", "H28")
def test_an_unknown_provider_of_setup_is_named_and_the_message_is_kept(start_real: StartReal) -> None:
    nvim = start_real({}, provider="anthropicc")

    nvim.cmd("AgentLs send hello")

    nvim.wait_screen("Unknown provider 'anthropicc'", "Did you mean anthropic?")
    assert nvim.lua("return require('agent_ls.chat.input').read_text()") == "hello"


@pytest.mark.req("H10", "H28")
def test_a_missing_key_names_the_commands_of_the_plugin(start_real: StartReal) -> None:
    nvim = start_real({})

    nvim.cmd("AgentLs send hello")

    shot = nvim.wait_screen("no model provider is set up", ":AgentLs key", ":AgentLs demo", "set a key…")
    assert "agent-ls keys set" not in shot and "`agent-ls demo`" not in shot


@pytest.mark.req("H10", "H28")
def test_a_refused_api_key_is_replaced_without_a_restart(start_real: StartReal) -> None:
    with AnthropicServer([ErrorReply(401, message="invalid x-api-key"), "Now I answer."]) as provider:
        nvim = start_real(provider_variables(provider), provider="anthropic")
        nvim.cmd("AgentLs send hello")
        shot = nvim.wait_screen(
            "anthropic refused the key", "Enter a key with :AgentLs key, then send the message again."
        )
        assert "start agent-ls" not in shot

        nvim.keys("<Esc>:AgentLs key<CR>")
        nvim.wait_screen("Key for anthropic:")
        nvim.keys("another-key<CR>")
        nvim.wait_screen("The key for anthropic is set")
        nvim.cmd("AgentLs send again")

        nvim.wait_screen("Now I answer.", "○ idle")
        sent = [request.headers["x-api-key"] for request in provider.requests]
    assert sent == ["test-key", "another-key"]


@pytest.mark.req("H10", "H28")
def test_a_response_cut_off_by_the_provider_is_continued_by_the_continue_command(
    start_real: StartReal,
) -> None:
    with AnthropicServer([Reply([Text("The first half"), CutStream()]), "and the second."]) as provider:
        nvim = start_real(provider_variables(provider), provider="anthropic")
        nvim.cmd("AgentLs send hello")
        nvim.wait_screen("The first half", "in the middle of the answer", "<CR> continue · send again")

        nvim.cmd("AgentLs continue")

        nvim.wait_screen("The first half", "and the second.", "○ idle")
        assert "The first half" in str(provider.requests[1].body)


@pytest.mark.req("H2", "H10")
def test_a_message_right_after_quit_and_resume_continues_the_session(start_real: StartReal) -> None:
    with AnthropicServer(["The first.", "The second."]) as provider:
        nvim = start_real(provider_variables(provider), provider="anthropic")
        nvim.cmd("AgentLs send hello")
        nvim.wait_screen("The first.", "○ idle")

        nvim.lua("vim.cmd('AgentLs quit | AgentLs resume'); require('agent_ls').send('go on')")

        shot = nvim.wait_screen("The second.", "○ idle")
        assert "not open" not in shot and "shutting down" not in shot
        assert "The first." in str(provider.requests[1].body)


@pytest.mark.req("H10", "H28")
def test_a_hanging_mcp_server_waits_for_an_answer_and_is_then_named_with_the_next_step(
    project: Path, tmp_path: Path
) -> None:
    servers = "slow = { command = 'sleep', args = { '600' } }"
    settings = (
        f"settings = {{ mcp = {{ servers = {{ {servers} }}, firstWaitMs = 100, startTimeoutMs = 240000 }} }}"
    )
    options = f"provider = 'anthropic', mode = 'edits', {settings}"
    with (
        AnthropicServer(["It goes on."]) as provider,
        start_served(project, tmp_path, options, provider, columns=120) as nvim,
    ):
        nvim.cmd("AgentLs send hello")
        nvim.wait_screen("Run this command?", "sleep 600", "allow once")
        nvim.cmd("AgentLs mcp")
        nvim.wait_screen("The MCP servers wait for your answer in the panel.")

        nvim.cmd("AgentLs approve")

        nvim.wait_screen("The MCP server slow is still starting.", "mcp test slow", "It goes on.")


@pytest.mark.req("H10", "H28")
def test_mode_and_model_of_the_next_session_are_shown_and_follow_the_user(start_real: StartReal) -> None:
    with AnthropicServer(["Hello."]) as provider:
        nvim = start_real(provider_variables(provider), provider="anthropic")
        nvim.cmd("AgentLs")
        nvim.wait_screen("anthropic · ask")
        setup = "local setup = require('agent_ls').setup local now = require('agent_ls.config').options "
        nvim.lua(
            f"{setup} setup({{ cmd = now.cmd, provider = 'anthropic', model = 'of-setup', mode = 'edits' }})"
        )
        nvim.wait_screen("of-setup · edits", "of-setup, a key is set")

        nvim.cmd("AgentLs mode plan")
        nvim.wait_screen("of-setup · plan")
        nvim.cmd("AgentLs send hello")

        nvim.wait_screen("Hello.", "○ idle", "of-setup · plan")
        assert provider.requests[0].body["model"] == "of-setup"
