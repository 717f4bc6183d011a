"""A question of the model outlives its process: it is asked again with the same id, and its answer continues the turn
(R4, L15).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_ls.loop.events.types import (
    ProcessingEnd,
    QuestionAnswered,
    QuestionAsked,
    SessionEnd,
    ToolCallEnd,
    ToolCallStart,
)
from tests.support.fake_provider import problem_of, text, tool_call
from tests.support.session_rig import running, wait

pytestmark = pytest.mark.req("R4", "L15")

ASK = tool_call("ask_user", '{"question": "Which one?", "choices": ["red", "blue"]}', id="ask")
READ = tool_call("read_file", '{"file_path": "a.txt"}', id="read")


@pytest.mark.parametrize("how", ["ended", "killed"])
async def test_a_question_is_restored_and_its_answer_continues_the_turn(how: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with running(tmp_path, [[READ, ASK]]) as rig:
        (rig.folder / "a.txt").write_text("one\n")
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("go")
        await talk.until("question_asked")
        await talk.until("tool_call_end")
        (before,) = talk.live.session.questions.pending()
        if how == "killed":
            state = shutil.copytree(state, tmp_path / "left-behind")
    if how == "ended":
        assert talk.of(SessionEnd) == [SessionEnd("CLOSED", "suspended")]
    async with running(tmp_path, [text("Blue, then.")], state=state) as rig:
        talk = await rig.reopen(talk.session_id, wait)
        session = talk.live.session
        assert session.state == "AWAITING_INPUT"
        assert session.questions.pending() == (before,)
        session.submit("blue", client_key="key-9")
        await talk.until("processing_end")
        assert [it.answers for it in talk.of(QuestionAnswered)] == [("blue",)]
        assert len(talk.of(QuestionAsked)) == 1
        contents = {result.tool_call_id: result.content for result in rig.results()}
        assert contents["ask"] == "The user answers:\nblue" and "one" in contents["read"]
        assert problem_of(rig.model.requests[-1].messages) == ""
    starts = [start.call_id for start in talk.of(ToolCallStart)]
    assert sorted(starts) == sorted(end.call_id for end in talk.of(ToolCallEnd)) == ["ask", "read"]
    assert talk.of(ProcessingEnd) == [ProcessingEnd("completed")]
    async with running(tmp_path, state=state) as rig:
        talk = await rig.reopen(talk.session_id, wait)
        # the repeated answer returns its turn and starts no new one
        assert talk.live.session.submit("blue", client_key="key-9").turn_id
        assert rig.model.requests == []


async def test_a_restored_question_is_declined_by_a_stop(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, [[ASK]]) as rig:
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("go")
        await talk.until("question_asked")
    async with running(tmp_path, state=tmp_path / "state") as rig:
        talk = await rig.reopen(talk.session_id, wait)
        talk.live.session.interrupt()
        await talk.until("processing_end")
        assert [it.declined for it in talk.of(QuestionAnswered)] == [True]
        assert talk.live.session.state == "IDLE"
