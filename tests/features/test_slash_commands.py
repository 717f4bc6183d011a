from __future__ import annotations

import pytest

from agent_ls.features.slash_commands import maybe_command, slash_commands


@pytest.mark.req("T12")
def test_each_command_has_a_description_and_a_prompt() -> None:
    names = [command.name for command in slash_commands()]
    assert names == ["explain", "fix", "tests", "review", "document", "commit-message", "remember"]
    for command in slash_commands():
        assert command.description and command.argument_hint
        assert "\n" not in command.description + command.argument_hint
        assert command.prompt_text("") == f"/{command.name}\n\n{command.text}"
        assert command.prompt_text(" the cart\n").startswith(f"/{command.name} the cart\n\n")
    assert maybe_command("nothing") is None
