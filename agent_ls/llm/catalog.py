"""Known models, as data and advisory: names change monthly, so an unknown model gets its family's facts.

`catalog.json` holds the data. Rows of `families` give what holds for every name with their prefix; rows of `models`
say what is known besides: name, aliases, knowledge cut-off, prices. Prices belong to a model, never to a family:
what a new model costs is not guessed from its name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from agent_ls.llm.providers.base import FactsLookup, ModelFacts, Thinking
from agent_ls.llm.requests import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Without a published rate for the cache, its tokens cost what input costs."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    @classmethod
    def of(cls, rates: list[float]) -> Price:
        """From input, output and, as far as they are published, cache reads and cache writes."""
        read, write = (rates[at] if len(rates) > at else rates[0] for at in (2, 3))
        return cls(rates[0], rates[1], read, write)

    def cost_usd(self, usage: Usage) -> float:
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - read - written)
        dear = plain * self.input + read * self.cache_read + written * self.cache_write
        return (dear + usage.output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model. `context_window_tokens` is input and output together; `knowledge_cutoff` is `YYYY-MM` or "".

    `efforts` are the levels to offer; the provider has the last word. `abilities` are of `tools`, `images`,
    `documents`, `audio`, `schemas` (answers in a given JSON Schema) and `reasoning`. `price` None: not known.
    `is_known` is False for a model that only its family is known of.
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
    abilities: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    price: Price | None = None


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
    return _info(provider, model, _row(provider, model))


def known_models(provider: str = "") -> tuple[ModelInfo, ...]:
    """All models of the catalogue, newest first within a provider; of one provider when it is named."""
    rows = (row for row in _catalog().models if provider in ("", row["provider"]))
    return tuple(_info(row["provider"], row["id"], row) for row in rows)


def latest_model(provider: str, ability: str = "") -> str:
    """The newest known model of `provider` that has `ability` ("": any), "" when there is none."""
    fitting = (m.id for m in known_models(provider) if not ability or ability in m.abilities)
    return next(fitting, "")


def default_model(provider: str) -> str:
    """The model used when none was chosen, "" for a provider without one."""
    return _catalog().defaults.get(provider, "")


def resolve_alias(provider: str, model: str) -> str:
    """The model that a short name (`opus`) stands for; any other name is itself."""
    named = (
        row["id"]
        for row in _catalog().models
        if model in row.get("aliases", ()) and row["provider"] == provider
    )
    return next(named, model)


def cost_usd(provider: str, model: str, usage: Usage, today: str = "") -> float | None:
    """What one call cost, as the provider says or at the published standard rates; None when neither is known.

    Give it the usage of one call, not a sum: some models cost more for a long input. `today` (`YYYY-MM-DD`, "" is
    now) matters where a change of price is announced. Providers behind a proxy may bill otherwise.
    """
    if usage.reported_cost_usd is not None:
        return usage.reported_cost_usd
    row = _row(provider, model)
    if row is None or "price" not in row:
        return None
    return Price.of(_rates(row, usage.input_tokens, today)).cost_usd(usage)


def facts_lookup(provider: str) -> FactsLookup:
    """What a codec of `provider` asks."""

    def facts(model: str) -> ModelFacts:
        info, told = model_info(provider, model), _told(provider, model, _row(provider, model))
        return ModelFacts(
            info.max_output_tokens,
            info.thinking,
            forces_tools=told.get("forced_tools", True),
            efforts=info.efforts,
            calls_tools="tools" in info.abilities,
        )

    return facts


def _row(provider: str, model: str) -> dict[str, Any] | None:
    """The row of a model that is known, by its name, an alias or a dated name."""
    rows = (row for row in _catalog().models if row["provider"] == provider)
    return next((row for row in rows if _is_named(model, row)), None)


def _told(provider: str, model: str, row: dict[str, Any] | None) -> dict[str, Any]:
    name = row["id"] if row and model in row.get("aliases", ()) else model
    fitting = [
        f for f in _catalog().families if f["provider"] in ("", provider) and name.startswith(f["prefix"])
    ]
    family = max(fitting, key=lambda f: (bool(f["provider"]), len(f["prefix"])))
    return {**family, **(row or {})}


def _info(provider: str, model: str, row: dict[str, Any] | None) -> ModelInfo:
    told = _told(provider, model, row)
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
        abilities=frozenset(told["abilities"]),
        aliases=tuple(told.get("aliases", ())),
        price=Price.of(_rates(told, 0, "")) if "price" in told else None,
    )


def _rates(row: dict[str, Any], input_tokens: int, today: str) -> list[float]:
    later, longer = row.get("later"), row.get("long")
    rates: list[float] = row["price"]
    if later and (today or datetime.now(UTC).date().isoformat()) >= later["from"]:
        rates = later["price"]
    elif longer and input_tokens > longer["above"]:
        rates = longer["price"]
    return rates


def _is_named(model: str, row: dict[str, Any]) -> bool:
    """True of the name itself, of its dated snapshots and of its aliases."""
    known = row["id"]
    if model == known or model in row.get("aliases", ()):
        return True
    suffix = model.removeprefix(known)
    is_dated = suffix.startswith("-") and suffix.replace("-", "").isdecimal() and len(suffix) >= 9
    return model.startswith(known) and is_dated
