"""Reports of sessions of other agents: what is left of a stop, a failed subagent, and a process in the background."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.llm.errors import AuthenticationError, NotFoundError
from agent_ls.llm.messages import Role
from agent_ls.loop.events.types import SubagentChanged, ToolCallEnd
from tests.support.agents import Cast, Script, spawn, wait_for
from tests.support.fake_provider import CallTool, error, text, tool_call
from tests.support.reports import reported
from tests.support.session_rig import SessionRig, running

GLOB = tool_call("glob", '{"pattern": "*"}', id="g")
NO_MODEL = NotFoundError("no such model", provider="anthropic")
NO_KEY = AuthenticationError("the key is not valid", provider="anthropic")


def last_words(rig: SessionRig) -> list[str]:
    """Return the texts that the model read after its last answer."""
    found: list[str] = []
    for message in reversed(rig.model.requests[-1].messages):
        if message.role is Role.ASSISTANT:
            break
        found.insert(0, message.text)
    return [text for text in found if text]


@pytest.mark.req("A1")
@pytest.mark.parametrize(
    ("script", "status", "expected"),
    [
        pytest.param(
            [error(NO_MODEL)],
            "failed",
            ["Success: false", "no such model"],
            marks=pytest.mark.report("vercel/eve#412", "gotgenes/pi-packages#889"),
            id="no model",
        ),
        reported(
            "Hmbown/Codewhale#4050", [GLOB, text("")], "completed", ["without a report"], id="no report"
        ),
        reported(
            "nicobailon/pi-subagents#156",
            [tool_call("read_file", '{"file_path": "none"}', id="r"), text("Found it.")],
            "completed",
            ["Success: true", "Found it."],
            id="recovered",
        ),
        reported(
            "justrach/codegraff#793",
            [[text("The fault is in line 3."), GLOB], error(NO_KEY)],
            "failed",
            ["Success: false", "the key is not valid", "The fault is in line 3."],
            id="findings",
        ),
    ],
)
async def test_the_parent_reads_how_a_subagent_ended_and_what_it_found(
    tmp_path: Path, script: Script, status: str, expected: list[str]
) -> None:
    cast = Cast([spawn("look"), wait_for("agent_1"), text("ok")], {"look": script})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk(say="go")
    assert talk.of(SubagentChanged)[-1].status == status
    [output] = [it.output for it in talk.of(ToolCallEnd) if it.call_id == "wait"]
    assert all(word in output for word in expected)


@pytest.mark.req("A1")
@pytest.mark.report("google-gemini/gemini-cli#22323")
async def test_a_subagent_that_reached_its_limit_has_not_succeeded(tmp_path: Path) -> None:
    steps: Script = [[text("Half."), GLOB], [GLOB], [GLOB]]
    cast = Cast([spawn("look", max_turns=2), wait_for("agent_1"), text("ok")], {"look": steps})
    async with running(tmp_path, model=cast) as rig:
        talk = await rig.talk(say="go")
    assert (talk.of(SubagentChanged)[-1].status, talk.of(SubagentChanged)[-1].reason) == ("failed", "limit")
    assert "Half." in talk.of(SubagentChanged)[-1].output


def in_background(command: str) -> CallTool:
    return tool_call("shell", f'{{"command": "{command}", "background": true}}', id="s")


@pytest.mark.req("X5")
@pytest.mark.report("letta-ai/letta-code#3226", "intent-hq/intent#1182")
async def test_the_next_message_says_which_processes_have_ended(tmp_path: Path) -> None:
    async with running(tmp_path, [in_background("exit 3"), text("started"), text("a"), text("b")]) as rig:
        talk = await rig.talk("full", say="go")
        await talk.until("terminal_exit")
        await talk.say("next")
        note, message = last_words(rig)
        assert "p1" in note and "exit code 3" in note and message == "next"
        await talk.say("again")
        assert last_words(rig) == ["again"]


@pytest.mark.req("X5")
async def test_an_end_that_the_model_caused_is_not_reported_again(tmp_path: Path) -> None:
    kill = tool_call("processes", '{"action": "kill", "process_id": "p1"}', id="k")
    async with running(tmp_path, [in_background("sleep 600"), kill, text("ended"), text("a")]) as rig:
        talk = await rig.talk("full", say="go")
        await talk.until("terminal_exit")
        await talk.say("next")
        assert last_words(rig) == ["next"]


@pytest.mark.req("L5")
@pytest.mark.report("openclaw/openclaw#128008", "merkr-software/CadencR#42")
async def test_a_stop_keeps_the_messages_that_the_model_has_not_read(tmp_path: Path) -> None:
    wait = tool_call("shell", '{"command": "sleep 600"}', id="s")
    async with running(tmp_path, [wait, text("a"), text("b")]) as rig:
        talk = await rig.talk("full")
        session = talk.live.session
        session.submit("go")
        await talk.until("terminal_open")
        session.steer("use tabs")
        session.follow_up("then tests")
        session.interrupt()
        await talk.until("processing_end")
        assert [it.text for it in session.steering] == ["use tabs"]
        assert [it.text for it in session.queue] == ["then tests"]
        session.submit("go on")
        await talk.until("processing_end", 2)
        assert rig.user_texts()[-3:] == ["go on", "use tabs", "then tests"]


@pytest.mark.req("L5")
@pytest.mark.report("github/app#430")
async def test_a_message_for_the_running_turn_comes_before_the_queued_ones(tmp_path: Path) -> None:
    command = tool_call("shell", '{"command": "until test -e go; do sleep 0.05; done"}', id="s")
    async with running(tmp_path, [command, text("a"), text("b")]) as rig:
        talk = await rig.talk("full")
        session = talk.live.session
        session.submit("go")
        await talk.until("terminal_open")
        session.follow_up("then tests")
        session.steer("use tabs")
        (rig.folder / "go").touch()
        await talk.until("processing_end")
        assert rig.user_texts() == ["go", "use tabs", "then tests"]
