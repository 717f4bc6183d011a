"""Commands of public reports: here-documents that run commands, states that reach the next call, and time limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Situation
from tests.policy.test_by_passes import PLACES
from tests.sessions.test_shell_reports import read_by_model, shell
from tests.support.processes import is_running
from tests.support.reports import reported

pytestmark = pytest.mark.req("T5", "H5")


@pytest.mark.report("Extra-Chill/wp-coding-agents#620")  # fmt: skip
def test_a_here_document_is_silent_only_if_its_end_is_quoted() -> None:
    text = "macOS launchd service backed by `wp server`."
    found = [
        judge(CommandEffect(f"cat << {end}\n{text}\nHELP", "/w"), Situation("ask", PLACES))
        for end in ("HELP", "'HELP'", '"HELP"')
    ]
    assert [isinstance(it, Allow) for it in found] == [False, True, True]


STATES: list[Any] = [
    reported("paperclipai/paperclip#10338", "set -euo pipefail; echo ok", "echo ${NONE}x", "ok\n", "x\n", 0),
    ("set -u; exit 3", "echo ${NONE}x", "", "x\n", 3),
    reported("everruns/bashkit#684", "trap 'echo LEAKED' EXIT; echo one", "echo clean", "one\nLEAKED\n", "clean\n", 0),
    ("set -e; exit 42", "echo $?; false; echo survived", "", "0\nsurvived\n", 42),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "begins", "then", "code"), STATES)
async def test_a_command_leaves_no_state_of_its_shell(
    tmp_path: Path, first: str, second: str, begins: str, then: str, code: int
) -> None:
    one, two = await read_by_model(tmp_path, shell(first), shell(second))
    assert one.replace("\r\n", "\n").startswith(begins) and f"Exit code: {code}" in one
    assert two.replace("\r\n", "\n").startswith(then) and "Exit code: 0" in two


@pytest.mark.report("getkimchi/kimchi#833")  # fmt: skip
async def test_a_time_limit_ends_a_call_whose_child_has_left_the_group(tmp_path: Path) -> None:
    line = "setsid sh -c 'echo $$ > pid; while :; do echo x; sleep 0.1; done'; sleep 600"
    (output,) = await read_by_model(tmp_path, shell(line, timeout_ms=2_000))
    assert "timed out after 2000ms" in output
    pid = (tmp_path / "project/pid").read_text().strip()
    assert not is_running(int(pid))
