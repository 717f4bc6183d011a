"""A command that a person changes in its approval: a new action, judged anew, told to the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_ls.loop.approval import Answer, BadReplacementError
from agent_ls.loop.events import ApprovalRequested, ApprovalResolved, TerminalOpen, ToolCallEnd
from agent_ls.policy.situation import Mode
from tests.app.test_suspended_turns import answer, left
from tests.support.fake_provider import CallTool, Piece, text, tool_call
from tests.support.workbench import Bench, Talk, running

Script: TypeAlias = Sequence[Piece | Sequence[Piece]]
Answers: TypeAlias = Callable[[ApprovalRequested], Answer | None]


def shell(command: str, **arguments: Any) -> CallTool:
    return tool_call("shell", json.dumps({"command": command, **arguments}), id="c-shell")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def in_turn(*answers: Answer) -> Answers:
    """The answers to what is asked, one after the other."""
    left = list(answers)
    return lambda request: left.pop(0)


async def ran(bench: Bench, mode: Mode, answers: Answers) -> Talk:
    talk = await bench.talk(mode, answers)
    await talk.say("go")
    return talk


@pytest.mark.req("X8")
async def test_what_the_user_wrote_runs_and_the_model_is_told(work: Path) -> None:
    async with running(work.parent, [[shell("echo theirs > a.txt")], text("done")]) as bench:
        mine = Answer("allow", command="echo mine > b.txt; echo said", decided_by="ada")
        talk = await ran(bench, "ask", in_turn(mine))
        assert (work / "b.txt").read_text() == "mine\n" and not (work / "a.txt").exists()
        (asked,), (resolved,) = talk.of(ApprovalRequested), talk.of(ApprovalResolved)
        assert asked.effect["command"] == "echo theirs > a.txt"
        assert (resolved.command, resolved.decided_by) == (mine.command, "ada")
        assert talk.of(TerminalOpen)[0].title == mine.command
        (result,) = bench.results()
        assert "The user changed this command" in result.content and "said" in result.content
        assert "echo theirs > a.txt" in result.content and mine.command in result.content


@pytest.mark.req("X8")
async def test_what_is_never_silent_is_asked_again_as_a_new_request(work: Path) -> None:
    (work / "a.txt").write_text("precious\n")
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        answers = in_turn(Answer("allow", command="rm a.txt"), Answer("deny", reason="after all not"))
        talk = await ran(bench, "ask", answers)
        first, second = talk.of(ApprovalRequested)
        assert first.request_id != second.request_id
        assert second.effect["command"] == "rm a.txt" and "rm" in second.summary
        assert {rule.id.partition(":")[0] for rule in second.rules} == {"command"}, "nothing in general form"
        assert (work / "a.txt").exists()
        assert "after all not" in bench.results()[0].content


@pytest.mark.req("X8")
async def test_what_is_never_silent_runs_once_it_is_allowed_as_such(work: Path) -> None:
    (work / "a.txt").write_text("rubbish\n")
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        talk = await ran(bench, "ask", in_turn(Answer("allow", command="rm a.txt"), Answer("allow")))
        assert not (work / "a.txt").exists() and len(talk.of(ApprovalRequested)) == 2


@pytest.mark.req("X8")
async def test_a_command_may_be_replaced_again_and_again_but_not_for_ever(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        talk = await ran(bench, "ask", lambda request: Answer("allow", command=f"rm {request.request_id}"))
        assert 1 < len(talk.of(ApprovalRequested)) < 10 and talk.of(TerminalOpen) == []


@pytest.mark.req("X8")
async def test_the_same_words_again_are_no_replacement(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        talk = await ran(bench, "ask", in_turn(Answer("allow", command="touch it")))
        assert talk.of(ApprovalResolved)[0].command == ""
        assert "The user changed" not in bench.results()[0].content


@pytest.mark.req("X8")
async def test_no_rule_comes_of_a_replaced_command(work: Path) -> None:
    script: Script = [[shell("touch it")], text("done"), [shell("touch it")], text("done")]
    async with running(work.parent, script) as bench:

        def answer(request: ApprovalRequested) -> Answer:
            return Answer("allow", scope="session", command="echo mine")

        talk = await ran(bench, "ask", answer)
        await talk.say("again")
        assert len(talk.of(ApprovalRequested)) == 2


@pytest.mark.req("X8")
async def test_a_command_that_cannot_be_run_is_refused_with_the_reason(work: Path) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        talk = await ran(bench, "ask", in_turn(Answer("allow", command="echo \0")))
        assert talk.of(ToolCallEnd)[0].error_kind == "validation"
        assert "NUL" in bench.results()[0].content and talk.of(TerminalOpen) == []


@pytest.mark.req("X8")
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Answer("deny", command="true"), "denied"),
        (Answer("allow", command=" \n"), "blank"),
        (Answer("allow", scope="session", rule_id="the offered", command="true"), "no rule"),
    ],
)
async def test_a_replacement_that_does_not_go_with_its_answer_settles_nothing(
    work: Path, bad: Answer, why: str
) -> None:
    async with running(work.parent, [[shell("touch it")], text("done")]) as bench:
        talk = await bench.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        (request,) = talk.live.desk.pending()
        offered = Answer(**{**_plain(bad), "rule_id": request.rules[0].id}) if bad.rule_id else bad
        with pytest.raises(BadReplacementError, match=why):
            talk.live.desk.answer(request.request_id, offered)
        assert talk.live.desk.pending() == (request,)


@pytest.mark.req("X8")
async def test_only_a_command_can_be_replaced(work: Path) -> None:
    write = tool_call("write_file", json.dumps({"file_path": "a.txt", "content": "x"}), id="c-write")
    async with running(work.parent, [[write], text("done")]) as bench:
        talk = await bench.talk("ask", lambda request: None)
        talk.live.session.submit("go")
        await talk.until("approval_requested")
        (request,) = talk.live.desk.pending()
        with pytest.raises(BadReplacementError, match="only a command"):
            talk.live.desk.answer(request.request_id, Answer("allow", command="true"))


def _plain(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("decision", "scope", "command")}


@pytest.mark.req("X8", "R4")
async def test_a_command_is_replaced_after_the_process_that_asked_has_ended(work: Path) -> None:
    waiting = await left(work.parent, [[shell("echo theirs > a.txt")]])
    async with running(work.parent, [text("done")], state=waiting.state) as bench:
        talk = await waiting.reopened(bench)
        await answer(talk, Answer("allow", command="echo mine > b.txt"))
        await talk.until("processing_end")
        assert (work / "b.txt").exists() and not (work / "a.txt").exists()
        assert "The user changed this command" in bench.results()[0].content


@pytest.mark.req("X8", "R4")
@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_a_replaced_command_that_is_asked_about_again_outlives_its_process(
    work: Path, verdict: Any
) -> None:
    (work / "a.txt").write_text("rubbish\n")

    async def replaced(talk: Talk) -> None:
        await talk.until("approval_requested")
        await answer(talk, Answer("allow", command="rm a.txt"))

    waiting = await left(work.parent, [[shell("echo theirs > b.txt")]], count=2, arrange=replaced)
    async with running(work.parent, [text("done")], state=waiting.state) as bench:
        talk = await waiting.reopened(bench)
        await answer(talk, Answer(verdict))
        await talk.until("processing_end")
        assert (work / "a.txt").exists() == (verdict == "deny") and not (work / "b.txt").exists()
        assert len(talk.of(ApprovalRequested)) == 2
