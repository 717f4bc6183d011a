"""A client with an adapter of the program: what its code raises is an error of the call, which names it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

import pytest

from agent_ls.llm import Client, Request, StreamEvent, build_request, generate, stream
from agent_ls.llm.errors import LlmError, NetworkError
from agent_ls.llm.generate import GenerateOptions
from agent_ls.llm.retry import RetryPolicy

ONCE = GenerateOptions(retry=RetryPolicy(max_retries=0))

pytestmark = pytest.mark.req("U1")


class Broken:
    name = "mine"

    def __init__(self, fail: Callable[[], StreamEvent]) -> None:
        self.fail = fail
        self.closed = 0

    async def complete(self, request: Request) -> Any:
        raise NotImplementedError

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        yield self.fail()

    async def close(self) -> None:
        self.closed += 1


class Blocking(Broken):
    def stream(self, request: Request) -> Iterator[StreamEvent]:  # type: ignore[override]  # a BlockingAdapter
        yield self.fail()


def missing() -> StreamEvent:
    raise KeyError("row 7")


def leaving() -> StreamEvent:
    raise SystemExit(3)


def cut() -> StreamEvent:
    raise ConnectionResetError(104, "reset")


ERRORS = [
    (missing, LlmError, "KeyError"),
    (leaving, LlmError, "SystemExit: 3"),
    (cut, NetworkError, "ConnectionResetError"),
]


@pytest.mark.parametrize("make", [Broken, Blocking])
@pytest.mark.parametrize(("fail", "kind", "words"), ERRORS)
async def test_an_error_of_an_own_adapter_is_one_of_the_call(
    make: type[Broken], fail: Callable[[], StreamEvent], kind: type[LlmError], words: str
) -> None:
    client = Client({"mine": make(fail)})
    request = build_request("m", "Hello?", provider="mine")
    with pytest.raises(kind) as caught:
        await generate(request, client=client, options=ONCE)
    assert f"{make.__name__}.stream raised {words}" in str(caught.value)
    with pytest.raises(kind):
        async for _ in stream(request, client=client, options=ONCE):
            pass


async def test_a_client_closes_an_own_adapter_once() -> None:
    adapter = Broken(missing)
    await Client({"mine": adapter}).close()
    assert adapter.closed == 1
