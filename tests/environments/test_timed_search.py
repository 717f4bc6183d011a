"""Patterns with endless backtracking in Python's regular expressions end at a time limit and do not block the loop."""

from __future__ import annotations

import re
import sys
import time

import anyio
import anyio.lowlevel
import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.errors import SearchLimitError
from agent_ls.environments.timed_search import grep_texts, run_timed
from agent_ls.environments.worker import ProcessorTimeError, run_in_worker

pytestmark = pytest.mark.req("T6", "R5")
LINE = [("a.txt", b"a" * 60 + b"!\n")]
OPTIONS = GrepOptions()


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(?:a?){60}a{60}"])
async def test_a_pattern_with_endless_backtracking_is_refused_at_the_time_limit(pattern: str) -> None:
    others = 0

    async def work() -> None:
        nonlocal others
        while True:
            await anyio.lowlevel.checkpoint()
            others += 1

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        with pytest.raises(SearchLimitError):
            await run_timed(pattern, OPTIONS, grep_texts, LINE, re.compile(pattern), OPTIONS, limit_s=0.2)
        assert others > 0
        group.cancel_scope.cancel()


@pytest.mark.parametrize("pattern", ["a.txt", "(a+)!", "a", "b|!"])
async def test_regex_search_within_the_time_limit_returns_the_matching_lines(pattern: str) -> None:
    options = GrepOptions(literal=pattern == "a")
    (found,) = await run_timed(pattern, options, grep_texts, LINE, re.compile(pattern), options)
    assert [line.line for line in found] == ([] if pattern == "a.txt" else [1])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits the whole time")
async def test_time_in_which_a_search_only_waits_does_not_count() -> None:
    """A busy machine or a slow disk delays a search of any pattern."""
    await run_in_worker(time.sleep, 0.3, limit_s=0.1)
    with pytest.raises(ProcessorTimeError):
        await run_in_worker(re.search, "(a+)+$", "a" * 60 + "!", limit_s=0.1)
    assert await run_in_worker(len, "abc", limit_s=0.1) == 3
