"""Output limits that a server has refused: each request is encoded once where its size does not matter."""

from __future__ import annotations

import pytest

from agent_ls.llm.errors import ContextLengthError, InvalidRequestError, LlmError
from agent_ls.llm.messages import user
from agent_ls.llm.providers.base import WireRequest
from agent_ls.llm.providers.output_room import OutputRoom
from agent_ls.llm.requests import Request

ASKED = Request("m", (user("hi"),), max_output_tokens=64_000)
OF_MODEL = InvalidRequestError(
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens"
)
OF_WINDOW = ContextLengthError("input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000")


@pytest.mark.parametrize(
    ("error", "encoded"),
    [(None, [64_000]), (OF_MODEL, [8_192]), (OF_WINDOW, [64_000, 49_164])],
)
def test_a_request_is_encoded_again_only_if_its_size_decides(
    error: LlmError | None, encoded: list[int]
) -> None:
    room, limits = OutputRoom(), list[int | None]()

    def encode(request: Request) -> WireRequest:
        limits.append(request.max_output_tokens)
        return WireRequest("/", {}, b"x" * 1_000)

    assert error is None or room.learn(ASKED, error, 1_000)
    room.fitted(ASKED, encode)
    assert limits == encoded
