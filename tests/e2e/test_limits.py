"""Limits changed during a session: they pause a turn and ask the user, also after a restart of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.loopback import AnthropicServer, ToolCall
from tests.support.served import served, served_session

LOOK = ToolCall("glob", {"pattern": "*"})

pytestmark = pytest.mark.req("H2", "H18", "R4")


async def test_reaching_a_token_limit_pauses_the_turn_and_the_question_survives_a_server_restart(
    tmp_path: Path,
) -> None:
    with AnthropicServer([[LOOK], [LOOK], "Done."]) as provider:
        async with served_session(tmp_path, provider) as (found, session_id):
            bad = await found.refused("configure", session_id, limits={"tokensPerInput": -1})
            assert bad.data["kind"] == "invalid_params"
            result = await found.change("configure", session_id, limits={"tokensPerInput": 1})
            assert result["appliesFrom"] == "now"
            await found.editor.submit(session_id, "go")
            asked = (await found.client.event("question_asked"))["data"]
            assert (asked["purpose"], asked["choices"]) == ("limit", ["Go on", "Stop here"])
            await found.client.event("state", state="AWAITING_INPUT")
            assert len(provider.requests) == 1
        async with served(tmp_path, provider=provider) as found:
            again = await found.ask("subscribe", session_id, since=0)
            assert again["pending"]["questions"] == [asked]
            await found.change("answer", session_id, questionId=asked["questionId"], answers=["Go on"])
            # "Go on" allows the same amount once more, so the limit is reached again.
            once_more = (await found.client.event("question_asked"))["data"]
            await found.change("configure", session_id, limits={"tokensPerInput": 0})
            await found.change("answer", session_id, questionId=once_more["questionId"], answers=["Go on"])
            await found.client.event("assistant_text_end", text="Done.")
            await found.client.event("processing_end", reason="completed")
