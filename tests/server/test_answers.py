"""Idempotent requests: a repeated, cancelled or simultaneous request waits for the same work instead of repeating
it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from agent_ls.server.rpc.idempotency import KEPT, RecentAnswers
from agent_ls.server.transport.errors import KeyReusedError
from agent_ls.services.errors import NotRunningError


class Counter:
    """Work that the test can pause; `count` is the number of runs."""

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


def answers(tasks: anyio.abc.TaskGroup) -> RecentAnswers:
    async def run(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    def start(work: Callable[[], Awaitable[None]]) -> None:
        tasks.start_soon(run, work)

    return RecentAnswers(start)


@pytest.mark.req("H2")
async def test_repeated_idempotency_key_returns_the_first_result_within_its_scope() -> None:
    counter = Counter()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        assert [await book.run_once("s", "k", "agent/x", counter.work) for _ in range(3)] == [1, 1, 1]
        assert await book.run_once("t", "k", "agent/x", counter.work) == 2
        assert [await book.run_once("s", "", "agent/x", counter.work) for _ in range(2)] == [3, 4]


async def test_idempotency_key_reused_for_another_method_is_refused() -> None:
    counter = Counter()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        await book.run_once("s", "k", "agent/x", counter.work)
        with pytest.raises(KeyReusedError):
            await book.run_once("s", "k", "agent/y", counter.work)
    assert counter.count == 1


async def test_a_failure_is_reported_and_may_be_tried_again() -> None:
    counter = Counter()
    counter.fails = True
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        with pytest.raises(ValueError, match="failed"):
            await book.run_once("s", "k", "agent/x", counter.work)
        counter.fails = False
        assert await book.run_once("s", "k", "agent/x", counter.work) == 2


async def test_cancelling_a_request_stops_the_wait_and_not_the_work() -> None:
    counter = Counter()
    counter.may_end = anyio.Event()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await book.run_once("s", "k", "agent/x", counter.work)
        counter.may_end.set()
        assert await book.run_once("s", "k", "agent/x", counter.work) == 1


async def test_work_interrupted_by_the_end_of_the_server_is_not_reported_as_done() -> None:
    counter = Counter()
    counter.may_end = anyio.Event()
    refused: list[NotRunningError] = []
    async with anyio.create_task_group() as waiting, anyio.create_task_group() as tasks:
        book = answers(tasks)

        async def ask() -> None:
            try:
                await book.run_once("s", "k", "agent/x", counter.work)
            except NotRunningError as error:
                refused.append(error)

        waiting.start_soon(ask)
        while not counter.count:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert len(refused) == 1


@pytest.mark.req("H2", "R5")
async def test_old_idempotent_results_are_discarded_but_unfinished_work_is_kept() -> None:
    slow, quick = Counter(), Counter()
    slow.may_end = anyio.Event()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)

        async def ask() -> None:
            assert await book.run_once("s", "slow", "agent/x", slow.work) == 1

        tasks.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        for number in range(3 * KEPT):
            assert await book.run_once("s", f"k{number}", "agent/x", quick.work) == number + 1
        assert book.count <= KEPT + 1
        assert await book.run_once("s", f"k{3 * KEPT - 1}", "agent/x", quick.work) == 3 * KEPT
        tasks.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        slow.may_end.set()
    assert slow.count == 1


@pytest.mark.req("H2", "R5")
async def test_results_of_requests_without_idempotency_key_are_not_stored() -> None:
    quick = Counter()
    async with anyio.create_task_group() as tasks:
        book = answers(tasks)
        for number in range(KEPT):
            assert await book.run_once("s", "", "agent/sessions", quick.work) == number + 1
        assert book.count == 0
