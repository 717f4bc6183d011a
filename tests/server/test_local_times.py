"""Times of the log, shown in the time zone of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from agent_ls.display.words import local_minute


@pytest.fixture
def central_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("central_europe")
@pytest.mark.parametrize(
    ("logged", "shown"),
    [
        ("2026-01-02T23:04:05.678Z", "2026-01-03 00:04"),
        ("2026-07-02T03:04:05.678Z", "2026-07-02 05:04"),
    ],
)
def test_a_time_of_the_log_is_shown_in_local_time(logged: str, shown: str) -> None:
    assert local_minute(logged) == shown
