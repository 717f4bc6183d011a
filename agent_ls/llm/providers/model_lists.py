"""Decode the response to `GET /models` of servers with an OpenAI-like API, including server-specific fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agent_ls.llm.messages import JsonObject
from agent_ls.llm.providers.base import ListedModel
from agent_ls.llm.providers.wire_json import count_at, int_at, object_at, objects_at, parse_object, text_at
from agent_ls.patterns import regex

MODELS_PATH = "/models"

_WINDOW_KEYS = (
    "loaded_context_length",  # the context size with which the model was started; it may be below the maximum
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
    "max_context",
    "max_context_window_tokens",
    "max_context_tokens",
    "context_size",
    "context",
    "n_ctx",
    "max_input_tokens",
    "input_token_limit",
)
_HOLDERS = ("meta", "capabilities", "limits", "limit", "top_provider", "model_info", "metadata", "details")
"""Objects in which servers put facts of a model; also one inside of another."""
_HUMP = regex(r"(?<=[a-z])(?=[A-Z])")
_ENDED = ("shutdown", "retired", "decommissioned", "disabled", "archived", "offline")  # Volcengine: Shutdown
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts", "moderation", "dall-e", "transcribe")


def listed_models(body: bytes) -> Sequence[ListedModel]:
    """Return the chat models, in the server's order; empty if the body is not a list of models."""
    found = parse_object(body) or {}
    rows = [
        row
        for row in (*objects_at(found, "data"), *objects_at(found, "models"))
        if _id(row) and _is_served(row)
    ]
    unique = {_id(row): row for row in reversed(rows)}
    kept = [unique[name] for name in dict.fromkeys(map(_id, rows))]
    return [_decode_model(row) for row in kept if not any(word in _id(row).lower() for word in _NOT_FOR_CHAT)]


def _id(row: JsonObject) -> str:
    return text_at(row, "id") or text_at(row, "model") or text_at(row, "name")


def _is_served(row: JsonObject) -> bool:
    return text_at(row, "status").lower() not in _ENDED and row.get("active") is not False


def _decode_model(row: JsonObject) -> ListedModel:
    facts = list(_facts(row))
    windows = (count_at(each, key) for each in facts for key in _WINDOW_KEYS)
    top = object_at(row, "top_provider")  # OpenRouter
    return ListedModel(
        id=_id(row),
        display_name=text_at(row, "name") or _id(row),
        context_window_tokens=next((size for size in windows if size), None),
        owner=text_at(row, "owned_by"),
        max_output_tokens=int_at(top, "max_completion_tokens") or int_at(row, "max_completion_tokens"),
    )


def _facts(row: JsonObject, depth: int = 2) -> Iterator[JsonObject]:
    """Yield the row and the objects in it that state facts of the model, with their names in snake case."""
    named = {_HUMP.sub("_", key).lower(): value for key, value in row.items()}
    yield named
    for key in _HOLDERS if depth else ():
        if isinstance(inner := named.get(key), Mapping):
            yield from _facts(inner, depth - 1)
