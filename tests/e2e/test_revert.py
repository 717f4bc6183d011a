"""Roll back over real stdio: preview, restore of an open document and of a file, and its own revert (X10, H2, H4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.loopback import AnthropicServer, Gate, Text
from tests.support.served import Served, served, served_session


def without_session(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "session"}


async def first_turn(found: Served, session_id: str) -> str:
    events = (await found.editor.subscribe(session_id))["events"]
    turn: str = next(event["turnId"] for event in events if event["kind"] == "user_input")
    return turn


@pytest.mark.req("X10", "H2", "H4")
async def test_roll_back_restores_the_open_document_and_can_be_reverted(tmp_path: Path) -> None:
    async with served(tmp_path) as found:
        cart = found.project / "shop" / "cart.py"
        before = cart.read_text()
        await found.editor.open(cart, before)
        session_id = await found.task_done()
        document = found.editor.documents[cart.as_uri()]
        edited = document.source
        assert edited != before
        turn = await first_turn(found, session_id)

        preview = await found.change("revert", session_id, atTurnId=turn, files="preview")
        assert (preview["revertId"], document.source) == ("", edited)
        (planned,) = preview["files"]
        assert (planned["uri"], planned["action"], planned["state"]) == (cart.as_uri(), "modify", "planned")
        assert planned["diff"].startswith("--- ")

        version = document.version
        async with found.editor.doing_as_asked():
            done = await found.change("revert", session_id, atTurnId=turn)
        assert document.source == before and document.version == (version or 0) + 1
        assert (done["turns"], done["restoredTurns"]) == ([turn], [])
        assert [file["state"] for file in done["files"]] == ["restored"]
        event = await found.client.event("reverted", revertId=done["revertId"])
        assert event["data"]["files"][0]["uri"] == cart.as_uri()
        newest, *_ = (await found.ask("history", session_id))["items"]
        assert (newest["kind"], newest["turns"]) == ("reverted", [turn])

        async with found.editor.doing_as_asked():
            again = await found.change("revert", session_id, atTurnId=done["revertId"])
        assert document.source == edited
        assert again["restoredTurns"] == [turn]


@pytest.mark.req("X10", "R5")
async def test_roll_back_works_in_a_stored_session_and_is_refused_in_a_running_or_unknown_one(
    tmp_path: Path,
) -> None:
    gate = Gate()
    with AnthropicServer(["one", [Text("two", gate)], "three"]) as provider:
        async with served_session(tmp_path, provider) as (found, session_id):
            await found.work_off(session_id, "first")
            turn = await first_turn(found, session_id)
            assert (await found.refused("revert", session_id, atTurnId="t-none")).data["kind"] == "bad_choice"
            bad = await found.refused("revert", session_id, atTurnId=turn, uris=["untitled:1"])
            assert bad.data["kind"] == "invalid_params"
            await found.editor.submit(session_id, "second")
            await found.client.event("user_input", text="second")
            assert (await found.refused("revert", session_id, atTurnId=turn)).data["kind"] == "turn_running"
            gate.open()
            await found.client.event("assistant_text_end", text="two")
            await found.client.shut_down()
        async with served(tmp_path, provider=provider) as found:
            done = await found.change("revert", session_id, atTurnId=turn)
            assert (done["inputText"], done["session"]["state"]) == ("first", "IDLE")
            assert len(done["turns"]) == 2
            await found.editor.subscribe(session_id)
            await found.editor.submit(session_id, "anew")
            await found.client.event("assistant_text_end", text="three")
            contents = [message["content"] for message in provider.requests[-1].body["messages"]]
            assert "anew" in str(contents) and "first" not in str(contents)
