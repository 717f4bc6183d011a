"""A fallback model in a real Neovim with the real server: the panel displays the answering model and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.neovim.conftest import start_served
from tests.support.loopback import AnthropicServer, ErrorReply, OpenAIResponsesServer

pytestmark = pytest.mark.req("H2", "H25")


def test_the_panel_displays_the_fallback_model_and_the_reason_for_its_use(
    project: Path, tmp_path: Path
) -> None:
    failures = [ErrorReply(529, headers={"retry-after": "0"})] * 3
    with AnthropicServer([*failures, "Myself."]) as server, OpenAIResponsesServer(["By the other."]) as other:
        models = "models = { fallbacks = { 'openai/gpt-6.1-terra' } }"
        options = f"provider = 'anthropic', mode = 'ask', settings = {{ {models} }}"
        with start_served(project, tmp_path, options, server, other) as nvim:
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
