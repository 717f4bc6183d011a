"""Check statements of docs/protocol/ about a session's events against a real session."""

from __future__ import annotations

import pytest

from agent_ls.loop.events.types import Delta, Envelope, ToolCallStart
from tests.support.fake_provider import FakeProvider, reasoning, text, tool_call
from tests.support.sessions import RunningSession, running_session, tool


async def collect_envelopes(session: RunningSession, said: str) -> list[Envelope]:
    """Return all events of one turn, including deltas."""
    with session.session.subscribe() as events:
        session.session.submit(said)
        envelopes: list[Envelope] = []
        async for item in events:
            envelopes.append(item.envelope)
            if item.envelope.kind == "processing_end":
                break
        return envelopes


@pytest.fixture
def model() -> FakeProvider:
    call = tool_call("look", '{"value": "here"}')
    return FakeProvider([[reasoning("First ", "look."), text("I ", "look."), call], text("Done.")])


@pytest.mark.req("E2")
async def test_deltas_join_to_the_final_text_of_their_part(model: FakeProvider) -> None:
    async with running_session(model, tool("look")) as session:
        envelopes = await collect_envelopes(session, "go")

    texts: dict[str, str] = {}
    for envelope in envelopes:
        event = envelope.event
        if isinstance(event, Delta):
            assert (envelope.seq, event.offset) == (None, len(texts.get(event.part_id, "")))
            texts[event.part_id] = texts.get(event.part_id, "") + event.text
        elif envelope.kind in ("assistant_text_end", "reasoning_end"):
            assert texts.pop(getattr(event, "part_id", "")) == getattr(event, "text", "")
        elif isinstance(event, ToolCallStart):
            assert texts.pop(f"{event.call_id}:args") == event.arguments
    assert not texts


async def test_each_delta_names_the_last_recorded_event_and_an_argument_delta_names_the_tool(
    model: FakeProvider,
) -> None:
    async with running_session(model, tool("look")) as session:
        envelopes = await collect_envelopes(session, "go")

    last = 0
    for envelope in envelopes:
        if envelope.seq is not None:
            last = envelope.seq
        elif isinstance(envelope.event, Delta):
            assert envelope.after == last
            assert envelope.event.name == ("look" if envelope.kind == "tool_call_args_delta" else "")
