"""Known models, as data and advisory: names change monthly, so an unknown model gets its family's facts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from agent_ls.llm.providers.base import FactsLookup, ModelFacts, Thinking


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model. `context_window_tokens` is input and output together; `knowledge_cutoff` is `YYYY-MM` or "".

    `efforts` are the levels to offer; the provider has the last word. `is_known` is False for a model that only its
    family is known of.
    """

    id: str
    provider: str
    display_name: str
    context_window_tokens: int
    max_output_tokens: int
    thinking: Thinking
    efforts: tuple[str, ...] = ()
    knowledge_cutoff: str = ""
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class _Catalog:
    """The file: rows of families, most specific prefix last in effect, and rows of models that only say what
    differs from their family."""

    defaults: dict[str, str]
    families: list[dict[str, Any]]
    models: list[dict[str, Any]]


@cache
def _catalog() -> _Catalog:
    text = files("agent_ls.llm").joinpath("catalog.json").read_text(encoding="utf-8")
    return _Catalog(**json.loads(text))


def model_info(provider: str, model: str) -> ModelInfo:
    """What is known of `model`. A dated name (`gpt-5-2025-08-07`) is its undated one; unknown names pass through
    with the facts of the longest family prefix that fits."""
    row = next(
        (row for row in _catalog().models if row["provider"] == provider and _is_named(model, row["id"])),
        None,
    )
    return _info(provider, model, row)


def known_models(provider: str = "") -> tuple[ModelInfo, ...]:
    """All models of the catalogue, newest first within a provider; of one provider when it is named."""
    rows = (row for row in _catalog().models if provider in ("", row["provider"]))
    return tuple(_info(row["provider"], row["id"], row) for row in rows)


def default_model(provider: str) -> str:
    """The model used when none was chosen, "" for a provider without one."""
    return _catalog().defaults.get(provider, "")


def facts_lookup(provider: str) -> FactsLookup:
    """What a codec of `provider` asks."""

    def facts(model: str) -> ModelFacts:
        info = model_info(provider, model)
        return ModelFacts(info.max_output_tokens, info.thinking)

    return facts


def _info(provider: str, model: str, row: dict[str, Any] | None) -> ModelInfo:
    fitting = [
        f for f in _catalog().families if f["provider"] in ("", provider) and model.startswith(f["prefix"])
    ]
    family = max(fitting, key=lambda f: (bool(f["provider"]), len(f["prefix"])))
    told = {**family, **(row or {})}
    return ModelInfo(
        id=model,
        provider=provider,
        display_name=told.get("name", model),
        context_window_tokens=told["window"],
        max_output_tokens=told["output"],
        thinking=told["thinking"],
        efforts=tuple(told.get("efforts", ())),
        knowledge_cutoff=told.get("cutoff", ""),
        is_known=row is not None,
    )


def _is_named(model: str, known: str) -> bool:
    """True of the name itself and of its dated snapshots."""
    suffix = model.removeprefix(known) if model.startswith(known) else "?"
    return not suffix or (suffix.startswith("-") and suffix.replace("-", "").isdecimal() and len(suffix) >= 9)
