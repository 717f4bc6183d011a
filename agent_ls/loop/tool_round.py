"""The calls of one response, in the order that their effects demand (L10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio

from agent_ls.loop.config import SessionConfig
from agent_ls.loop.dispatch import NOT_RUN, Call, Dispatcher, Outcome
from agent_ls.profiles.base import ProviderProfile


def batches(waits: Sequence[bool], *, parallel: bool) -> Iterator[range]:
    """Ranges of calls that run together, in order.

    `waits[i]`: call i waits for those before it and is waited for by those after it.
    """
    start = 0
    for i, alone in enumerate(waits):
        if alone or not parallel:
            if start < i:
                yield range(start, i)
            yield range(i, i + 1)
            start = i + 1
    if start < len(waits):
        yield range(start, len(waits))


async def run_round(
    calls: Sequence[Call], dispatcher: Dispatcher, profile: ProviderProfile, config: SessionConfig
) -> None:
    """Sets the outcome of each call that has none, also when it is cancelled on the way.

    Only a round that is cancelled while a person is asked leaves calls without: it is suspended (R4).
    """
    waits = [_waits(call, profile) for call in calls]
    reason, kind = NOT_RUN, "interrupted"
    try:
        for batch in batches(waits, parallel=profile.supports_parallel_tool_calls):
            await _run_together(
                [calls[i] for i in batch if not calls[i].outcome], dispatcher, profile, config
            )
            if ended := next((call for call in calls if call.outcome and call.outcome.ends_loop), None):
                reason, kind = f"Not run: {ended.part.name} ended the task.", "not_run"
                break
    finally:
        is_suspended = any(dispatcher.is_asked(call) for call in calls)
        for call in calls:
            if call.outcome is None and not is_suspended:
                dispatcher.answer(call, profile, config, reason, kind)


def outcomes(calls: Sequence[Call]) -> list[Outcome]:
    return [call.outcome for call in calls if call.outcome]


async def _run_together(
    calls: Sequence[Call], dispatcher: Dispatcher, profile: ProviderProfile, config: SessionConfig
) -> None:
    if len(calls) == 1:
        await dispatcher.dispatch(calls[0], profile, config)
        return
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(dispatcher.dispatch, call, profile, config)


def _waits(call: Call, profile: ProviderProfile) -> bool:
    tool = profile.registry.lookup(call.part.name)
    return tool is not None and (tool.category != "read" or tool.terminal)
