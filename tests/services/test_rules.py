"""Rules that the user stores: how long each applies, where it is stored, and how it is removed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.services.errors import UnknownSessionError
from agent_ls.store.rules import RuleStore
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import SessionRig, deny, running

pytestmark = pytest.mark.req("H7")

END = text("done")
Script: TypeAlias = Sequence[Piece | Sequence[Piece]]


def shell(command: str, **more: Any) -> CallTool:
    return tool_call("shell", json.dumps({"command": command, **more}), id="c-shell")


def general(scope: str) -> Callable[[ApprovalRequested], ApprovalAnswer]:
    """Allow with the general rule of this scope; deny without one."""

    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        for rule in request.rules:
            if rule.scope == scope and rule.id.startswith("words:"):
                return ApprovalAnswer("allow", rule.scope, rule.id)
        return ApprovalAnswer("deny")

    return answer


def asked(talk: Any) -> list[str]:
    return [str(request.effect["command"]) for request in talk.of(ApprovalRequested)]


async def kept(rig: SessionRig) -> list[str]:
    return [rule.id for rule in await rig.manager.rules.rules(None, None)]


@pytest.mark.report("anthropics/claude-code#28829")
def test_programs_that_store_rules_at_once_lose_none(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from agent_ls.store.rules import RuleStore\n"
        "store = RuleStore(Path(sys.argv[1]))\n"
        "for n in range(20): store.add(f'words:{sys.argv[2]}{n}', 'x', 'user', '/w', 'now')\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), it]) for it in "abcdef"]
    store = RuleStore(tmp_path)
    while any(it.poll() is None for it in running):
        json.loads((tmp_path / "rules.json").read_text() if (tmp_path / "rules.json").exists() else "{}")
        store.rules()
    assert [it.wait() for it in running] == [0] * 6
    assert len({rule.id for rule in store.rules()}) == 120


async def test_a_general_session_rule_covers_more_than_the_approved_command(
    tmp_path: Path,
) -> None:
    script: Script = [[shell("touch a")], [shell("touch b c")], [shell("touch ../x")], [shell("rm a")]]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", general("session"), say="go")
        assert asked(talk) == ["touch a", "touch ../x", "rm a"]
        (rule,) = await rig.manager.rules.rules(talk.session_id, None)
        assert (rule.id, rule.scope, rule.hits) == ("words:touch", "session", 1)


@pytest.mark.parametrize("scope", ["project", "user"])
async def test_a_stored_rule_applies_in_a_later_process_and_counts_its_uses(
    tmp_path: Path, scope: str
) -> None:
    async with running(tmp_path, [[shell("touch a")], [shell("touch b")]]) as rig:
        talk = await rig.talk("ask", general(scope), say="go")
        assert asked(talk) == ["touch a"]
    async with running(tmp_path, [[shell("touch c")], [shell("mkdir d")]]) as rig:
        other = await rig.talk("ask", deny, say="go")
        assert asked(other) == ["mkdir d"]
    (rule,) = RuleStore(tmp_path / "state").rules()
    assert (rule.id, rule.scope) == ("words:touch", scope) and rule.hits >= 1
    assert not list((tmp_path / "project").rglob("*rules*")), "nothing of it is in the repository"


async def test_a_project_rule_does_not_apply_in_another_project(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    script: Script = [[shell("touch a")], END, [shell("touch a")]]
    async with running(tmp_path, script) as rig:
        await rig.talk("ask", general("project"), say="go")
        other = await rig.talk("ask", deny, workspace_folder=str(tmp_path / "other"), say="go")
        assert asked(other) == ["touch a"]


async def test_a_removed_session_rule_allows_nothing_now_or_after_a_resume(
    tmp_path: Path,
) -> None:
    script: Script = [[shell("touch a")], END, [shell("touch b")]]
    async with running(tmp_path, script) as rig:
        talk = await rig.talk("ask", general("session"), say="go")
        rules = rig.manager.rules
        assert await rules.remove("words:touch", talk.session_id, None) == 1
        assert await rules.remove("words:touch", talk.session_id, None) == 0
        talk.answers = deny
        await talk.say("again")
        assert asked(talk) == ["touch a", "touch b"]
    async with running(tmp_path, [[shell("touch c")]]) as rig:
        again = await rig.reopen(talk.session_id, deny)
        await again.say("and again")
        assert asked(again)[-1] == "touch c"


async def test_a_removed_stored_rule_no_longer_applies_in_a_running_session(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, [[shell("touch a")], [shell("touch b")], END, [shell("touch c")]]) as rig:
        talk = await rig.talk("ask", general("user"), say="go")
        RuleStore(tmp_path / "state").remove("words:touch")  # another process: `agent-ls policy remove`
        talk.answers = deny
        await talk.say("again")
        assert asked(talk) == ["touch a", "touch c"] and await kept(rig) == []


async def test_listing_the_approval_rules_of_an_unknown_session_is_an_error(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        with pytest.raises(UnknownSessionError):
            await rig.manager.rules.rules("s-none", None)


async def test_the_model_gets_the_reason_of_a_denied_command(tmp_path: Path) -> None:
    async with running(tmp_path, [[shell("touch a")]]) as rig:
        talk = await rig.talk(
            "ask", lambda request: ApprovalAnswer("deny", reason="use make instead"), say="go"
        )
        assert talk.of(ToolCallEnd)[0].error_kind == "permission_denied"
        assert "use make instead" in rig.results()[0].content
