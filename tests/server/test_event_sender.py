"""Event senders: a slow client gets joined deltas and every recorded event; other clients are not affected (E4)."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agent_ls.llm.requests import FinishReason, Request, Usage
from agent_ls.llm.stream import ReasoningDelta, StreamEvent, StreamFinish, TextDelta
from agent_ls.loop.events.types import Delta as PartDelta, Title
from agent_ls.loop.model.call import BREATH_EVENTS
from agent_ls.loop.session import Session
from agent_ls.server.rpc.event_sender import BATCH_BYTES, MAX_WAITING, EventSenders
from tests.support.fake_provider import FakeProvider, Gate, Say, Think, reasoning, stream_events, text
from tests.support.sessions import make_session, running_session


class Pipe:
    """The output to a client. While `room` is not set, nobody reads: `drain` waits, but `sent` still has what was
    written.
    """

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.writes: list[list[str]] = []
        """The kinds of the events in each write."""
        self.room = anyio.Event()
        self.room.set()

    def send(self, events: Sequence[bytes]) -> None:
        parsed = [json.loads(event) for event in events]
        self.writes.append([event["kind"] for event in parsed])
        self.sent += parsed

    async def drain(self) -> None:
        if not self.room.is_set():
            await self.room.wait()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.sent if event["kind"] == kind]


@asynccontextmanager
async def senders(
    pipe: Pipe, sleep: Callable[[float], Awaitable[None]] | None = None
) -> AsyncIterator[EventSenders]:
    """Run event senders. Without `sleep`, the clock advances by a second at each reading."""
    times = itertools.count()
    async with anyio.create_task_group() as tasks:

        async def run(work: Callable[[], Awaitable[None]]) -> None:
            await work()

        def start(work: Callable[[], Awaitable[None]]) -> None:
            tasks.start_soon(run, work)

        yield EventSenders(
            send=pipe.send,
            drain=pipe.drain,
            has_room=lambda: pipe.room.is_set(),
            start=start,
            now=(lambda: 0.0) if sleep else (lambda: float(next(times))),
            sleep=sleep or anyio.sleep,
        )
        tasks.cancel_scope.cancel()


async def no_sleep(seconds: float) -> None:
    """Let the tasks run. With it, the clock of the senders does not advance."""
    await anyio.lowlevel.checkpoint()


async def let_tasks_run() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


def say(session: Session, at: int, text: str) -> None:
    session.emit_delta(PartDelta("assistant_text_delta", "p", at, text))


@pytest.mark.req("H3")
async def test_events_emitted_between_subscribing_and_starting_to_send_are_delivered() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        sending = found.subscribe(session)
        session.emit(Title("one"))
        await let_tasks_run()
        assert pipe.sent == []
        sending.start()
        session.emit(Title("two"))
        await let_tasks_run()
        assert [event["data"]["title"] for event in pipe.of("title")] == ["one", "two"]


@pytest.mark.req("E4")
async def test_a_client_that_does_not_read_gets_joined_deltas_and_every_recorded_event() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).start()
        await let_tasks_run()
        pipe.room = anyio.Event()
        session.emit(Title("the pipe is full from here on"))
        await let_tasks_run()
        for at in range(1000):
            say(session, at, "x")
        session.emit(Title("after the deltas"))
        await let_tasks_run()
        assert pipe.of("assistant_text_delta") == []
        pipe.room.set()
        await let_tasks_run()
        (delta,) = pipe.of("assistant_text_delta")
        assert (delta["offset"], delta["data"]["text"]) == (0, "x" * 1000)
        assert [event["kind"] for event in pipe.sent[-2:]] == ["assistant_text_delta", "title"]


@pytest.mark.req("L5")
async def test_a_delta_that_arrives_alone_is_written_before_another_task_runs() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).start()
        await let_tasks_run()
        say(session, 0, "x")
        assert len(pipe.of("assistant_text_delta")) == 1
        session.emit(Title("before the next delta"))
        say(session, 1, "y")
        assert pipe.of("title") == []
        await let_tasks_run()
        kinds = [event["kind"] for event in pipe.sent if event["kind"] != "session_start"]
        assert kinds == ["assistant_text_delta", "title", "assistant_text_delta"]


@pytest.mark.req("L5")
@pytest.mark.parametrize("is_full", [True, False])
async def test_deltas_of_a_burst_or_for_a_full_pipe_wait_and_are_joined(is_full: bool) -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe, None if is_full else no_sleep) as found:
        found.subscribe(session).start()
        await let_tasks_run()
        if is_full:
            pipe.room = anyio.Event()
        for at in range(9):
            say(session, at, "x")
        assert pipe.of("assistant_text_delta") == []
        await let_tasks_run()
        assert [it["data"]["text"] for it in pipe.of("assistant_text_delta")] == ["x" * 9]


@pytest.mark.req("E4")
async def test_a_client_that_reads_in_time_gets_each_delta_unjoined() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).start()
        for at in range(5):
            say(session, at, "x")
            await let_tasks_run()
        assert [delta["offset"] for delta in pipe.of("assistant_text_delta")] == list(range(5))


@pytest.mark.req("E4")
@pytest.mark.parametrize(
    ("events", "writes"),
    [
        ([Title("one"), Title("two"), Title("three")], [3]),
        ([Title("one"), PartDelta("assistant_text_delta", "p", 0, "x"), Title("two")], [2, 1]),
        ([PartDelta("assistant_text_delta", "p", 0, "x"), Title("one"), Title("two")], [1, 2]),
        ([Title("x" * BATCH_BYTES), Title("one"), Title("two")], [1, 2]),
        ([Title("x" * (BATCH_BYTES // 2))] * 5, [2, 2, 1]),
    ],
)
async def test_events_that_wait_together_are_written_together_up_to_a_limit(
    events: list[Title | PartDelta], writes: list[int]
) -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).start()
        session.emit(Title("the first event, which follows that of the start"))
        await let_tasks_run()
        pipe.sent, pipe.writes = [], []
        for event in events:
            session.emit_delta(event) if isinstance(event, PartDelta) else session.emit(event)
        await let_tasks_run()
    assert [len(write) for write in pipe.writes] == writes
    assert len(pipe.sent) == len(events)


@pytest.mark.req("E4")
async def test_the_last_events_of_a_turn_are_one_write() -> None:
    pipe = Pipe()
    async with senders(pipe) as found, running_session(FakeProvider([[text("Hello.")]])) as b:
        found.subscribe(b.session).start()
        await let_tasks_run()
        await b.say("go")
        await let_tasks_run()
    assert ["usage", "state", "processing_end"] in pipe.writes


class Burst(FakeProvider):
    """A model whose deltas arrive all at once. `sent` counts the deltas that the client has when each one is read."""

    def __init__(self, pipe: Pipe, kind: str, piece: Say | Think) -> None:
        super().__init__([])
        self.sent: list[int] = []
        self._pipe, self._kind, self._piece = pipe, kind, piece

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        for event in stream_events(0, self._piece):
            assert not isinstance(event, Gate)
            if isinstance(event, TextDelta | ReasoningDelta):
                self.sent.append(len(self._pipe.of(self._kind)))
            yield event
        yield StreamFinish(FinishReason("stop"), Usage(), {})


@pytest.mark.req("E4")
@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        ("assistant_text_delta", text(*"x" * 90)),
        ("assistant_text_delta", text(*"x" * 1_000)),
        ("reasoning_delta", reasoning(*"x" * 90)),
    ],
)
async def test_the_first_delta_of_a_burst_is_sent_before_the_second_is_read(
    kind: str, piece: Say | Think
) -> None:
    pipe = Pipe()
    model = Burst(pipe, kind, piece)
    async with senders(pipe, no_sleep) as found, running_session(model) as b:
        found.subscribe(b.session).start()
        await let_tasks_run()
        await b.say("go")
        await let_tasks_run()
    assert model.sent[:3] == [0, 1, 1]
    first, second, *_ = pipe.of(kind)
    assert (first["data"]["text"], second["offset"]) == ("x", 1)
    assert len(pipe.of(kind)) <= 2 + len(model.sent) / BREATH_EVENTS


async def test_a_second_subscription_to_a_session_replaces_the_first_subscription() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        assert found.any_session_id == ""
        found.subscribe(session).start()
        await let_tasks_run()
        found.subscribe(session).start()
        await let_tasks_run()
        assert found.any_session_id == session.id
        session.emit(Title("once"))
        await let_tasks_run()
        assert len(pipe.of("title")) == 1
        found.unsubscribe(session.id)
        session.emit(Title("to nobody"))
        await let_tasks_run()
        assert (len(pipe.of("title")), found.any_session_id) == (1, "")


@pytest.mark.req("H3")
async def test_dropping_a_subscription_that_was_never_started_keeps_a_newer_subscription() -> None:
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).drop()
        assert found.any_session_id == ""
        cut = found.subscribe(session)
        found.subscribe(session).start()
        cut.drop()
        session.emit(Title("one"))
        await let_tasks_run()
        assert len(pipe.of("title")) == 1 and found.any_session_id == session.id


@pytest.mark.req("E4")
async def test_more_than_a_thousand_deltas_per_second_are_joined_even_if_the_client_reads() -> None:
    pipe, session, slept, over = Pipe(), make_session(FakeProvider([])), [], anyio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await over.wait()

    async with senders(pipe, sleep) as found:
        found.subscribe(session).start()
        for at in range(40):
            say(session, at, "x")
            await let_tasks_run()
        deltas = pipe.of("assistant_text_delta")
        assert len(deltas) == 16 and slept == [0.016]
        over.set()
        await let_tasks_run()
        deltas = pipe.of("assistant_text_delta")
        assert [event["offset"] for event in deltas] == list(range(17))
        assert deltas[-1]["data"]["text"] == "x" * 24


@pytest.mark.req("E4", "R5")
async def test_a_client_that_does_not_read_has_a_bounded_queue_and_gets_the_newest_events_after_a_gap() -> (
    None
):
    pipe, session = Pipe(), make_session(FakeProvider([]))
    async with senders(pipe) as found:
        found.subscribe(session).start()
        await let_tasks_run()
        pipe.room = anyio.Event()
        session.emit(Title("the pipe is full from here on"))
        await let_tasks_run()
        sent = len(pipe.sent)
        for number in range(20_000):
            say(session, number * 1_000, "x" * 1_000)
        for number in range(400):
            session.emit(Title(f"{number} {'y' * 64_000}"))
        pipe.room.set()
        await let_tasks_run()
        with anyio.fail_after(240):
            while pipe.sent[-1]["seq"] != session.last_seq:
                await anyio.lowlevel.checkpoint()
        later = pipe.sent[sent:]
        assert sum(len(json.dumps(event)) for event in later) < 1.1 * MAX_WAITING
        assert later[0]["seq"] > pipe.sent[sent - 1]["seq"] + 1, "a gap, so the client asks for the rest"
        assert [event["seq"] for event in later] == list(range(later[0]["seq"], session.last_seq + 1))


@pytest.mark.req("E4", "R5")
def test_a_bounded_event_queue_does_not_exceed_its_limit_and_keeps_the_newest_event() -> None:
    session = make_session(FakeProvider([]))
    with session.subscribe() as bounded, session.subscribe() as whole:
        bounded.limit_queue(50_000)
        for number in range(10_000):
            say(session, number * 10, "0123456789")
            assert bounded.waiting_size <= 50_000
        for number in range(1_000):
            session.emit(Title(f"{number} {'y' * 300}"))
            assert bounded.waiting_size <= 50_000
        assert whole.waiting_size > 300_000, "nobody else loses anything"
        session.emit(Title("z" * 100_000))
        assert bounded.waiting_size > 100_000, "the newest alone may be more"
