"""The messages of failed HTTP calls: what to do next depends on where the server should be."""

from __future__ import annotations

import pytest

from agent_ls.llm.http import failures
from agent_ls.llm.http.failures import make_error

pytestmark = pytest.mark.req("U8")


@pytest.mark.parametrize(
    ("host", "hint"),
    [
        ("127.0.0.1:1234", failures.START_SERVER),
        ("127.1.2.3", failures.START_SERVER),
        ("localhost:8080", failures.START_SERVER),
        ("models.localhost", failures.START_SERVER),
        ("[::1]:1234", failures.START_SERVER),
        ("[::1]", failures.START_SERVER),
        ("api.example.org", failures.CHECK_NETWORK),
        ("localhost.example.org:443", failures.CHECK_NETWORK),
        ("10.0.0.127:1234", failures.CHECK_NETWORK),
        ("[fe80::1]:1234", failures.CHECK_NETWORK),
    ],
)
def test_a_server_of_this_machine_is_to_be_started_and_another_one_to_be_reached(
    host: str, hint: str
) -> None:
    for failure in (failures.NOT_CONNECTED, failures.NOT_CONNECTED_IN_TIME):
        assert make_error(failure, host).hint == hint
    assert make_error(failures.LOST, host).hint == failures.SEND_AGAIN
