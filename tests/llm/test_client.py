from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.llm.adapter import ProviderAdapter
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.client import Client, build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings, Endpoint
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.http_adapter import HttpAdapter
from agent_ls.llm.messages import ImagePart, Message, Role, TextPart, assistant, user
from agent_ls.llm.middleware import Complete, Middleware, Stream
from agent_ls.llm.providers.openai_responses import OpenAIResponsesCodec
from agent_ls.llm.requests import FinishReason, Request, Response, Usage
from agent_ls.llm.stream import StreamEvent, StreamFinish, TextDelta, TextEnd, TextStart


class FakeAdapter:
    """An adapter whose answer is its name. It records requests and whether it was closed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.is_closed = False

    async def complete(self, request: Request) -> Response:
        self.requests.append(request)
        reason = FinishReason("stop")
        return Response("r", self.name, request.model, assistant(self.name), reason, Usage())

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        self.requests.append(request)
        yield TextStart(0)
        yield TextDelta(0, self.name)
        yield TextEnd(0, TextPart(self.name))
        yield StreamFinish(FinishReason("stop"), Usage(), {})

    async def close(self) -> None:
        self.is_closed = True


class Marking(Middleware):
    """A middleware that appends its mark to the model of a request and to the text of the answer."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    async def complete(self, request: Request, proceed: Complete) -> Response:
        response = await proceed(replace(request, model=request.model + self.mark))
        return replace(response, message=assistant(response.text + self.mark))

    async def stream(self, request: Request, proceed: Stream) -> AsyncGenerator[StreamEvent]:
        async with aclosing(proceed(replace(request, model=request.model + self.mark))) as events:
            async for event in events:
                yield TextDelta(0, event.text + self.mark) if isinstance(event, TextDelta) else event


ASK = Request("m", (user("hi"),))


async def said(client: Client, request: Request = ASK) -> str:
    async with aclosing(client.stream(request)) as events:
        return "".join([event.text async for event in events if isinstance(event, TextDelta)])


@pytest.mark.req("U1")
async def test_a_request_is_sent_to_the_provider_it_names_or_to_the_default() -> None:
    one, two = FakeAdapter("one"), FakeAdapter("two")
    client = Client({"one": one, "two": two}, default="two")
    assert (await client.complete(replace(ASK, provider="one"))).text == "one"
    assert (await client.complete(ASK)).text == "two"
    assert await said(client, replace(ASK, provider="one")) == "one"
    assert await said(client) == "two"
    assert [request.provider for request in two.requests] == ["two", "two"]
    assert (client.providers, client.default) == (("one", "two"), "two")
    await client.close()
    assert one.is_closed
    assert two.is_closed


@pytest.mark.req("U5", "U6")
async def test_a_path_becomes_the_file_and_a_wrong_tool_choice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    adapter = FakeAdapter("x")
    client = Client({"x": adapter}, "x")
    request = Request("m", (Message(Role.USER, (ImagePart(url=str(tmp_path / "a.png")),)),))
    await client.complete(request)
    await said(client, request)
    assert [sent.messages[0].parts for sent in adapter.requests] == [
        (ImagePart(b"\x89PNG", "image/png"),)
    ] * 2
    with pytest.raises(ConfigurationError, match="tool_choice"):
        await client.complete(replace(ASK, tool_choice=cast("Any", "add")))


class OnlyStreams(ProviderAdapter):
    """Has `complete` from the interface."""

    name = "x"

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        for event in (TextStart(0), TextDelta(0, "Hi."), TextEnd(0, TextPart("Hi."))):
            yield event
        yield StreamFinish(FinishReason("stop"), Usage(), {})

    async def close(self) -> None: ...


class RefusesToComplete(OnlyStreams):
    async def complete(self, request: Request) -> Response:
        raise NotImplementedError


@pytest.mark.req("U1")
@pytest.mark.parametrize("adapter", [OnlyStreams(), RefusesToComplete()])
async def test_an_adapter_that_only_streams_completes_too(adapter: ProviderAdapter) -> None:
    assert (await Client({"x": adapter}, "x").complete(ASK)).text == "Hi."


@pytest.mark.req("U1")
async def test_middleware_sees_requests_in_order_and_answers_in_reverse_in_both_modes() -> None:
    adapter = FakeAdapter("x")
    client = Client({"x": adapter}, "x", (Marking("1"), Middleware(), Marking("2")))
    assert (await client.complete(ASK)).text == "x21"
    assert await said(client) == "x21"
    assert [request.model for request in adapter.requests] == ["m12", "m12"]


@pytest.mark.req("U12")
async def test_error_for_a_missing_provider_names_the_key_variable_and_the_walkthrough() -> None:
    client = build_client(Credentials.from_environment({"OPENAI_API_KEY": "k"}))
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY") as raised:
        await client.complete(replace(ASK, provider="anthropic"))
    assert "walkthrough" in raised.value.hint
    assert "agent-ls demo" in raised.value.hint
    with pytest.raises(ConfigurationError, match=r"no provider named nobody; known are anthropic, .*openai"):
        client.stream(replace(ASK, provider="nobody"))
    await client.close()


@pytest.mark.req("U12")
async def test_client_without_any_key_raises_an_error_instead_of_choosing_a_provider() -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY, OPENAI_API_KEY") as raised:
        Client.from_env({"SOME_OTHER_API_KEY": "k"})
    assert "walkthrough" in raised.value.hint
    walkthrough = FakeAdapter("walkthrough")
    client = build_client(Credentials(), extra={"walkthrough": walkthrough})
    with pytest.raises(ConfigurationError, match="no model provider is set up"):
        await client.complete(ASK)
    assert walkthrough.requests == []
    assert (await client.complete(replace(ASK, provider="walkthrough"))).text == "walkthrough"


@pytest.mark.req("U12")
async def test_first_provider_with_a_key_is_the_default() -> None:
    client = Client.from_env({"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"})
    assert (client.providers, client.default) == (("anthropic", "openai"), "anthropic")
    assert Client.from_env({"GOOGLE_API_KEY": "g"}).default == "gemini"
    assert Client.from_env({"VLLM_BASE_URL": "http://127.0.0.1:1/v1"}).providers == ("vllm",)
    assert build_client(Credentials({"openai": "a", "anthropic": "b"}), default="openai").default == "openai"
    await client.close()


def test_making_a_client_loads_no_http_library() -> None:
    code = (
        "import sys; from agent_ls.llm.client import Client; Client.from_env({'OPENAI_API_KEY': 'k'});"
        "sys.exit('httpx' in sys.modules or 'h11' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_adapter_repr_contains_no_secret() -> None:
    endpoint = Endpoint(
        "https://api.example.org", "sk-very-secret", {"authorization": "Basic sk-very-secret"}
    )
    shown = repr(HttpAdapter(OpenAIResponsesCodec(capabilities_lookup("openai")), endpoint))
    assert "sk-very-secret" not in shown
    assert "api.example.org" in shown


@pytest.mark.req("U12", "P5")
async def test_a_server_without_a_key_is_available_once_its_url_is_set() -> None:
    client = build_client(Credentials())
    assert (client.providers, client.default) == ((), "")
    client.stream(replace(ASK, provider="ollama"))
    assert (client.providers, client.default) == (("ollama",), "")
    set_up = build_client(Credentials(), {"lmstudio": ConnectionSettings()})
    assert (set_up.providers, set_up.default) == (("lmstudio",), "lmstudio")
    keyed = build_client(Credentials({"openai": "k"}), {"lmstudio": ConnectionSettings()})
    assert (keyed.providers, keyed.default) == (("openai", "lmstudio"), "openai")
