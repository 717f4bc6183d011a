"""Delivery of events to consumers: order, each at its own speed, joined deltas, partial texts (E2, E4)."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from agent_ls.loop.emission import SYNC_DELAY_S, EventEmitter, output_part
from agent_ls.loop.events import codec as event_codec
from agent_ls.loop.events.subscription import EncodedEvent, Subscription
from agent_ls.loop.events.types import (
    AssistantTextEnd,
    AssistantTextStart,
    Delta,
    Envelope,
    ProcessingEnd,
    SessionEnd,
    ToolCallEnd,
    Warning,
)
from agent_ls.loop.ids import SessionId
from tests.support.fake_clock import FakeClock
from tests.support.fake_provider import FakeProvider, Gate, text
from tests.support.sessions import DEADLINE_S, MemoryRecorder, running_session


def _emitter(last_seq: int = 0) -> tuple[EventEmitter, MemoryRecorder, FakeClock]:
    recorder, clock = MemoryRecorder(), FakeClock()
    return EventEmitter(SessionId("s"), recorder, clock, last_seq), recorder, clock


async def _waiting(subscription: Subscription) -> list[EncodedEvent]:
    """Return the events that can be read without waiting, up to the end of the subscription."""
    subscription.end()
    return [item async for item in subscription]


def _summarize(items: list[EncodedEvent]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for item in items:
        envelope = item.envelope
        if isinstance(envelope.event, Delta):
            rows.append((envelope.after, envelope.event.part_id, envelope.event.offset, envelope.event.text))
        else:
            rows.append((envelope.seq, envelope.kind))
    return rows


@pytest.mark.req("E2", "H3")
async def test_an_event_is_numbered_recorded_and_published_as_the_same_envelope() -> None:
    emitter, recorder, _ = _emitter(last_seq=41)
    emitter.turn_id = "t-1"
    with emitter.subscribe() as subscription:
        envelope = emitter.emit(Warning("careful"))
        items = await _waiting(subscription)
    assert (envelope.seq, emitter.last_seq) == (42, 42)
    assert recorder.envelopes == [envelope]
    assert items[0].envelope is envelope
    assert event_codec.decode(items[0].encoded) == envelope
    assert envelope.timestamp == "2026-01-02T03:04:05.000Z"


@pytest.mark.req("E4")
async def test_deltas_for_a_slow_consumer_are_joined_per_part() -> None:
    emitter, _, _ = _emitter()
    with emitter.subscribe() as behind:
        emitter.emit(AssistantTextStart("p"))
        emitter.append("assistant_text_delta", "p", "a")
        emitter.append("tool_call_output_delta", "c:out", "1", "stdout")
        emitter.append("assistant_text_delta", "p", "b")
        emitter.append("tool_call_output_delta", "c:out", "2", "stdout")
        emitter.append("tool_call_output_delta", "c:out", "!", "stderr")
        emitter.append("tool_call_output_delta", "c:out", "3", "stdout")
        emitter.emit(Warning("w"))
        emitter.append("assistant_text_delta", "p", "c")
        emitter.append("assistant_text_delta", "p", "d")
        emitter.emit(AssistantTextEnd("p", "abcd"))
        items = await _waiting(behind)
    assert _summarize(items) == [
        (1, "assistant_text_start"),
        (1, "p", 0, "ab"),
        (1, "c:out", 0, "12"),
        (1, "c:out", 2, "!"),
        (1, "c:out", 3, "3"),
        (2, "warning"),
        (2, "p", 2, "cd"),
        (3, "assistant_text_end"),
    ]


@pytest.mark.req("E2", "E4")
async def test_consumers_read_at_their_own_speed_and_a_fast_one_gets_single_deltas() -> None:
    emitter, _, _ = _emitter()
    fast: list[EncodedEvent] = []
    with emitter.subscribe() as slow, emitter.subscribe() as quick:
        async with anyio.create_task_group() as group:

            async def read() -> None:
                while True:
                    fast.append(await quick.__anext__())

            group.start_soon(read)
            for piece in "abc":
                await anyio.wait_all_tasks_blocked()
                emitter.append("assistant_text_delta", "p", piece)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        slow_items = await _waiting(slow)
    assert _summarize(fast) == [(0, "p", 0, "a"), (0, "p", 1, "b"), (0, "p", 2, "c")]
    assert _summarize(slow_items) == [(0, "p", 0, "abc")]


async def test_a_delta_is_encoded_once_for_all_consumers_that_get_it_unjoined() -> None:
    emitter, _, _ = _emitter()
    with emitter.subscribe() as one, emitter.subscribe() as two:
        emitter.append("assistant_text_delta", "p", "é")
        first, second = await _waiting(one), await _waiting(two)
    assert first[0].encoded is second[0].encoded
    decoded = event_codec.decode(first[0].encoded)
    assert decoded == first[0].envelope


@pytest.mark.req("E4")
async def test_a_consumer_that_never_reads_does_not_stall_the_session() -> None:
    pieces = [f"word {number} " for number in range(5_000)]
    async with running_session(FakeProvider([text(*pieces)])) as b:
        idle = b.session.subscribe()
        await b.say("go")
        waiting = await _waiting(idle)
    kinds = [item.envelope.kind for item in waiting]
    assert kinds[-1] == "processing_end"
    assert len(kinds) < 12
    joined = [item.envelope.event for item in waiting if isinstance(item.envelope.event, Delta)]
    assert "".join(delta.text for delta in joined) == "".join(pieces)


@pytest.mark.req("E2")
async def test_a_subscription_can_be_closed_while_a_consumer_reads_and_closed_twice() -> None:
    emitter, _, _ = _emitter()
    subscription = emitter.subscribe()
    ended = []

    async def read() -> None:
        async for _ in subscription:
            pass
        ended.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        subscription.close()
        subscription.close()
    assert ended == [True]
    emitter.emit(Warning("nobody listens"))
    assert [item async for item in subscription] == []


async def test_subscriptions_end_after_the_sessions_last_event() -> None:
    async with running_session(FakeProvider()) as b:
        with b.session.subscribe() as events:
            await b.say("go")
            b.session.abort()
            kinds = [item.envelope.kind async for item in events]
    assert kinds[-1] == "session_end"


def _think(emitter: EventEmitter) -> None:
    for piece in ("a", "", "b"):
        emitter.append("reasoning_delta", "p", piece)


def _say(emitter: EventEmitter) -> None:
    emitter.emit(AssistantTextStart("p"))
    emitter.emit(AssistantTextEnd("p", ""))


def _call(emitter: EventEmitter) -> None:
    emitter.append("tool_call_output_delta", output_part("c"), "x")
    emitter.emit(ToolCallEnd("c", "n", "x", "", False, "", 0, 1))


def _stop(emitter: EventEmitter) -> None:
    emitter.append("assistant_text_delta", "p", "x")
    emitter.emit(ProcessingEnd("interrupted"))


FOREIGN = Delta("tool_call_output_delta", "t:out", 0, "from the app", "stdout")


def _foreign(emitter: EventEmitter) -> None:
    emitter.emit_delta(FOREIGN)


OPENED: dict[str, tuple[Callable[[EventEmitter], object], tuple[Delta, ...]]] = {
    "started": (
        lambda emitter: emitter.emit(AssistantTextStart("p")),
        (Delta("assistant_text_delta", "p", 0, ""),),
    ),
    "with text": (_think, (Delta("reasoning_delta", "p", 0, "ab"),)),
    "arguments": (
        lambda emitter: emitter.open_part("tool_call_args_delta", "c:args", "look"),
        (Delta("tool_call_args_delta", "c:args", 0, "", "look"),),
    ),
    "ended": (_say, ()),
    "call ended": (_call, ()),
    "turn ended": (_stop, ()),
    "foreign": (_foreign, (FOREIGN,)),
}


@pytest.mark.req("H3")
@pytest.mark.parametrize("case", OPENED)
def test_open_parts_are_those_that_started_and_did_not_end(case: str) -> None:
    emitter, _, _ = _emitter()
    act, expected = OPENED[case]
    act(emitter)
    assert emitter.open_parts() == expected


@pytest.mark.req("R3")
async def test_unfinished_texts_are_logged_once_a_second_only_if_they_grew() -> None:
    gates = [Gate(), Gate(), Gate()]
    provider = FakeProvider([[text("one"), gates[0]], [text("x"), gates[1]]])
    async with running_session(provider) as b:
        emitter = b.session
        b.session.submit("go")
        await gates[0].reached.wait()
        emitter.emit(AssistantTextStart("p9"))
        for piece in ("a", "b", "c"):
            emitter.emit_delta(Delta("assistant_text_delta", "p9", 0, piece))
            await anyio.wait_all_tasks_blocked()
        assert b.recorder.partials == []
        b.clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        assert b.recorder.partials == [("p9", "abc")]
        b.clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        emitter.emit_delta(Delta("assistant_text_delta", "p9", 3, "d"))
        await anyio.wait_all_tasks_blocked()
        b.clock.advance(1)
        await anyio.wait_all_tasks_blocked()
        assert b.recorder.partials == [("p9", "abc"), ("p9", "abcd")]
        b.session.interrupt()
        await b.idle()


async def test_no_event_is_lost_between_last_seq_and_a_subscription_in_the_same_tick() -> None:
    async with running_session(FakeProvider([text("a"), text("b")])) as b:
        await b.say("one")
        known = b.session.last_seq
        with b.session.subscribe() as events:
            b.session.submit("two")
            seqs: list[int] = []
            async for item in events:
                if item.envelope.seq:
                    seqs.append(item.envelope.seq)
                if item.envelope.kind == "processing_end":
                    break
        assert seqs == list(range(known + 1, b.session.last_seq + 1))


async def test_events_emitted_by_other_services_get_the_id_of_the_running_turn() -> None:
    gate = Gate()
    async with running_session(FakeProvider([[gate]])) as b:
        outside = b.session.emit(Warning("before"))
        turn_id = b.session.submit("go").turn_id
        await gate.reached.wait()
        inside = b.session.emit(Warning("within"))
        gate.open()
        await b.idle()
        after = b.session.emit(Warning("after"))
    assert [outside.turn_id, inside.turn_id, after.turn_id] == ["", turn_id, ""]
    assert outside.seq == 2


def test_a_session_end_event_closes_open_parts() -> None:
    emitter, _, _ = _emitter()
    emitter.append("assistant_text_delta", "p", "x")
    emitter.emit(SessionEnd("CLOSED", "aborted"))
    assert emitter.open_parts() == ()


async def test_text_with_lone_surrogates_is_published_without_an_error() -> None:
    emitter, recorder, _ = _emitter()
    with emitter.subscribe() as subscription:
        emitter.emit(Warning("a\udc80b"))
        emitter.append("assistant_text_delta", "p", "\udfff")
        items = await _waiting(subscription)
    assert [isinstance(event_codec.decode(item.encoded), Envelope) for item in items] == [True, True]
    await checkpoint()
    assert recorder.kinds == ["warning"]


@pytest.mark.req("E2", "L5")
async def test_turns_that_follow_at_once_share_one_flush_of_the_log() -> None:
    async with running_session(FakeProvider([text("one"), text("two"), text("three")])) as b:
        for _ in range(2):
            await b.say("go")
        assert b.recorder.syncs == 0
        b.clock.advance(SYNC_DELAY_S)
        with anyio.fail_after(DEADLINE_S):
            while b.recorder.syncs == 0:
                await checkpoint()
        await b.say("go")
        assert b.recorder.syncs == 1
    assert b.recorder.syncs == 2, "the end of a session flushes at once"


@pytest.mark.req("E2", "H3")
async def test_a_subscription_after_the_session_end_event_ends_at_once() -> None:
    emitter, _, _ = _emitter()
    emitter.emit(SessionEnd("CLOSED", "completed"))
    with anyio.fail_after(DEADLINE_S), emitter.subscribe() as late:
        assert [item async for item in late] == []


@pytest.mark.req("R4")
async def test_a_subscription_after_a_failed_session_end_event_ends_at_once() -> None:
    emitter, _, _ = _emitter()
    with emitter.ending():
        pass
    with anyio.fail_after(DEADLINE_S), emitter.subscribe() as late:
        assert [item async for item in late] == []
