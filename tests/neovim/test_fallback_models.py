"""A fallback model in a real Neovim with the real server: the panel displays the answering model and the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.neovim.conftest import PLUGIN
from tests.support import REPOSITORY
from tests.support.commands import provider_variables
from tests.support.loopback import AnthropicServer, ErrorReply, OpenAIResponsesServer
from tests.support.nvim_driver import Nvim

pytestmark = pytest.mark.req("H2", "H25")


def test_the_panel_displays_the_fallback_model_and_the_reason_for_its_use(
    project: Path, tmp_path: Path
) -> None:
    failures = [ErrorReply(529, headers={"retry-after": "0"})] * 3
    with AnthropicServer([*failures, "Myself."]) as server, OpenAIResponsesServer(["By the other."]) as other:
        env = {
            "AGENT_LS_STATE_DIR": str(tmp_path / "state"),
            "AGENT_LS_TRUSTED_FOLDERS": "/",
            "PYTHONPATH": str(REPOSITORY),
            **provider_variables(server),
            **provider_variables(other),
        }
        with Nvim(runtime_path=[PLUGIN], cwd=project, columns=160, rows=40, env=env) as nvim:
            nvim.lua(
                "require('agent_ls').setup({ cmd = { ..., '-m', 'agent_ls', 'serve', '--stdio' },"
                " provider = 'anthropic', mode = 'ask',"
                " settings = { models = { fallbacks = { 'openai/gpt-6.1-terra' } } } })",
                sys.executable,
            )
            nvim.cmd("AgentLs send go")
            nvim.wait_screen(
                "By the other.",
                "anthropic/claude-sonnet-5-5 failed: anthropic",
                "gpt-6.1-terra answers for the",
                "○ idle",
            )
            nvim.cmd("AgentLs send again")
            nvim.wait_screen("Myself.", "○ idle")
    assert len(server.requests) == 4 and len(other.requests) == 1
