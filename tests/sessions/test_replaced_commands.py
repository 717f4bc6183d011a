"""A command that the user changes in its approval is a new action: the policy checks it again and the model is
informed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_ls.loop.calls.approval import ApprovalAnswer, BadReplacementError
from agent_ls.loop.events.types import ApprovalRequested, ApprovalResolved, TerminalOpen, ToolCallEnd
from agent_ls.policy.situation import Mode
from tests.sessions.test_suspended_turns import answer, left
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.session_rig import SessionRig, Talk, running

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]
Answers: TypeAlias = Callable[[ApprovalRequested], ApprovalAnswer | None]


def shell(command: str, **arguments: Any) -> CallTool:
    return tool_call("shell", json.dumps({"command": command, **arguments}), id="c-shell")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def in_turn(*answers: ApprovalAnswer) -> Answers:
    """Return these answers one after the other."""
    left = list(answers)
    return lambda request: left.pop(0)


async def ran(rig: SessionRig, mode: Mode, answers: Answers) -> Talk:
    talk = await rig.talk(mode, answers, say="go")
    return talk


@pytest.mark.req("X8")
async def test_the_users_replacement_command_runs_and_is_reported_to_the_model(work: Path) -> None:
    async with running(work.parent, [[shell("echo theirs > a.txt")], text("done")]) as rig:
        mine = ApprovalAnswer("allow", command="echo mine > b.txt; echo said", decided_by="ada")
        talk = await ran(rig, "ask", in_turn(mine))
        assert (work / "b.txt").read_text() == "mine\n" and not (work / "a.txt").exists()
        (asked,), (resolved,) = talk.of(ApprovalRequested), talk.of(ApprovalResolved)
        assert asked.effect["command"] == "echo theirs > a.txt"
        assert (resolved.command, resolved.decided_by) == (mine.command, "ada")
        assert talk.of(TerminalOpen)[0].title == mine.command
        (result,) = rig.results()
        assert "changed this command" in result.content and "said" in result.content
        assert "echo theirs > a.txt" in result.content and mine.command in result.content


@pytest.mark.req("X8")
async def test_the_users_replacement_command_needs_no_second_approval(work: Path) -> None:
    (work / "a.txt").write_text("rubbish\n")
    async with running(work.parent, [[shell("touch it")], text("done")]) as rig:
        mine = ApprovalAnswer("allow", command="git --version && rm a.txt")
        talk = await ran(rig, "ask", in_turn(mine))
        assert not (work / "a.txt").exists() and not (work / "it").exists()
        assert len(talk.of(ApprovalRequested)) == 1
        assert talk.of(ApprovalResolved)[0].command == mine.command


@pytest.mark.req("X8")
async def test_approving_a_replacement_command_approves_no_other_command(work: Path) -> None:
    (work / "a.txt").write_text("precious\n")
    script: Script = [[shell("touch it")], [shell("rm a.txt")], text("done")]
    async with running(work.parent, script) as rig:
        answers = in_turn(
            ApprovalAnswer("allow", command="rm -f b.txt"), ApprovalAnswer("deny", reason="after all not")
        )
        talk = await ran(rig, "ask", answers)
        assert len(talk.of(ApprovalRequested)) == 2 and (work / "a.txt").exists()


@pytest.mark.req("X8")
async def test_a_replacement_command_that_the_mode_forbids_does_not_run(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as rig:
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        await talk.live.configure(provider=None, model=None, effort=None, mode="plan", review=None)
        await answer(talk, ApprovalAnswer("allow", command="touch mine"))
        await talk.until("processing_end")
        assert not (work / "mine").exists() and talk.of(TerminalOpen) == []


@pytest.mark.req("X8")
async def test_an_unchanged_command_in_an_approval_answer_is_not_reported_as_replaced(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as rig:
        talk = await ran(rig, "ask", in_turn(ApprovalAnswer("allow", command="touch it")))
        assert talk.of(ApprovalResolved)[0].command == ""
        assert "The user changed" not in rig.results()[0].content


@pytest.mark.req("X8")
async def test_allowing_a_replacement_command_for_the_session_stores_no_rule(work: Path) -> None:
    script: Script = [[shell("touch it")], text("done"), [shell("touch it")], text("done")]
    async with running(work.parent, script) as rig:

        def answer(request: ApprovalRequested) -> ApprovalAnswer:
            return ApprovalAnswer("allow", scope="session", command="echo mine")

        talk = await ran(rig, "ask", answer)
        await talk.say("again")
        assert len(talk.of(ApprovalRequested)) == 2


@pytest.mark.req("X8")
async def test_an_invalid_replacement_command_is_refused_with_the_reason(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as rig:
        talk = await ran(rig, "ask", in_turn(ApprovalAnswer("allow", command="echo \0")))
        assert talk.of(ToolCallEnd)[0].error_kind == "validation"
        assert "NUL" in rig.results()[0].content and talk.of(TerminalOpen) == []


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (ApprovalAnswer("deny", command="true"), "denied"),
        (ApprovalAnswer("allow", command=" \n"), "blank"),
        (ApprovalAnswer("allow", scope="session", rule_id="the offered", command="true"), "no rule"),
    ],
)
async def test_an_invalid_replacement_answer_is_rejected_and_the_approval_remains_pending(
    work: Path, bad: ApprovalAnswer, why: str
) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as rig:
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        (request,) = talk.live.approver.pending()
        offered = ApprovalAnswer(**{**_plain(bad), "rule_id": request.rules[0].id}) if bad.rule_id else bad
        with pytest.raises(BadReplacementError, match=why):
            talk.live.approver.answer(request.request_id, offered)
        assert talk.live.approver.pending() == (request,)


@pytest.mark.req("X8")
async def test_a_replacement_command_for_a_file_write_approval_is_rejected(work: Path) -> None:
    write = tool_call("write_file", json.dumps({"file_path": "a.txt", "content": "x"}), id="c-write")
    async with running(work.parent, [[write], text("done")]) as rig:
        talk = await rig.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        (request,) = talk.live.approver.pending()
        with pytest.raises(BadReplacementError, match="only a command"):
            talk.live.approver.answer(request.request_id, ApprovalAnswer("allow", command="true"))


def _plain(answer: ApprovalAnswer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("decision", "scope", "command")}


@pytest.mark.req("X8", "R4")
async def test_a_command_with_a_pending_approval_can_be_replaced_after_a_restart(work: Path) -> None:
    waiting = await left(work.parent, [[shell("echo theirs > a.txt")]])
    async with running(work.parent, [text("done")], state=waiting.state) as rig:
        talk = await waiting.reopened(rig)
        await answer(talk, ApprovalAnswer("allow", command="echo mine > b.txt"))
        await talk.until("processing_end")
        assert (work / "b.txt").exists() and not (work / "a.txt").exists()
        assert "changed this command" in rig.results()[0].content
