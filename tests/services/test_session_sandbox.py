"""Sessions with the sandbox setting: the warning, the approvals, and the fallback without an available sandbox."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved, ToolCallEnd, Warning
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Situation
from agent_ls.services.permissions.session_sandbox import limits_of
from agent_ls.services.settings.model import PathSettings, Settings
from tests.support.fake_provider import text, tool_call
from tests.support.sandboxes import needs_bubblewrap
from tests.support.session_rig import allow, deny, running

pytestmark = pytest.mark.req("X4", "X7")

CONFINED = Settings(sandbox={"enabled": True, "use": "bubblewrap"}, walkthrough_pause_ms=0)


def command(line: str) -> list[Any]:
    return [[tool_call("shell", json.dumps({"command": line}), id="c1")], [text("done")]]


@needs_bubblewrap
async def test_a_warning_describes_the_sandbox_and_commands_are_confined(tmp_path: Path) -> None:
    # The session has its own folder for temporary files in the sandbox; the files in the real one are invisible.
    async with running(tmp_path, command("echo x > a; cat ../seen"), settings=CONFINED) as rig:
        (tmp_path / "seen").write_text("seen")
        talk = await rig.talk("full", allow, say="go")
        (said,) = [it.message for it in talk.of(Warning)]
        assert "bubblewrap" in said and "no network" in said and str(rig.folder) in said
        assert (rig.folder / "a").read_text() == "x\n" and "No such file" in talk.of(ToolCallEnd)[0].output


@needs_bubblewrap
@pytest.mark.parametrize("mode", ["ask", "full"])
@pytest.mark.parametrize(("answer", "is_reached"), [("allow", True), ("deny", False)])
async def test_leaving_the_sandbox_needs_approval_in_every_mode_with_a_reason(
    tmp_path: Path, mode: Mode, answer: Any, is_reached: bool
) -> None:
    # TMPDIR differs in the sandbox, so the command runs to its end only outside.
    settings = CONFINED.model_copy(update={"paths": PathSettings(temporary=str(tmp_path))})
    line = f"[ $TMPDIR = {tmp_path} ] && touch outside && exit 0; echo Network is unreachable; exit 7"

    def answers(request: ApprovalRequested) -> ApprovalAnswer:
        is_outside = request.effect.get("outsideSandbox")
        return ApprovalAnswer(answer if is_outside else "allow", decided_by="test")

    async with running(tmp_path, command(line), settings=settings) as rig:
        talk = await rig.talk(mode, answers, say="go")
        asked = [it for it in talk.of(ApprovalRequested) if it.effect.get("outsideSandbox")]
        assert len(asked) == 1 and "of the sandbox" in asked[0].reason
        assert asked[0].effect["command"] == line and "Network is unreachable" in asked[0].summary
        (end,) = talk.of(ToolCallEnd)
        assert "sandbox" in end.output
        assert talk.of(ApprovalResolved)[-1].decision == answer
    assert (rig.folder / "outside").exists() == is_reached


async def test_without_an_available_sandbox_every_command_needs_approval_and_a_warning_says_so(
    tmp_path: Path,
) -> None:
    elsewhere = "bubblewrap" if sys.platform == "darwin" else "seatbelt"
    settings = Settings.model_validate({"sandbox": {"enabled": True, "use": elsewhere}})
    async with running(tmp_path, command("echo only looks"), settings=settings) as rig:
        talk = await rig.talk("full", deny, say="go")
        (said,) = [it.message for it in talk.of(Warning)]
        assert "not available" in said and "needs your approval" in said
        (asked,) = talk.of(ApprovalRequested)
        assert "settings enable" in asked.reason
        assert talk.of(ToolCallEnd)[0].error_kind == "permission_denied"


async def test_without_the_sandbox_setting_commands_are_not_confined_and_no_warning_is_sent(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, command("touch ../made")) as rig:
        talk = await rig.talk("full", allow, say="go")
        assert not talk.of(Warning) and (tmp_path / "made").exists()


PLACES = Places(("/w",), "/home/ada")


@pytest.mark.parametrize("mode", ["ask", "edits", "full"])
@pytest.mark.parametrize("line", ["ls", "make", "rm -rf x"])
def test_a_command_outside_the_sandbox_needs_approval_despite_rules_for_commands_inside(
    mode: Mode, line: str
) -> None:
    inside, outside = CommandEffect(line, "/w"), CommandEffect(line, "/w", outside_sandbox=True)
    grants = frozenset((f"command:{inside.digest}", "words:make", "words:ls"))
    judged = judge(outside, Situation(mode, PLACES, grants))
    assert isinstance(judged, Ask) and judged.needs_approval_in_every_mode
    assert "of the sandbox" in judged.reason and inside.digest != outside.digest


def test_a_rule_for_a_command_outside_the_sandbox_covers_only_that_command() -> None:
    outside = CommandEffect("make", "/w", outside_sandbox=True)
    asked = judge(outside, Situation("full", PLACES))
    assert isinstance(asked, Ask)
    granted = Situation("full", PLACES, frozenset(rule.id for rule in asked.rules))
    assert isinstance(judge(outside, granted), Allow)
    assert isinstance(judge(CommandEffect("make all", "/w", outside_sandbox=True), granted), Ask)


def test_the_sandbox_hides_a_credential_folder_unless_the_workspace_is_that_folder(
    tmp_path: Path,
) -> None:
    home, state = tmp_path / "home", tmp_path / "home" / "state"
    (home / ".ssh").mkdir(parents=True)
    state.mkdir()
    places = Places((str(home),), str(home))
    settings = CONFINED.sandbox
    assert {str(home / ".ssh"), str(state)} <= {*limits_of(settings, places, str(state), "/t").hidden}
    within = Places((str(home / ".ssh"),), str(home))
    hidden = limits_of(settings, within, str(state), "/t").hidden
    assert str(state) in hidden and str(home / ".ssh") not in hidden
