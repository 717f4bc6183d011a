"""Errors of hosts and proxies without a type, over real HTTP and every wire: their text is reported."""

from __future__ import annotations

import pytest

from agent_ls.llm import errors as e
from tests.llm.test_end_to_end import Server, ask, connected, every_wire, failure
from tests.support.loopback import ErrorReply

pytestmark = pytest.mark.req("U8", "R1")


@pytest.mark.parametrize(
    ("status", "kind", "happened", "advice"),
    [
        (405, e.ConfigurationError, "the server at the base URL of {} does not accept", "Check the base URL"),
        (407, e.ConfigurationError, "the proxy between this machine and {} requires a login", "HTTPS_PROXY"),
        (413, e.RequestTooLargeError, "the request is too large for {}", "Leave out large images or files"),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        None,
        "<html>proxy</html>",
        {
            "error": {
                "code": 413,
                "message": "Request payload size exceeds the limit.",
                "status": "RESOURCE_EXHAUSTED",
            }
        },
    ],
    ids=["own", "page", "quota"],
)
@every_wire
async def test_final_http_error_names_the_cause_and_the_next_step_and_is_not_retryable(
    server: Server,
    provider: str,
    status: int,
    kind: type[e.LlmError],
    happened: str,
    advice: str,
    body: dict[str, object] | str | None,
) -> None:
    reply = ErrorReply(status, body, headers={"x-should-retry": "true"})
    async with connected(server, provider, [reply]) as (client, _):
        error = await failure(client, ask(provider))
    assert type(error) is kind
    assert not error.retryable
    assert str(error).startswith(happened.format(provider)) and f"(HTTP {status})" in str(error)
    assert advice in error.hint
