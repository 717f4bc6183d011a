"""Calls that run while the model still streams (L11, 002 section 8.3): they only look, and nobody has to be asked.

A call with an effect never starts before the response has ended well, nor does any call that would have to wait for
one. What ran early is thrown away where the response turns out to be cut.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.messages import ToolCallPart
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.dispatch import Call, Dispatcher, parse_call
from agent_ls.loop.ids import ToolCallId
from agent_ls.loop.tool_round import reach_of
from agent_ls.profiles.base import ProviderProfile

T = TypeVar("T")


class EarlyCalls:
    """Of one response. `started` has those that were begun, by their place among its calls."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        profile: ProviderProfile,
        config: SessionConfig,
        environment: ExecutionEnvironment,
    ) -> None:
        self.started: dict[int, Call] = {}
        self._dispatcher = dispatcher
        self._profile = profile
        self._config = config
        self._environment = environment
        self._is_held = False
        self._group: TaskGroup | None = None

    async def beside(self, reading: Awaitable[T]) -> T:
        """Reads the response; returns when what was begun has ended. Raises what the reading raises, unwrapped.

        A stop that comes when the response has been read is left to the next await: its calls stand in the history by
        then, and only the round gives each of them its result.
        """
        read: list[T] = []
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as self._group:
                try:
                    read.append(await reading)
                except Exception as error:  # a task group would wrap it
                    failure = error
        except anyio.get_cancelled_exc_class():
            if not read:
                raise
        if failure:
            raise failure
        return read[0]

    def offer(self, part: ToolCallPart, event_id: ToolCallId, index: int) -> None:
        """A call whose arguments are complete."""
        parsed = parse_call(part, self._profile)
        reach = reach_of(parsed, self._environment)
        # Those behind it may be about what it changes.
        self._is_held = self._is_held or reach.has_effect or reach.is_last
        may_look = parsed.tool is not None and parsed.tool.starts_early and parsed.arguments is not None
        if self._is_held or not may_look or self._group is None:
            return
        if self._profile.supports_parallel_tool_calls or index == 0:
            self._group.start_soon(self._run, Call(part, event_id, index, is_alone=False))

    async def _run(self, call: Call) -> None:
        if await self._dispatcher.is_free(call, self._profile, self._config):
            self.started[call.index] = call
            await self._dispatcher.dispatch(call, self._profile, self._config)
