"""Commands that the policy considers read-only run confined, so a wrong judgement cannot write."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_ls.doctor.examination import examine
from agent_ls.environments.base import CommandOptions
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.errors import ProcessStartError
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.sandbox import requiring_confinement
from agent_ls.environments.wrappers.sandboxed import SandboxedEnvironment
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Refuse, Situation
from agent_ls.services.permissions.read_only_sandbox import ReadOnlySandbox
from agent_ls.services.permissions.session_sandbox import SessionSandbox
from agent_ls.services.settings.model import SandboxSettings, Settings
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import text, tool_call
from tests.support.sandboxes import needs_landlock
from tests.support.session_rig import allow, deny, running

pytestmark = pytest.mark.req("X4", "X7", "X11")


def command(line: str, **more: object) -> list[Any]:
    return [[tool_call("shell", json.dumps({"command": line, **more}), id="c1")], [text("done")]]


@pytest.fixture
def liar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Install a program named `wc` that writes a file. Returns a function that tells whether it has written."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "wc").write_text("#!/bin/sh\necho x > made && echo did-it\n")
    (folder / "wc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return (tmp_path / "project" / "made").exists


@needs_landlock
@pytest.mark.parametrize("mode", ["ask", "edits"])
@pytest.mark.parametrize(("answer", "is_made"), [(deny, False), (allow, True)], ids=["denied", "allowed"])
async def test_a_command_wrongly_judged_read_only_is_confined_and_needs_approval_to_write(
    tmp_path: Path, liar: Callable[[], bool], mode: Mode, answer: Any, is_made: bool
) -> None:
    async with running(tmp_path, command("wc -l a.txt")) as rig:
        talk = await rig.talk(mode, answer, say="go")
        (asked,) = talk.of(ApprovalRequested)
        assert "confined to reading" in asked.reason and asked.effect["command"] == "wc -l a.txt"
        (end,) = talk.of(ToolCallEnd)
        assert ("did-it" in end.output) == is_made and "confine" in end.output
    assert liar() == is_made


@needs_landlock
async def test_in_mode_full_a_command_that_failed_confined_runs_unconfined_without_approval(
    tmp_path: Path, liar: Callable[[], bool]
) -> None:
    async with running(tmp_path, command("wc -l a.txt")) as rig:
        talk = await rig.talk("full", deny, say="go")
        assert not talk.of(ApprovalRequested)
        assert "did-it" in talk.of(ToolCallEnd)[0].output
    assert liar()


@needs_landlock
async def test_a_read_only_background_command_is_confined(tmp_path: Path, liar: Callable[[], bool]) -> None:
    waits = tool_call("processes", json.dumps({"action": "list"}), id="c2")
    script: list[Any] = [*command("wc -l a.txt", background=True)[:1], [waits], [text("done")]]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", deny, say="go")
        assert not talk.of(ApprovalRequested)
        (started,) = await talk.live.environment.list_processes()
        ended = await talk.live.environment.wait_process(started.id)
        assert ended.exit_code != 0 and ended.command == "wc -l a.txt"
    assert not liar()


@needs_landlock
async def test_a_read_only_user_tool_is_confined(tmp_path: Path, liar: Callable[[], bool]) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "tools.yaml").write_text(
        "tools:\n  - {name: count, description: counts, category: read, cmd: wc, args: ['-l', 'a.txt']}\n"
    )
    script: list[Any] = [[tool_call("count", "{}", id="c1")], [text("done")]]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", deny, say="go")
        (end,) = talk.of(ToolCallEnd)
        assert "did-it" not in end.output and "confine" in end.output
    assert not liar()


@needs_landlock
async def test_a_read_only_command_of_a_subagent_is_confined(
    tmp_path: Path, liar: Callable[[], bool]
) -> None:
    look = tool_call("shell", json.dumps({"command": "wc -l a.txt"}), id="c1")
    cast = Cast([spawn("look"), wait_for("agent_1")], {"look": [look, text("looked")]})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk("ask", deny, say="go")
        (end,) = [end for end in talk.of(ToolCallEnd) if end.call_id == "c1"]
        assert "did-it" not in end.output and "confine" in end.output
    assert not liar()


@needs_landlock
async def test_an_approved_command_is_not_confined(tmp_path: Path) -> None:
    async with running(tmp_path, command("touch made")) as rig:
        talk = await rig.talk("ask", allow, say="go")
        assert len(talk.of(ApprovalRequested)) == 1
    assert (tmp_path / "project" / "made").exists()


async def test_a_command_that_must_be_confined_does_not_run_without_confinement(tmp_path: Path) -> None:
    elsewhere = "bubblewrap" if sys.platform == "darwin" else "seatbelt"
    machine = ReadOnlySandbox(tmp_path / "state", elsewhere)
    assert await machine.find() is None and machine.why
    places = Places((str(tmp_path),), str(tmp_path))
    sandbox = SessionSandbox(
        SandboxSettings(), lambda: places, str(tmp_path / "state"), lambda event: None, machine
    )
    environment = SandboxedEnvironment(LocalEnvironment(str(tmp_path)), sandbox, _always)
    with requiring_confinement(), pytest.raises(ProcessStartError):
        await environment.exec_command("echo x > made", CommandOptions())
    with requiring_confinement(), pytest.raises(ProcessStartError):
        await environment.start_process("echo x > made", CommandOptions())
    assert not (tmp_path / "made").exists()
    await environment.exec_command("echo x > made", CommandOptions())
    assert (tmp_path / "made").exists(), "no other command needs it"


async def _always(command: str, options: CommandOptions, at: str, is_read_only: bool) -> bool:
    return True


PLACES = Places(("/w",), "/home/ada")
LOOKS = ("find . -name a.txt", "du -sh src", "ls | sort")
SHORT_LIST = ("pwd", "ls src", "cat a.txt", "head a.txt", "git status", "git log -3", "grep -n x a.txt")


def judged(line: str, mode: Mode = "ask", **facts: Any) -> Allow | Ask | Refuse:
    return judge(CommandEffect(line, "/w"), Situation(mode, PLACES, **facts))


@pytest.mark.parametrize("line", [*LOOKS, *SHORT_LIST])
@pytest.mark.parametrize("mode", ["ask", "edits", "full"])
def test_a_read_only_command_is_allowed_and_confined(mode: Mode, line: str) -> None:
    assert judged(line, mode) == Allow("It is read-only.", is_confined=True)


@pytest.mark.parametrize("line", LOOKS)
def test_without_confinement_a_setting_decides_whether_a_read_only_command_needs_approval(line: str) -> None:
    asked = judged(line, confinement="unavailable")
    assert isinstance(asked, Ask) and "cannot confine" in asked.reason and asked.rules
    assert judged(line, confinement="unavailable", unconfined="trust") == Allow("It is read-only.")
    assert judged(line, "full", confinement="unavailable") == Allow(
        "Mode Full: commands run without your approval."
    )


@pytest.mark.parametrize("line", SHORT_LIST)
def test_the_simplest_commands_need_no_confinement(line: str) -> None:
    assert judged(line, confinement="unavailable") == Allow("It is read-only.")


def test_a_read_only_command_that_failed_confined_needs_approval_like_any_command() -> None:
    asked = judged("git log -3", confinement="failed", unconfined="trust")
    assert isinstance(asked, Ask)
    granted = judged("git log -3", confinement="failed", grants=frozenset((asked.rules[0].id,)))
    assert isinstance(granted, Allow) and not granted.is_confined


def test_the_unconfined_commands_setting_defaults_to_ask() -> None:
    assert Settings().unconfined_commands == "ask"


@needs_landlock
async def test_doctor_names_the_confinement_in_one_line() -> None:
    (found,) = [it for it in await examine(asks_providers=False) if it.subject == "read-only"]
    assert found.grade == "good" and "landlock" in found.text and "\n" not in found.text
