"""One request, one effect: whoever asks again, cancels, or asks twice at once waits for the same work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from agent_ls.app.errors import NotRunningError
from agent_ls.server.answers import Answers
from agent_ls.server.errors import KeyReusedError


class Counter:
    """Work that can be held up; `count` is how often it was done."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = anyio.Event()
        self.may_end.set()
        self.fails = False

    async def work(self) -> int:
        self.count += 1
        await self.may_end.wait()
        if self.fails:
            raise ValueError("it failed")
        return self.count


def answers(tasks: anyio.abc.TaskGroup) -> Answers:
    async def run(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    def start(work: Callable[[], Awaitable[None]]) -> None:
        tasks.start_soon(run, work)

    return Answers(start)


@pytest.mark.req("H2")
async def test_the_same_key_gets_the_first_answer_and_another_scope_its_own() -> None:
    counter = Counter()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        assert [await book.once("s", "k", "agent/x", counter.work) for _ in range(3)] == [1, 1, 1]
        assert await book.once("t", "k", "agent/x", counter.work) == 2
        assert [await book.once("s", "", "agent/x", counter.work) for _ in range(2)] == [3, 4]


async def test_a_key_of_another_method_is_refused() -> None:
    counter = Counter()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        await book.once("s", "k", "agent/x", counter.work)
        with pytest.raises(KeyReusedError):
            await book.once("s", "k", "agent/y", counter.work)
    assert counter.count == 1


async def test_a_failure_is_told_and_may_be_tried_again() -> None:
    counter = Counter()
    counter.fails = True
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        with pytest.raises(ValueError, match="failed"):
            await book.once("s", "k", "agent/x", counter.work)
        counter.fails = False
        assert await book.once("s", "k", "agent/x", counter.work) == 2


async def test_who_cancels_stops_waiting_and_not_the_work() -> None:
    counter = Counter()
    counter.may_end = anyio.Event()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await book.once("s", "k", "agent/x", counter.work)
        counter.may_end.set()
        assert await book.once("s", "k", "agent/x", counter.work) == 1


async def test_work_that_the_end_of_the_server_cut_is_not_told_as_done() -> None:
    counter = Counter()
    counter.may_end = anyio.Event()
    refused: list[NotRunningError] = []
    async with anyio.create_task_group() as waiting, anyio.create_task_group() as tasks:
        book = answers(tasks)

        async def ask() -> None:
            try:
                await book.once("s", "k", "agent/x", counter.work)
            except NotRunningError as error:
                refused.append(error)

        waiting.start_soon(ask)
        while not counter.count:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert len(refused) == 1
