from __future__ import annotations

import pytest

from agent_ls.app.slash_commands import maybe_command, slash_commands


@pytest.mark.req("T12")
def test_each_command_has_words_for_people_and_for_the_model() -> None:
    names = [command.name for command in slash_commands()]
    assert names == ["explain", "fix", "tests", "review", "document", "commit-message"]
    for command in slash_commands():
        assert command.description and command.argument_hint
        assert "\n" not in command.description + command.argument_hint
        assert command.told("") == f"/{command.name}\n\n{command.text}"
        assert command.told(" the cart\n").startswith(f"/{command.name} the cart\n\n")
    assert maybe_command("nothing") is None
