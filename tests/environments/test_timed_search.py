"""Patterns with endless backtracking in Python's regular expressions end at a time limit and do not block the loop."""

from __future__ import annotations

import re

import anyio
import anyio.lowlevel
import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.errors import SearchLimitError
from agent_ls.environments.timed_search import grep_texts, run_timed

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
