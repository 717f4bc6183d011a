"""A message to a closed session reopens it: after a wrong key, used-up credit, and after the user has closed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.editor import text_input
from tests.support.loopback import AnthropicServer, ErrorReply
from tests.support.served import Served, served, served_session

pytestmark = pytest.mark.req("R1", "H3")

FAILURES = {
    "a refused key": ErrorReply(401, message="invalid x-api-key"),
    "a used-up account": ErrorReply(
        400, message="Your credit balance is too low to access the Anthropic API."
    ),
}


async def closed_by(found: Served, failure: str) -> str:
    """Return a session that a provider failure has closed."""
    session_id = await found.editor.new_session(provider="anthropic")
    await found.editor.submit(session_id, "Hello?")
    await found.client.event("session_end")
    return session_id


async def completed(found: Served, session_id: str, start: int) -> None:
    """Wait for the end of a turn of this session, after the first `start` received messages.

    Check that the turn completed, and that each event of the session was sent once and in order.
    """

    assert await found.editor.turn_end(session_id, start) == "completed"
    seqs = [event["seq"] for event in found.recorded(session_id)]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_message_reopens_a_session_that_was_closed_after_a_provider_error(
    failure: str, tmp_path: Path
) -> None:
    with AnthropicServer([FAILURES[failure], "Here I am."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await closed_by(found, failure)
            start = len(found.client.received)
            answer = await found.editor.submit(session_id, "And now?")
            assert answer["turnId"]
            await completed(found, session_id, start)
            texts = [
                event["data"]["text"] for event in found.recorded(session_id) if "user_input" in event["kind"]
            ]
            assert texts == ["Hello?", "And now?"]


@pytest.mark.parametrize("method", ["steer", "followUp"])
async def test_steering_and_queued_messages_open_a_closed_session_too(method: str, tmp_path: Path) -> None:
    with AnthropicServer([ErrorReply(401), "Here I am."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await closed_by(found, "a refused key")
            start = len(found.client.received)
            await found.change(method, session_id, input=text_input("And now?"))
            if method == "steer":  # steering text in a closed session is sent with the next message
                await found.editor.submit(session_id, "Go on.")
            await completed(found, session_id, start)


async def test_another_model_can_be_chosen_for_a_closed_session(tmp_path: Path) -> None:
    with AnthropicServer([ErrorReply(404), "Here I am."]) as provider:
        async with served(tmp_path, provider=provider) as found:
            session_id = await closed_by(found, "an unknown model")
            start = len(found.client.received)
            changed = await found.change("configure", session_id, model="claude-sonnet-4-5")
            assert changed["session"]["model"] == "claude-sonnet-4-5"
            await found.editor.submit(session_id, "And now?")
            await completed(found, session_id, start)
        assert provider.requests[-1].body["model"] == "claude-sonnet-4-5"


async def test_a_session_closed_by_its_user_continues_with_the_next_message(tmp_path: Path) -> None:
    with AnthropicServer(["Here I am."]) as provider:
        async with served_session(tmp_path, provider) as (found, session_id):
            await found.change("closeSession", session_id)
            start = len(found.client.received)
            await found.editor.submit(session_id, "Hello?")
            await completed(found, session_id, start)


async def test_a_closed_session_that_another_process_has_opened_is_not_written_to(tmp_path: Path) -> None:
    async with served_session(tmp_path) as (found, session_id):
        await found.change("closeSession", session_id)
        async with served(tmp_path) as other:
            await other.editor.subscribe(session_id)
            refused = await found.refused("submit", session_id, input=text_input("Hello?"))
            assert refused.data["kind"] == "session_busy"
            assert "another process" in str(refused)


async def test_a_client_that_unsubscribed_is_sent_nothing_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    async with served_session(tmp_path) as (found, session_id):
        await found.change("closeSession", session_id)
        await found.client.event("session_end")
        await found.client.request("agent/unsubscribe", {"sessionId": session_id})
        before = len(found.recorded(session_id))
        await found.editor.submit(session_id, "What is this?")
        assert len(found.recorded(session_id)) == before
        assert (await found.editor.subscribe(session_id))["lastSeq"] > before
