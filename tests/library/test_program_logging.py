"""The level of the logger `agent_ls` belongs to the program: a session changes it only if `logLevel` is passed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_ls
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider

pytestmark = pytest.mark.req("H13", "R6")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("agent_ls")
    before = found.level
    yield found
    found.setLevel(before)


async def test_other_settings_leave_the_level_that_the_program_set(
    tmp_path: Path, logger: logging.Logger
) -> None:
    logger.setLevel(logging.ERROR)
    async with agent_ls.open_session(
        **options(tmp_path, FakeProvider([])), settings={"maxTurns": 8}
    ) as session:
        await session.configure(settings={"maxTurns": 9})
        assert logger.level == logging.ERROR
        await session.configure(settings={"logLevel": "debug"})
        assert logger.level == logging.DEBUG
        logger.setLevel(logging.ERROR)
        await session.configure(mode="edits", settings={"maxTurns": 10})
        assert logger.level == logging.ERROR


async def test_a_level_that_is_passed_applies_also_if_it_is_the_default(
    tmp_path: Path, logger: logging.Logger
) -> None:
    logger.setLevel(logging.ERROR)
    given = options(tmp_path, FakeProvider([]))
    async with agent_ls.open_session(**given, settings={"logLevel": "warning"}) as session:
        assert logger.level == logging.WARNING
        logger.setLevel(logging.ERROR)
        await session.configure(settings={"logLevel": "warning"})
        assert logger.level == logging.WARNING
