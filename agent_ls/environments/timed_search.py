"""Run searches with Python's regular expressions without blocking the process.

Python's engine backtracks: `(a+)+$` takes years on some lines, and no other thread of the process runs until
the engine has finished. So a search with a pattern that may backtrack runs in a worker process with a time
limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

from agent_ls.environments import search
from agent_ls.environments.base import GrepLine, GrepOptions
from agent_ls.environments.errors import SearchLimitError
from agent_ls.patterns import regex

SEARCH_LIMIT_S = 10.0
"""How long a search may compute, in seconds of processor time."""
_WAIT_FACTOR = 12
"""How much longer a search may wait: for a slow disk, or on a busy machine. On Windows this is the only limit."""
_BACKTRACKS = regex(r"[*+{?(|]")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def run_timed(
    pattern: str,
    options: GrepOptions,
    function: Callable[[*Ts], T],
    *arguments: *Ts,
    limit_s: float = SEARCH_LIMIT_S,
) -> T:
    """Call the search `function` with `arguments`: in a thread, or in a worker process with a time limit.

    The worker process is used if `pattern` may backtrack. `function` and `arguments` must be picklable.

    Raises:
        SearchLimitError: the search computed for `limit_s` seconds of processor time.
    """
    if options.literal or not _BACKTRACKS.search(pattern):
        return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)
    # imported here, because it is rarely needed
    from agent_ls.environments.worker import ProcessorTimeError, run_in_worker

    try:
        with anyio.fail_after(limit_s * _WAIT_FACTOR):
            return await run_in_worker(function, *arguments, limit_s=limit_s)
    except (ProcessorTimeError, TimeoutError):
        raise SearchLimitError(pattern, limit_s) from None


def grep_texts(
    texts: Sequence[tuple[str, bytes]], regex: re.Pattern[str], options: GrepOptions
) -> list[list[GrepLine]]:
    """Return the matching lines of each text. `texts` are pairs of a path for display and a content."""
    return [search.grep_text(shown, data, regex, options) for shown, data in texts]
