"""The terminal of a command is selected when the command starts: the editor's, one of the server, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.base import Attribution, CommandOptions
from agent_ls.environments.local import LocalEnvironment, LocalLimits
from agent_ls.environments.local.terminals.own_terminals import ChosenTerminals, Shown
from tests.support.environments import SHORT_GRACE_MS
from tests.support.terminal_host import FakeTerminalHost

pytestmark = pytest.mark.req("H5")

LOOK = "[ -t 1 ] && echo in a terminal || echo in a pipe"


async def test_each_command_uses_the_terminal_setting_in_effect_when_the_command_starts(
    tmp_path: Path,
) -> None:
    now: list[Shown] = ["pipes"]
    editor = FakeTerminalHost()
    environment = LocalEnvironment(
        str(tmp_path),
        environ={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path)},
        terminals=ChosenTerminals(lambda: now[0], editor),
        limits=LocalLimits(terminate_grace_ms=SHORT_GRACE_MS),
    )
    await environment.initialize()
    found: list[tuple[str, int]] = []
    steps: tuple[Shown, ...] = ("pipes", "relay", "pipes", "relay")
    try:
        for number, now[0] in enumerate(steps):
            options = CommandOptions(60_000, attribution=Attribution("s", "t", f"c{number}"))
            done = await environment.exec_command(LOOK, options)
            found.append((done.output.strip(), len(editor.terminals)))
    finally:
        await environment.cleanup()
        editor.end()

    assert found == [("in a pipe", 0), ("in a terminal", 1), ("in a pipe", 1), ("in a terminal", 1)]
    assert [call_id for _, call_id in editor.runs] == ["c1", "c3"]


@pytest.mark.parametrize(("shown", "has_some"), [("relay", False), ("own", True), ("pipes", False)])
def test_without_an_editor_only_the_setting_own_provides_terminals(shown: Shown, has_some: bool) -> None:
    assert ChosenTerminals(lambda: shown, None).has_terminals is has_some
