"""Start read calls that need no approval while the model is still streaming its response.

A call with an effect, and all calls after such a call, start only when the response is complete.
The results of early calls are dropped if the response turns out to be incomplete.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.llm.messages import ToolCallPart
from agent_ls.loop.calls.dispatch import Call, Dispatcher, ParsedCall, reuse_parsed
from agent_ls.loop.calls.tool_round import reach_of
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.ids import ToolCallId
from agent_ls.profiles.base import ProviderProfile

T = TypeVar("T")


class EarlyCalls:
    """The early calls of one response.

    `started` has the calls that started early, and `parsed` the parsed arguments of all calls. The keys of
    both are the positions of the calls in the response.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        profile: ProviderProfile,
        config: SessionConfig,
        environment: ExecutionEnvironment,
    ) -> None:
        self.started: dict[int, Call] = {}
        self.parsed: dict[int, ParsedCall] = {}
        self._dispatcher = dispatcher
        self._profile = profile
        self._config = config
        self._environment = environment
        self._is_held = False
        self._group: TaskGroup | None = None

    async def read_while_running(self, reading: Awaitable[T]) -> T:
        """Read the response while the early calls run; return when both have ended.

        Raises the errors of `reading` unchanged. A stop that arrives after the response was read takes effect
        only at the caller's next await. By then the calls are in the history, so the round adds a
        result for each of them.
        """
        read: list[T] = []
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as self._group:
                try:
                    read.append(await reading)
                except Exception as error:  # a task group would raise it as an ExceptionGroup
                    failure = error
        except anyio.get_cancelled_exc_class():
            if not read:
                raise
        if failure:
            raise failure
        return read[0]

    def offer(self, part: ToolCallPart, event_id: ToolCallId, index: int) -> None:
        """Start the call if it may run early. Its arguments must be complete."""
        call = Call(part, event_id, index, is_alone=False)
        parsed = self.parsed[index] = reuse_parsed(call, self._profile)
        reach = reach_of(parsed, self._environment)
        # Calls after a call with an effect may depend on it, so they do not start early.
        self._is_held = self._is_held or reach.has_effect or reach.is_last
        may_look = parsed.tool is not None and parsed.tool.starts_early and parsed.arguments is not None
        if self._is_held or not may_look or self._group is None:
            return
        if self._profile.supports_parallel_tool_calls or index == 0:
            self._group.start_soon(self._run, call)

    async def _run(self, call: Call) -> None:
        if await self._dispatcher.prepare_early(call, self._profile, self._config):
            self.started[call.index] = call
            await self._dispatcher.dispatch(call, self._profile, self._config)
