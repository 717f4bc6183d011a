"""Known models as data. The data is advisory: an unknown model gets the facts of its family.

`catalog.json` holds the data. A row of `families` applies to every name with its prefix; a row of `models`
adds name, aliases, knowledge cut-off and prices. Prices belong to a model, never to a family, because the
price of a new model must not be guessed from its name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from agent_ls.llm.providers.base import CapabilitiesLookup, ModelCapabilities, Thinking
from agent_ls.llm.requests import Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Without a published cache rate, cached tokens cost as much as input."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    @classmethod
    def of(cls, rates: list[float]) -> Price:
        """Create a price from input, output and, if published, cache read and cache write rates."""
        read, write = (rates[at] if len(rates) > at else rates[0] for at in (2, 3))
        return cls(rates[0], rates[1], read, write)

    def cost_usd(self, usage: Usage) -> float:
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - read - written)
        dear = plain * self.input + read * self.cache_read + written * self.cache_write
        return (dear + usage.output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A model of the catalogue. `context_window_tokens` is input plus output; `knowledge_cutoff` is `YYYY-MM`
    or "".

    `efforts` are the reasoning levels to offer; the provider may accept others. `abilities` are among
    `tools`, `images`, `documents`, `audio`, `schemas` (answers in a given JSON Schema), `reasoning` and
    `custom_tools` (calls with free text instead of JSON). `price` None: unknown. `is_known` is False if only
    the family is known, `has_known_family` is False if the family is unknown too. `streams` and
    `calls_in_parallel` are False only if the provider documents that the model cannot.
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
    has_known_family: bool = True
    streams: bool = True
    calls_in_parallel: bool = True

    @property
    def reasons(self) -> bool:
        """Return whether the model accepts a reasoning effort. For an unknown family the server decides, so True."""
        return "reasoning" in self.abilities or not self.has_known_family


@dataclass(frozen=True, slots=True)
class _Catalog:
    """The catalogue file. For a model, the family with the longest matching prefix applies; rows of models
    contain only what differs from their family.
    """

    defaults: dict[str, str]
    families: list[dict[str, Any]]
    models: list[dict[str, Any]]


@cache
def _catalog() -> _Catalog:
    text = files("agent_ls.llm").joinpath("catalog.json").read_text(encoding="utf-8")
    return _Catalog(**json.loads(text))


def find_entry(provider: str, model: str) -> CatalogEntry:
    """Return the entry of `model`. A dated name (`gpt-5-2025-08-07`) is treated as its undated one; an
    unknown name gets the facts of the longest family prefix that matches.
    """
    return _build_entry(provider, model, _row(provider, model))


def known_models(provider: str = "") -> tuple[CatalogEntry, ...]:
    """Return all models of the catalogue, or of one provider, newest first within a provider."""
    rows = (row for row in _catalog().models if provider in ("", row["provider"]))
    return tuple(_build_entry(row["provider"], row["id"], row) for row in rows)


def default_model(provider: str) -> str:
    """Return the default model of a provider, "" if it has none."""
    return _catalog().defaults.get(provider, "")


def resolve_alias(provider: str, model: str) -> str:
    """Return the model for a short name (`opus`); any other name is returned unchanged."""
    named = (
        row["id"]
        for row in _catalog().models
        if model in row.get("aliases", ()) and row["provider"] == provider
    )
    return next(named, model)


def cost_usd(provider: str, model: str, usage: Usage, today: str = "") -> float | None:
    """Return the cost of one call: as reported by the provider, or at the published rates; None if neither is
    known.

    Pass the usage of one call, not a sum: some models charge more for a long input. `today` (`YYYY-MM-DD`, ""
    is now) selects the rate if a price change is announced. Providers behind a proxy may charge differently.
    """
    if usage.reported_cost_usd is not None:
        return usage.reported_cost_usd
    row = _row(provider, model)
    if row is None or "price" not in row:
        return None
    return Price.of(_select_rates(row, usage.input_tokens, today)).cost_usd(usage)


def capabilities_lookup(provider: str) -> CapabilitiesLookup:
    """Return the function that returns the capabilities of a model of `provider`, for its codec."""

    def facts(model: str) -> ModelCapabilities:
        info, told = find_entry(provider, model), _merge_facts(provider, model, _row(provider, model))
        return ModelCapabilities(
            info.max_output_tokens,
            info.thinking,
            forces_tools=told.get("forced_tools", True),
            efforts=info.efforts,
            calls_tools="tools" in info.abilities,
            custom_tools="custom_tools" in info.abilities,
            calls_in_parallel=info.calls_in_parallel,
        )

    return facts


def _row(provider: str, model: str) -> dict[str, Any] | None:
    """Return the row of a known model, by its name, an alias or a dated name."""
    rows = (row for row in _catalog().models if row["provider"] == provider)
    return next((row for row in rows if _matches_name(model, row)), None)


def _merge_facts(provider: str, model: str, row: dict[str, Any] | None) -> dict[str, Any]:
    name = row["id"] if row and model in row.get("aliases", ()) else model
    fitting = [
        f for f in _catalog().families if f["provider"] in ("", provider) and name.startswith(f["prefix"])
    ]
    family = max(fitting, key=lambda f: (bool(f["provider"]), len(f["prefix"])))
    return {**family, "family_of": family["provider"], **(row or {})}


def _build_entry(provider: str, model: str, row: dict[str, Any] | None) -> CatalogEntry:
    told = _merge_facts(provider, model, row)
    return CatalogEntry(
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
        price=Price.of(_select_rates(told, 0, "")) if "price" in told else None,
        has_known_family=bool(told["family_of"]),
        streams=told.get("streams", True),
        calls_in_parallel=told.get("calls_in_parallel", True),
    )


def _select_rates(row: dict[str, Any], input_tokens: int, today: str) -> list[float]:
    later, longer = row.get("later"), row.get("long")
    rates: list[float] = row["price"]
    if later and (today or datetime.now(UTC).date().isoformat()) >= later["from"]:
        rates = later["price"]
    elif longer and input_tokens > longer["above"]:
        rates = longer["price"]
    return rates


def _matches_name(model: str, row: dict[str, Any]) -> bool:
    """Return True for the name itself, its dated snapshots and its aliases."""
    known = row["id"]
    if model == known or model in row.get("aliases", ()):
        return True
    suffix = model.removeprefix(known)
    is_dated = suffix.startswith("-") and suffix.replace("-", "").isdecimal() and len(suffix) >= 9
    return model.startswith(known) and is_dated
