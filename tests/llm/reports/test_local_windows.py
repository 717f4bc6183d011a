"""Servers on this machine that state the window of a model in several places, only one of which is that of a request.

Each row has the answers in the shape of the real server, after a public report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.credentials import Credentials
from agent_ls.llm.endpoint import ConnectionSettings
from agent_ls.services.models.probe import ask_server, find_servers
from agent_ls.services.models.service import model_words
from tests.support import commands
from tests.support.reports import reported
from tests.support.web_server import Answer, web_server

pytestmark = pytest.mark.req("P5")


def listing(name: str, **facts: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model", **facts}]}


def props(n_ctx: int, **caps: bool) -> dict[str, Any]:
    return {
        "default_generation_settings": {"id": 0, "n_ctx": n_ctx},
        "total_slots": 1,
        "chat_template_caps": caps,
    }


def llama(**meta: int) -> dict[str, Any]:
    return listing("m", owned_by="llamacpp", meta={"vocab_type": 2, "n_vocab": 151936, **meta})


def shown(parameters: str, *abilities: str) -> dict[str, Any]:
    info = {"general.architecture": "qwen3", "qwen3.context_length": 40960}
    return {"parameters": parameters, "model_info": info, "capabilities": ["completion", *abilities]}


def lm_studio(**facts: Any) -> dict[str, Any]:
    return listing("m", type="llm", max_context_length=262144, **facts)


def running(name: str, window: int) -> dict[str, Any]:
    return {"models": [{"name": name, "model": name, "size": 1, "context_length": window}]}


OLLAMA = listing("m:latest", owned_by="library")
STOPS = 'stop                           "<|im_end|>"\n'
HTML = "<!doctype html><title>chat</title>"
ROWS = [
    reported("1ay1/agentty#49", "llamacpp",
        {"/v1/models": llama(n_ctx_train=40960), "/props": props(8192)}, 8192, "8k"),
    reported("can1357/oh-my-pi#4190", "llamacpp", {"/v1/models": llama(), "/props": props(0)}, 0, ""),
    reported("NousResearch/hermes-agent#108638", "llamacpp",
        {"/v1/models": listing("m", context_length=32768), "/props": props(8192)}, 8192, "8k"),
    reported("iii-hq/workers#550", "llamacpp", {"/v1/models": listing("m", context_length=128000), "/props": HTML},
        128000, "125k"),
    reported("enricoros/big-AGI#309", "ollama",
        {"/v1/models": OLLAMA, "/api/show": shown(f"num_ctx                        16384\n{STOPS}", "tools")},
        16384, "tools, 16k"),
    reported("NousResearch/hermes-agent#76332", "ollama",
        {"/v1/models": OLLAMA, "/api/show": shown(STOPS, "tools"), "/api/ps": running("m:latest", 4096)},
        4096, "tools, 4k"),
    reported("ollama/ollama#17889", "ollama", {"/v1/models": OLLAMA, "/api/show": shown(STOPS)}, 0,
        "no native tools: text protocol"),
    reported("can1357/oh-my-pi#6082", "lmstudio",
        {"/v1/models": listing("m", owned_by="organization_owner"), "/api/v0/models":
            lm_studio(state="loaded", loaded_context_length=81920, capabilities=["tool_use"])}, 81920, "tools, 80k"),
    reported("NousResearch/hermes-agent#47678", "lmstudio",
        {"/v1/models": listing("m"), "/api/v0/models": lm_studio(state="not-loaded", capabilities=[])}, 0, ""),
    reported("NousResearch/hermes-agent#2091", "vllm",
        {"/v1/models": listing("m", owned_by="vllm", max_model_len=32768)}, 32768, "32k"),
    pytest.param("vllm", {
        "/v1/models": listing("m", owned_by="sglang", root="m", max_model_len=8192),
        "/get_model_info": {"model_path": "m", "tokenizer_path": "m", "is_generation": True},
        "/get_server_info": {"model_path": "m", "context_length": None, "tool_call_parser": None, "version": "0.5"},
    }, 8192, "no native tools: text protocol, 8k", id="SGLang"),
]  # fmt: skip


def pages_of(pages: dict[str, Any]) -> dict[str, Answer]:
    texts = {path: page if isinstance(page, str) else json.dumps(page) for path, page in pages.items()}
    return {path: Answer(text.encode()) for path, text in texts.items()}


@pytest.mark.parametrize(("provider", "pages", "window", "words"), ROWS)
async def test_the_window_of_a_local_model_is_the_one_it_runs_with(
    provider: str, pages: dict[str, Any], window: int, words: str
) -> None:
    with web_server(pages_of(pages)) as server:
        settings = {provider: ConnectionSettings(server.url("/v1"))}
        (session_model, *_) = await ask_server(provider, "m", Credentials({}), settings)
        (found,) = [one for one in await find_servers(Credentials({}), settings) if one.provider == provider]
    assert (session_model.id, session_model.context_window_tokens or 0) == ("m", window)
    assert [model_words(model) for model in found.models] == [words]


@pytest.mark.report("co-l/openfox#49")
async def test_doctor_and_the_list_of_models_show_what_each_local_server_says(tmp_path: Path) -> None:
    rows = {row.values[0]: row.values for row in ROWS if row.values[3]}
    assert len(rows) == 4
    for provider, pages, _, words in rows.values():
        with web_server(pages_of(pages)) as server:
            environ = commands.environment(
                tmp_path / "home", **{f"{provider.upper()}_BASE_URL": server.url("/v1")}
            )
            doctor = commands.run("doctor", "--json", cwd=tmp_path, environ=environ)
        (said,) = [row["text"] for row in json.loads(doctor.out) if row["subject"] == provider]
        assert words in said
