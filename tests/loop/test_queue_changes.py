"""The user edits, reorders and empties the queue, and starts a queued message at once (L6)."""

from __future__ import annotations

import random

import pytest

from agent_ls.loop.errors import SessionClosedError
from agent_ls.loop.events.queue import QueueItem, update_queue
from agent_ls.loop.events.types import ProcessingEnd, QueueChanged, QueueSpliced, UserInput
from agent_ls.loop.inbox import (
    WHOLE_QUEUE,
    Inbox,
    Input,
    QueueChange,
    QueueEdit,
    QueueMove,
    QueueRemoval,
    StartNow,
)
from tests.support.fake_provider import FakeProvider, Gate, text
from tests.support.sessions import RunningSession, running_session


def inbox(ids: str) -> Inbox:
    return Inbox(queue=(Input(name, (), f"key-{name}", name) for name in ids))


def order(box: Inbox) -> str:
    return "".join(item.queued_id for item in box.queue)


@pytest.mark.req("L6")
@pytest.mark.parametrize(
    ("change", "after"),
    [
        (QueueMove("c", "a"), "cab"),
        (QueueMove("a", "c"), "bac"),
        (QueueMove("a"), "bca"),
        (QueueMove("b", "b"), "abc"),
        (QueueRemoval("b"), "ac"),
        (StartNow("c"), "cab"),
        (QueueEdit("b", "other"), "abc"),
    ],
)
def test_a_queue_change_affects_only_the_selected_message(change: QueueChange, after: str) -> None:
    box = inbox("abc")

    assert box.apply_change(change)
    assert order(box) == after


@pytest.mark.parametrize(
    "change", [QueueMove("x"), QueueMove("a", "x"), QueueRemoval("x"), StartNow(""), QueueEdit("x", "y")]
)
def test_a_change_of_an_unknown_message_changes_nothing(change: QueueChange) -> None:
    box = inbox("abc")

    assert not box.apply_change(change)
    assert order(box) == "abc"


def test_an_edited_message_keeps_its_id_and_key() -> None:
    box = inbox("ab")

    assert box.apply_change(QueueEdit("b", "other"))
    assert box.queue[1] == Input("other", (), "key-b", "b")


def test_a_message_to_run_next_is_queued_after_a_start_now_message() -> None:
    box = inbox("abc")
    box.apply_change(StartNow("c"))
    box.add_next(Input("urgent", queued_id="u"))

    assert order(box) == "cuab"


def change_somehow(box: Inbox, number: int, rng: random.Random) -> None:
    ids = [item.queued_id for item in box.queue]
    match rng.choice(("add", "add", "add_next", "pop", "edit", "move", "move_last", "remove", "start")):
        case "add":
            box.add(Input(f"message {number}", queued_id=f"q{number}"))
        case "add_next":
            box.add_next(Input(f"message {number}", queued_id=f"q{number}"))
        case "pop":
            box.pop()
        case "edit":
            box.apply_change(QueueEdit(rng.choice(ids), f"edited {number}"))
        case "move":
            box.apply_change(QueueMove(rng.choice(ids), rng.choice(ids)))
        case "move_last":
            box.apply_change(QueueMove(rng.choice(ids)))
        case "remove":
            box.apply_change(QueueRemoval(rng.choice(ids)))
        case _:
            box.apply_change(StartNow(rng.choice(ids)))


@pytest.mark.req("L6")
@pytest.mark.parametrize("seed", range(20))
def test_events_of_a_long_queue_have_what_changed_and_make_the_same_queue(seed: int) -> None:
    rng = random.Random(seed)
    box = Inbox(queue=[Input(f"stored {n}", queued_id=f"s{n}") for n in range(2 * WHOLE_QUEUE)])
    seen: list[QueueItem] = []
    kinds = set()
    for number in range(200):
        change_somehow(box, number, rng)
        if rng.random() < 0.1:  # two changes before an event, as when a turn begins
            change_somehow(box, number + 1000, rng)
        event = box.make_event()
        kinds.add(type(event))
        update_queue(seen, event)
        assert seen == [item.to_queue_item() for item in box.queue]
        assert isinstance(event, QueueChanged) or len(box.queue) > WHOLE_QUEUE
        if len(box.queue) < 5:
            for n in range(2 * WHOLE_QUEUE):
                box.add(Input("more", queued_id=f"m{number}-{n}"))
    assert kinds == {QueueChanged, QueueSpliced}


@pytest.mark.req("L6")
def test_the_size_of_an_event_does_not_grow_with_the_queue() -> None:
    box = Inbox()
    events = []
    for number in range(1000):
        box.add(Input("text", queued_id=f"q{number}"))
        events.append(box.make_event())
    while box.queue:
        box.pop()
        events.append(box.make_event())
    assert sum(len(event.items) for event in events) <= 1000 + WHOLE_QUEUE**2
    assert max(len(event.items) for event in events) == WHOLE_QUEUE


def queues(b: RunningSession) -> list[list[str]]:
    return [[item.text for item in event.items] for event in b.recorder.of(QueueChanged)]


@pytest.mark.req("L6")
async def test_queue_changes_are_published_and_the_first_message_runs_next() -> None:
    gate = Gate()
    provider = FakeProvider([[gate, text("one")], text("two"), text("three")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await gate.reached.wait()
        first, second, third = (b.session.follow_up(words) for words in ("a", "b", "c"))
        assert b.session.change_queue(QueueMove(third, first))
        assert b.session.change_queue(QueueEdit(first, "A"))
        assert b.session.change_queue(QueueRemoval(second))
        assert not b.session.change_queue(QueueRemoval(second))
        gate.open()
        await b.idle()
    assert [event.text for event in b.recorder.of(UserInput)] == ["go", "c", "A"]
    assert queues(b)[3:6] == [["c", "a", "b"], ["c", "A", "b"], ["c", "A"]]


@pytest.mark.req("L6")
async def test_start_now_interrupts_the_turn_and_starts_the_named_message() -> None:
    gate = Gate()
    provider = FakeProvider([[text("I think"), gate], text("two"), text("three")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await gate.reached.wait()
        b.session.follow_up("a")
        urgent = b.session.follow_up("b")
        assert b.session.change_queue(StartNow(urgent))
        await b.idle(2)
    assert [event.text for event in b.recorder.of(UserInput)] == ["go", "b", "a"]
    assert [event.reason for event in b.recorder.of(ProcessingEnd)] == ["interrupted", "completed"]


@pytest.mark.req("L6")
async def test_start_now_runs_a_message_queued_since_an_interrupt_without_a_new_submit() -> None:
    gate = Gate()
    provider = FakeProvider([[gate], text("two")])
    async with running_session(provider) as b:
        b.session.submit("go")
        await gate.reached.wait()
        waiting = b.session.follow_up("a")
        b.session.interrupt()
        await b.idle()
        assert b.session.change_queue(StartNow(waiting))
        await b.idle(2)
    assert [event.text for event in b.recorder.of(UserInput)] == ["go", "a"]


async def test_the_queue_of_a_closed_session_cannot_be_changed() -> None:
    async with running_session(FakeProvider([])) as b:
        b.session.abort()
        with pytest.raises(SessionClosedError):
            b.session.change_queue(QueueRemoval("q"))
