"""Ask the user at each limit that a turn reaches whether it continues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agent_ls.loop.budget import GO_ON, STOP, UseLimits
from agent_ls.loop.emission import Emitter
from agent_ls.loop.events.types import TurnLimit
from agent_ls.loop.ports import Ports, Shared
from agent_ls.loop.step import Finish
from agent_ls.tools.base import Question, QuestionReply, ToolError

T = TypeVar("T")


class TurnLimits:
    """The limits of the turns of one agent. `is_cutting`: a time limit cancels the work of the agent."""

    def __init__(
        self,
        ports: Ports,
        shared: Shared,
        emitter: Emitter,
        limits: Callable[[], UseLimits],
    ) -> None:
        self._questions = ports.questions
        self._budget = shared.budget
        self._emitter = emitter
        self._limits = limits
        self.is_cutting = False

    async def stopped(self) -> Finish | None:
        """If a limit is reached, ask the user whether to continue. Returns None if the turn continues."""
        while reached := self._budget.reached(self._limits()):
            self._emitter.emit(TurnLimit(reached.limit, reached.count, reached.message))
            question = Question(
                f"{reached.message} Allow the same amount again and continue?", (GO_ON, STOP), purpose="limit"
            )
            if await self.ends_here(question):
                return Finish("limit", "budget", reached.count, reached.message)
            self._budget.allow_more(reached)
        return None

    def allow_restored(self, question: str) -> None:
        """Allow more of a limit that is still reached, after the user agreed to this question of an earlier process."""
        reached = self._budget.reached(self._limits())
        if reached and question.startswith(reached.heading):
            self._budget.allow_more(reached)

    async def in_time(self, work: Callable[[], Awaitable[T]]) -> T | Finish:
        """Await `work()`.

        If a time limit is reached, ask the user while the work continues. If the user declines, the work is
        cancelled.
        """
        self.is_cutting = False
        if self._budget.time_left_ms(self._limits()) is None:
            return await work()
        done: list[T] = []
        stopped: list[Finish] = []
        failure: Exception | None = None
        is_asking = False

        async def watch() -> None:
            nonlocal is_asking
            while (left_ms := self._budget.time_left_ms(self._limits())) is not None:
                await anyio.sleep(left_ms / 1000)
                is_asking = True
                if finish := await self.stopped():
                    stopped.append(finish)
                is_asking = False
                if stopped or done or failure:
                    self.is_cutting = not (done or failure)
                    return group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                done.append(await work())
            except Exception as error:  # if the task group saw the error, it would raise an ExceptionGroup
                failure = error
            if not is_asking:
                group.cancel_scope.cancel()
        self.is_cutting = False
        if failure:
            raise failure
        return stopped[0] if stopped else done[0]

    async def ends_here(self, question: Question) -> bool:
        """Ask whether to continue past a limit. Returns True if the turn ends: all but GO_ON ends it."""
        try:
            reply = await self._questions.ask(question, "")
        except ToolError:  # a subagent cannot ask: its turn ends, and the turn of its parent asks
            reply = QuestionReply((), declined=True)
        return reply.declined or reply.answers != (GO_ON,)
