"""Lists of models as different servers send them: names, and the context size that a server reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm.providers.model_lists import listed_models

WINDOWS: dict[str, tuple[dict[str, Any], int | None]] = {
    "vLLM": ({"max_model_len": 32_768}, 32_768),
    "llama.cpp": ({"meta": {"n_ctx": 4_096, "n_ctx_train": 131_072}}, 4_096),
    "LM Studio": ({"max_context_length": 131_072, "loaded_context_length": 8_192}, 8_192),
    "OpenRouter": ({"context_length": 200_000}, 200_000),
    "Groq": ({"context_window": 131_072}, 131_072),
    "no size": ({}, None),
    "a size of another type": ({"max_model_len": "many", "meta": []}, None),
    "no tokens": ({"max_model_len": 0, "meta": {"n_ctx": 0}}, None),
}


@pytest.mark.req("P5")
@pytest.mark.parametrize(("fields", "window"), WINDOWS.values(), ids=WINDOWS)
def test_listed_context_size_is_the_size_configured_in_the_running_server(
    fields: dict[str, Any], window: int | None
) -> None:
    body = json.dumps({"data": [{"id": "qwen", **fields}]}).encode()
    (found,) = listed_models(body)
    assert (found.id, found.context_window_tokens) == ("qwen", window)


@pytest.mark.req("P5")
def test_models_are_listed_once_in_the_servers_order_without_those_that_cannot_chat() -> None:
    rows = {
        "models": [{"name": "second"}, {"model": "first"}],  # llama.cpp sends both lists
        "data": [{"id": "first", "owned_by": "llamacpp"}, {"id": "bge-embed"}, {"no": "id"}],
    }
    found = listed_models(json.dumps(rows).encode())
    assert [(model.id, model.owner) for model in found] == [("first", "llamacpp"), ("second", "")]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": 7}', b'{"data": [null, 7, "x"]}'])
def test_an_invalid_model_list_body_gives_an_empty_list(body: bytes) -> None:
    assert listed_models(body) == []
