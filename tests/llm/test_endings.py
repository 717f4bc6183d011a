"""The ends of answers, and settings from environment variables, over real HTTP and every wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from tests.llm.test_end_to_end import KEY, Server, ask, connected, every_wire, failure, streamed
from tests.support.loopback import Gate, Reply, Text

LIMIT_S = 0.7


@pytest.mark.req("U8")
@pytest.mark.group("races")  # the request has to arrive before the time is over
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "complete"])
@pytest.mark.parametrize("before", [(), ("first",)], ids=["before the first", "after it"])
@every_wire
async def test_total_time_limit_ends_the_model_call(
    server: Server, provider: str, before: Sequence[str], stream: bool
) -> None:
    with server([[*map(Text, before), Gate()]]) as running:
        settings = ConnectionSettings(running.base_url, silence_timeout_s=30, total_timeout_s=LIMIT_S)
        client = build_client(Credentials({provider: KEY}), {provider: settings})
        error = await failure(client, ask(provider), stream=stream)
        assert type(error) is e.RequestTimeoutError
        assert f"longer than {LIMIT_S} s" in str(error)
        with anyio.fail_after(240):
            await anyio.to_thread.run_sync(lambda: running.wait_for_requests(1))
            await anyio.to_thread.run_sync(running.requests[0].wait_disconnected)
        await client.close()


@every_wire
async def test_stop_reasons_of_each_provider_are_mapped_to_finish_reasons(
    server: Server, provider: str
) -> None:
    stops = {
        "anthropic": ("refusal", "pause_turn"),
        "openai": ("content_filter", "max_messages"),
        "openrouter": ("content_filter", "brand_new"),
        "gemini": ("SAFETY", "BRAND_NEW"),
    }[provider]
    script = [Reply([Text("x")], stop=stop) for stop in stops]
    async with connected(server, provider, script) as (client, _):
        kinds = [(await streamed(client, ask(provider))).finish_reason for _ in stops]
        assert [kind.raw for kind in kinds] == list(stops)
        assert [kind.kind for kind in kinds] == [
            "content_filter",
            "pause" if provider == "anthropic" else "other",
        ]


@pytest.mark.req("U12")
@every_wire
async def test_client_can_be_configured_by_environment_variables_alone(
    server: Server, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(["hi"], key="the-key") as running:
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "the-key")
        # Some users add the version to Anthropic's base URL, because OpenAI's base URL includes it.
        version = "/v1beta/" if provider == "gemini" else "/v1/"
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", running.base_url.removesuffix("/v1") + version)
        client = Client.from_env()
        assert (await client.complete(replace(ask(provider), provider=""))).text == "hi"
        await client.close()


@every_wire
async def test_wrong_key_and_unknown_model_are_refused_by_the_service(server: Server, provider: str) -> None:
    options = {"key": "another", "models": frozenset({"good"})}
    async with connected(server, provider, [], **options) as (client, _):
        assert type(await failure(client, ask(provider))) is e.AuthenticationError
    async with connected(server, provider, [], models=frozenset({"good"})) as (client, _):
        assert type(await failure(client, ask(provider))) is e.NotFoundError
