"""Model servers on this machine are asked what their model can do: some drop tools without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.client import build_client
from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.llm.messages import system, user
from agent_ls.llm.providers.openai_chat import ChatCodec
from agent_ls.llm.requests import Request, ToolDefinition
from agent_ls.llm.stream import StreamFinish
from agent_ls.services.models.probe import ReachedProvider, find_servers
from agent_ls.services.models.service import model_words
from tests.llm.test_end_to_end import events_of
from tests.support.codec_runs import body_of
from tests.support.loopback import ChatServer

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolDefinition("read_file", "Reads.", SCHEMA),)
ASK = Request("m", (system('Call `grep` with {"pattern": "x"}.'), user("hi")), tools=TOOLS)

# provider, what the server says of itself, and whether the tools are described as text
TOLD: dict[str, tuple[str, dict[str, Any], bool]] = {
    "llama.cpp without tools": ("llamacpp", {"chat_template_caps": {"supports_tools": False}}, True),
    "llama.cpp with tools": ("llamacpp", {"chat_template_caps": {"supports_tools": True}}, False),
    "older llama.cpp": ("llamacpp", {"default_generation_settings": {"n_ctx": 8192}}, False),
    "llama.cpp at another address": ("compatible", {"chat_template_caps": {"supports_tools": False}}, True),
    "SGLang without a parser": ("compatible", {"model_path": "m", "tool_call_parser": None}, True),
    "SGLang with a parser": ("compatible", {"model_path": "m", "tool_call_parser": "qwen25"}, False),
    "another server": ("compatible", {"data": []}, False),
}


@pytest.mark.parametrize(("provider", "told", "textual"), TOLD.values(), ids=TOLD)
async def test_tools_are_described_as_text_from_the_first_request_if_the_server_would_drop_them(
    provider: str, told: dict[str, Any], textual: bool
) -> None:
    with ChatServer(["one", "two"]) as server:
        server.listed = told
        client = build_client(Credentials({provider: "k"}), {provider: ConnectionSettings(server.base_url)})
        finishes = []
        for _ in range(2):
            finishes += [e for e in await events_of(client, ask_of(provider)) if isinstance(e, StreamFinish)]
        await client.close()
    posts = [request.body for request in server.requests if request.method == "POST"]
    assert ["tools" in body for body in posts] == [not textual] * 2
    assert [len(finish.warnings) for finish in finishes] == [int(textual), 0]
    assert sum(request.method == "GET" for request in server.requests) in (1, 2)
    if textual:
        said = posts[0]["messages"][0]["content"]
        assert '<tool_call>\n{"name": "grep", "arguments": {"pattern": "x"}}\n</tool_call>' in said
        assert '{"name": "read_file", "arguments": {"path": "README.md"}}' in said


def ask_of(provider: str) -> Request:
    return Request(ASK.model, ASK.messages, provider=provider, tools=ASK.tools)


@pytest.mark.parametrize(
    ("abilities", "textual"), [(["completion"], True), (["completion", "tools"], False), ([], False)]
)
def test_ollama_says_whether_a_model_calls_tools(abilities: list[str], textual: bool) -> None:
    spoken = ChatCodec("ollama", capabilities_lookup("ollama"))
    (probe,) = spoken.probes(ASK, "http://localhost:11434/v1")
    assert (probe.path, probe.body) == ("/api/show", {"model": "m"})
    spoken.learn_abilities(ASK, f'{{"capabilities": {abilities}}}'.replace("'", '"').encode())
    assert ("tools" not in body_of(spoken.encode(ASK, stream=True))) is textual
    assert not spoken.probes(ASK, "http://localhost:11434/v1")


LISTED = {"data": [{"id": "m", "object": "model"}]}
# provider, the path that is asked, what the server says, and the words for the user
SHOWN: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "llama.cpp": (
        "llamacpp",
        "/props",
        {"chat_template_caps": {"supports_tools": False}, "default_generation_settings": {"n_ctx": 8192}},
        "no native tools: text protocol, 8k",
    ),
    "Ollama": ("ollama", "/api/show", {"capabilities": ["completion", "tools"]}, "tools"),
    "LM Studio": (
        "lmstudio",
        "/api/v0/models",
        {"data": [{"id": "m", "capabilities": ["tool_use"], "loaded_context_length": 4096}]},
        "tools, 4k",
    ),
    "SGLang": (
        "vllm",
        "/get_server_info",
        {"model_path": "m", "tool_call_parser": None},
        "no native tools: text protocol",
    ),
    "vLLM": ("vllm", "/get_server_info", {"detail": "Not Found"}, ""),
}


@pytest.mark.parametrize(("provider", "path", "told", "words"), SHOWN.values(), ids=SHOWN)
def test_what_local_servers_say_of_their_models_is_put_into_words(
    provider: str, path: str, told: dict[str, Any], words: str
) -> None:
    spoken = ChatCodec(provider, capabilities_lookup(provider))
    models = spoken.decode_models(json.dumps(LISTED).encode())
    probes = spoken.describing_probes(models, "http://localhost:1234/v1")
    (probe,) = [probe for probe in probes if probe.path == path]
    (model,) = spoken.describe(models, probe, json.dumps(told).encode())
    assert model_words(model) == words


async def test_the_list_of_models_says_what_the_server_says() -> None:
    with ChatServer([]) as server:
        server.listed = {**LISTED, "chat_template_caps": {"supports_tools": False}}
        settings = {"llamacpp": ConnectionSettings(server.base_url)}
        (reached,) = await find_servers_at(settings, "llamacpp")
    assert [model.calls_tools for model in reached.models] == [False]


async def find_servers_at(settings: dict[str, ConnectionSettings], provider: str) -> list[ReachedProvider]:
    found = await find_servers(Credentials({}), settings)
    return [one for one in found if one.provider == provider]


@pytest.mark.parametrize("provider", ["openrouter", "vllm", "lmstudio", "deepseek"])
def test_services_are_not_asked(provider: str) -> None:
    assert not ChatCodec(provider, capabilities_lookup(provider)).probes(ASK, "https://x.example/v1")
    assert not ChatCodec("compatible", capabilities_lookup("compatible")).probes(ASK, "https://x.example/v1")
