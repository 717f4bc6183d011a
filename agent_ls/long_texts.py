"""Work on texts that may be long, such as the output of a command, without blocking the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

LONG_CHARS = 1024 * 1024

T = TypeVar("T")


async def run_for_text(chars: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, which takes longer the more `chars` a text has. For a long text it runs in a thread.

    A cancellation waits for the result, so that no output is lost.
    """
    if chars <= LONG_CHARS:
        return work()
    with anyio.CancelScope(shield=True):
        result = await anyio.to_thread.run_sync(work)
    return result
