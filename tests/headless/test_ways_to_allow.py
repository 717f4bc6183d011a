"""The words of `exec` about allowing a denied action, for each mode and kind of tool."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.headless.allowed import answerer
from agent_ls.loop.events.types import ApprovalRequested
from agent_ls.policy.situation import Mode

COMMAND = {"type": "CommandEffect", "command": "make"}


def call(category: str) -> dict[str, Any]:
    return {"type": "CallEffect", "tool": "deploy", "category": category}


@pytest.mark.parametrize(
    ("mode", "tool", "effect", "way"),
    [
        ("ask", "shell", COMMAND, "--mode edits or --mode full"),
        ("full", "shell", COMMAND, "an editor, or --ask on a terminal"),
        ("ask", "deploy", call("write"), "--allow deploy or --mode full"),
        ("ask", "deploy", call("admin"), "--allow deploy, an editor, or --ask on a terminal"),
        ("full", "deploy", call("admin"), "--allow deploy, an editor, or --ask on a terminal"),
        ("full", "web_search", call("read"), "an editor, or --ask on a terminal"),
    ],
)
async def test_a_denied_action_names_each_way_to_allow_it(
    mode: Mode, tool: str, effect: dict[str, Any], way: str
) -> None:
    asked = ApprovalRequested("a", "c", tool, "summary", "why", effect, "digest")

    answer = await answerer(mode, None)(asked)

    assert answer.decision == "deny" and answer.reason.endswith(f"the user can allow it with {way}")
