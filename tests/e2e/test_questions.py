"""Questions of the model over real stdio: every client gets them, and the first answer counts (H2, L15, T7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served_session

ASK = ToolCall("ask_user", {"question": "Which currency?", "choices": ["Euro", "Dollar"]})


@pytest.mark.req("H2", "L15", "T7")
async def test_a_question_is_pending_until_its_first_answer_which_is_final(tmp_path: Path) -> None:
    with AnthropicServer([[ASK], "Euro it is."]) as provider:
        async with served_session(tmp_path, provider, say="go") as (found, session_id):
            asked = (await found.client.event("question_asked"))["data"]
            assert (asked["question"], asked["choices"]) == ("Which currency?", ["Euro", "Dollar"])
            await found.client.event("state", state="AWAITING_INPUT")
            again = await found.ask("subscribe", session_id, since=0)
            assert again["pending"]["questions"] == [asked]

            question_id = asked["questionId"]
            error = await found.refused("answer", session_id, questionId=question_id, answers=[])
            assert error.data["kind"] == "invalid_params"
            answer = {"questionId": question_id, "answers": ["Euro"]}
            first = await found.change("answer", session_id, **answer)
            assert (first["answers"], first["declined"]) == (["Euro"], False)
            late = await found.change("answer", session_id, questionId=question_id, answers=["Dollar"])
            assert late == first
            await found.client.event("assistant_text_end", text="Euro it is.")
            await found.client.event("processing_end", reason="completed")
            error = await found.refused("answer", session_id, questionId="qu-0", answers=["x"])
            assert error.data["kind"] == "unknown_question"
