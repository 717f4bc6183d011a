"""Local model servers are searched at their usual ports: one GET each, no key, no redirect, with a short timeout."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from agent_ls.llm.credentials import Credentials
from agent_ls.services.models.probe import ReachedProvider, find_servers, reach_all
from agent_ls.services.models.service import server_title

# one port per test, because tests may run at the same time
PORTS = {"lmstudio": 1234, "ollama": 11434, "llamacpp": 8080}
LIST = b'{"object": "list", "data": [{"id": "qwen"}]}'
NOBODY = Credentials({})


@asynccontextmanager
async def usual_port(name: str, answer: Callable[[SocketStream], Any]) -> AsyncIterator[list[bytes]]:
    """Listen at the usual port of a server and answer with `answer`; yield the received requests.

    Tests that run at the same time may query the port too.
    """
    came: list[bytes] = []

    async def serve(stream: SocketStream) -> None:
        async with stream:
            came.append(await stream.receive())
            await answer(stream)

    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=PORTS[name])
    except OSError:
        pytest.skip(f"something on this machine holds port {PORTS[name]}")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield came
        group.cancel_scope.cancel()


def reply(status: str, body: bytes, *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


async def reached(name: str) -> ReachedProvider:
    (found,) = [row for row in await reach_all(NOBODY) if row.provider == name]
    return found


@pytest.mark.req("P5")
async def test_a_local_server_at_its_usual_port_is_listed_with_its_url_and_queried_without_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # the proxy must not get these requests

    async def answer(stream: SocketStream) -> None:
        await stream.send(reply("200 OK", LIST))

    async with usual_port("lmstudio", answer) as came:
        (found,) = [row for row in await find_servers(NOBODY) if row.provider == "lmstudio"]
        assert (found.address, [model.id for model in found.models]) == ("http://localhost:1234/v1", ["qwen"])
        assert came
        for request in came:
            assert request.startswith((b"GET /v1/models HTTP/1.1\r\n", b"GET /api/v0/models HTTP/1.1\r\n"))
            assert b"authorization" not in request.lower()


@pytest.mark.req("P5")
async def test_a_redirect_of_a_local_server_is_not_followed() -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.send(reply("302 Found", b"", "location: http://localhost:11434/other"))

    async with usual_port("ollama", answer) as came:
        assert "to another address" in (await reached("ollama")).problem
        assert all(request.startswith(b"GET /v1/models ") for request in came)


@pytest.mark.req("P5")
async def test_a_local_server_that_does_not_answer_is_reported_after_a_timeout() -> None:
    async def answer(_: SocketStream) -> None:
        await anyio.sleep_forever()

    async with usual_port("llamacpp", answer):
        assert (await reached("llamacpp")).problem
        assert not [row for row in await find_servers(NOBODY) if row.provider == "llamacpp"]


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("owner", "title"),
    [
        ("vllm", "vLLM, at the usual address of llama.cpp (this machine)"),
        ("llamacpp", "llama.cpp (this machine)"),
        ("openai", "an unidentified server at the usual port of llama.cpp (this machine)"),
    ],
)
async def test_the_title_of_a_local_model_server_is_the_owner_from_its_model_list(
    owner: str, title: str
) -> None:
    async def answer(stream: SocketStream) -> None:
        await stream.send(reply("200 OK", json.dumps({"data": [{"id": "qwen", "owned_by": owner}]}).encode()))

    async with usual_port("llamacpp", answer):
        found = await reached("llamacpp")
    assert server_title(found) == title
