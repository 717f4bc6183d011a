"""Ask a model server whether its model can call tools. Some servers drop the tools of a request without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_ls.addresses import split_address
from agent_ls.llm.messages import JsonObject, JsonValue
from agent_ls.llm.providers.base import ListedModel, Probe
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, parse_object, text_at
from agent_ls.patterns import regex

MAX_DESCRIBED = 20
"""Models of Ollama that are asked about, one request each."""

_LLAMA_CPP = Probe("/props")
_SGLANG = Probe("/get_server_info")
_LM_STUDIO = Probe("/api/v0/models")
_OLLAMA_LOADED = Probe("/api/ps")
_NUM_CTX = regex(r"(?m)^num_ctx\s+(\d+)\s*$")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def probes_of(provider: str, model: str, base_url: str) -> Sequence[Probe]:
    """Return what to ask a server; nothing for a service, which refuses tools that a model cannot use."""
    match provider:
        case "llamacpp":
            return (_LLAMA_CPP,)
        case "ollama":
            return (Probe("/api/show", {"model": model}),)
        case "compatible" if split_address(base_url).hostname in _LOCAL_HOSTS:
            return (_LLAMA_CPP, _SGLANG)
    return ()


def describing_probes(provider: str, models: Sequence[ListedModel], base_url: str) -> Sequence[Probe]:
    """Return what to ask a local server about the models that it lists."""
    match provider:
        case "lmstudio":
            return (_LM_STUDIO,)
        case "ollama":
            shown = [Probe("/api/show", {"model": model.id}) for model in models[:MAX_DESCRIBED]]
            return [_OLLAMA_LOADED, *shown]
        case "vllm":
            return (
                _SGLANG,
            )  # the usual port of vLLM may be that of SGLang, and vLLM does not tell its options
    return probes_of(provider, "", base_url)


def describe(models: Sequence[ListedModel], probe: Probe, body: bytes) -> Sequence[ListedModel]:
    """Return the models with the window and the ability to call tools that an answer states.

    The window is that of the running model. What the model was trained for is no window: it may be larger.
    """
    facts = parse_object(body) or {}
    if probe == _LM_STUDIO:
        rows = {text_at(row, "id"): row for row in objects_at(facts, "data")}
        return [_with_row(it, rows.get(it.id, {})) for it in models if not _is_embedding(rows.get(it.id, {}))]
    if probe == _OLLAMA_LOADED:
        loaded = {text_at(row, "model"): int_at(row, "context_length") for row in objects_at(facts, "models")}
        return [replace(it, context_window_tokens=_smaller(it, _of_loaded(it.id, loaded))) for it in models]
    asked = probe.body["model"] if probe.body else None
    able, window = calls_tools(body), _running_window(facts)
    return [
        replace(it, calls_tools=able, context_window_tokens=_smaller(it, window))
        if asked in (None, it.id)
        else it
        for it in models
    ]


def _running_window(facts: JsonObject) -> int | None:
    given = _NUM_CTX.search(text_at(facts, "parameters"))  # Ollama, set in the Modelfile
    return int_at(object_at(facts, "default_generation_settings"), "n_ctx") or (
        int(given[1]) if given else None
    )


def _of_loaded(model: str, loaded: Mapping[str, int | None]) -> int | None:
    return loaded.get(model) or loaded.get(f"{model}:latest")


def _smaller(model: ListedModel, window: int | None) -> int | None:
    """Return the smaller of two windows: a list may state that of all parallel requests, or of the model's training."""
    return min(filter(None, (model.context_window_tokens, window)), default=None)


def _is_embedding(row: JsonObject) -> bool:
    return text_at(row, "type") == "embeddings"


def _with_row(model: ListedModel, row: JsonObject) -> ListedModel:
    """LM Studio describes the tools itself to a model without `tool_use`, so that such a model calls tools too."""
    abilities = row.get("capabilities")
    able = True if isinstance(abilities, list) and "tool_use" in abilities else None
    window = int_at(row, "loaded_context_length")
    return replace(model, calls_tools=able, context_window_tokens=_smaller(model, window))


def calls_tools(body: bytes) -> bool | None:
    """Return whether the model can call tools according to a server's answer; None if the answer does not say."""
    facts = parse_object(body) or {}
    template = object_at(facts, "chat_template_caps")  # llama.cpp
    if isinstance(able := template.get("supports_tools"), bool):
        return able or template.get("supports_tool_calls") is True
    if isinstance(abilities := facts.get("capabilities"), list) and abilities:  # Ollama
        return "tools" in abilities
    if "tool_call_parser" in facts and text_at(facts, "model_path"):  # SGLang
        parser: JsonValue = facts["tool_call_parser"]
        return bool(parser)
    return None
