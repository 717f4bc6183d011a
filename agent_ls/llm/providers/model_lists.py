"""Decode the response to `GET /models` of servers with an OpenAI-like API, including server-specific fields."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ListedModel
from agent_ls.llm.providers.wire_json import int_at, object_at, objects_at, parse_object, text_at

MODELS_PATH = "/models"

_WINDOW_KEYS = (
    "loaded_context_length",  # the context size with which the model was started; it may be below the maximum
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
)
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts", "moderation", "dall-e", "transcribe")


def listed_models(body: bytes) -> Sequence[ListedModel]:
    """Return the chat models, in the server's order; empty if the body is not a list of models."""
    found = parse_object(body) or {}
    rows = [row for row in (*objects_at(found, "data"), *objects_at(found, "models")) if _id(row)]
    unique = {_id(row): row for row in reversed(rows)}
    kept = [unique[name] for name in dict.fromkeys(map(_id, rows))]
    return [_decode_model(row) for row in kept if not any(word in _id(row).lower() for word in _NOT_FOR_CHAT)]


def _id(row: JsonObject) -> str:
    return text_at(row, "id") or text_at(row, "model") or text_at(row, "name")


def _decode_model(row: JsonObject) -> ListedModel:
    windows = [int_at(row, key) for key in _WINDOW_KEYS]
    windows.append(int_at(object_at(row, "meta"), "n_ctx"))  # llama.cpp
    top = object_at(row, "top_provider")  # OpenRouter
    return ListedModel(
        id=_id(row),
        display_name=text_at(row, "name") or _id(row),
        context_window_tokens=next((size for size in windows if size), None),
        owner=text_at(row, "owned_by"),
        max_output_tokens=int_at(top, "max_completion_tokens") or int_at(row, "max_completion_tokens"),
    )
