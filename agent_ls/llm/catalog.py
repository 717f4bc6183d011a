"""The catalogue of known models and their properties. An unknown model gets the properties of its family.

`catalog.json` holds the data. A row of `families` applies to every model name with the row's prefix. A row of
`models` adds name, aliases, knowledge cut-off and prices. Families have no prices, because the price of a new model
must not be guessed from its name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Literal, TypeAlias

from agent_ls.llm.errors import ConfigurationError, typed
from agent_ls.llm.providers.base import CapabilitiesLookup, ModelCapabilities, Thinking
from agent_ls.llm.requests import Usage, is_amount
from agent_ls.package_files import read_package_file

_MILLION = 1_000_000

Ability: TypeAlias = Literal["tools", "images", "documents", "audio", "schemas", "reasoning", "custom_tools"]

MAX_NAMES = 256
"""The maximum number of cached model names. A limit is needed, because settings may contain any name."""


@dataclass(frozen=True, slots=True)
class Price:
    """Prices in US dollars per million tokens. Cached tokens cost as much as input if no cache rate is published."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def __post_init__(self) -> None:
        if not all(map(is_amount, (self.input, self.output, self.cache_read, self.cache_write))):
            raise ConfigurationError(f"{self} has a rate that is no amount of money", hint="pass US dollars")

    @classmethod
    def of(cls, rates: Sequence[float]) -> Price:
        """Create a price from two to four rates: input, output, and if published, cache read and cache write."""
        read, write = (rates[at] if len(rates) > at else rates[0] for at in (2, 3))
        return cls(rates[0], rates[1], read, write)

    def cost_usd(self, usage: Usage) -> float:
        """Return the cost of one call in US dollars by these rates. A cost that the provider reported is not used."""
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - read - written)
        dear = plain * self.input + read * self.cache_read + written * self.cache_write
        return (dear + usage.output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A model of the catalogue. `context_window_tokens` limits the sum of input and output.

    `knowledge_cutoff` is `YYYY-MM` or "". `efforts` are the reasoning levels to offer to the user; the provider may
    accept others. Possible `abilities` are `tools`, `images`, `documents`, `audio`, `schemas` (answers in a given
    JSON Schema), `reasoning` and `custom_tools` (calls with free text instead of JSON). `price` is None if unknown.
    `is_known` is False if the catalogue has only the model's family; `has_known_family` is False if it has neither.
    `streams` and `calls_in_parallel` are False only if the provider documents that the model lacks this ability.
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
        """Return whether the model accepts a reasoning effort. True for an unknown family: the server decides."""
        return "reasoning" in self.abilities or not self.has_known_family


@dataclass(frozen=True, slots=True)
class _Catalog:
    """The content of the catalogue file. The family of a model is the family with the longest matching prefix.

    Rows of models contain only the values that differ from the family's values.
    """

    defaults: dict[str, str]
    families: list[dict[str, Any]]
    models: list[dict[str, Any]]


@cache
def _catalog() -> _Catalog:
    text = read_package_file("agent_ls.llm", "catalog.json")
    return _Catalog(**json.loads(text))


def find_entry(provider: str, model: str) -> CatalogEntry:
    """Return the entry of `model`. A dated name (`gpt-5-2025-08-07`) is treated like the name without date.

    An unknown name gets the properties of the family with the longest matching prefix.
    """
    return _build_entry(provider, model, _row(provider, model))


@typed
def known_models(provider: str = "") -> tuple[CatalogEntry, ...]:
    """Return the models of `provider`, or of all providers if it is "". The newest models of a provider are first."""
    rows = (row for row in _catalog().models if provider in ("", row["provider"]))
    return tuple(_build_entry(row["provider"], row["id"], row) for row in rows)


def default_model(provider: str) -> str:
    """Return the default model of a provider, "" if it has none."""
    return _catalog().defaults.get(provider, "")


@typed
def latest_model(family: str, ability: Ability | None = None) -> str:
    """Return the newest model of a family that has `ability`, "" if the catalogue has none.

    `family` is a provider (`anthropic`) or the start of a model's name (`claude-haiku`, `gemini-3`).

    Raises:
        ConfigurationError: no model can have this ability; the hint names the abilities.
    """
    found = (
        info.id
        for info in known_models()
        if (info.provider == family or info.id.startswith(family))
        and (ability is None or ability in info.abilities)
    )
    return next(found, "")


def known_efforts(provider: str, model: str) -> tuple[str, ...]:
    """Return the reasoning efforts that a model may accept; () if the catalogue cannot tell.

    An unknown model of a known provider may accept all efforts of that provider's models.
    """
    info = find_entry(provider, model)
    if info.is_known or not info.has_known_family:
        return info.efforts
    rows = (row.get("efforts", ()) for row in _catalog().families if row["provider"] == provider)
    return tuple(dict.fromkeys(effort for efforts in rows for effort in efforts))


@lru_cache(MAX_NAMES)
def resolve_alias(provider: str, model: str) -> str:
    """Return the model for a short name (`opus`); any other name is returned unchanged."""
    named = (
        row["id"]
        for row in _catalog().models
        if model in row.get("aliases", ()) and row["provider"] == provider
    )
    return next(named, model)


def cost_usd(provider: str, model: str, usage: Usage, today: str = "") -> float | None:
    """Return the cost of one call in US dollars: as the provider reported it, or else by the published prices.

    Return None if neither is known. Pass the usage of one call, not a sum, because some models charge more for a
    long input. If a price change is announced, `today` (`YYYY-MM-DD`, "" is the current date) selects the old or the
    new price. The real cost may differ if a proxy serves the provider's models.
    """
    if usage.reported_cost_usd is not None:
        return usage.reported_cost_usd
    row = _row(provider, model)
    if row is None or "price" not in row:
        return None
    return Price.of(_select_rates(row, usage.input_tokens, today)).cost_usd(usage)


def capabilities_lookup(provider: str) -> CapabilitiesLookup:
    """Return a function that maps a model of `provider` to its capabilities. The provider's codec uses it."""

    @lru_cache(MAX_NAMES)
    def facts(model: str) -> ModelCapabilities:
        info, merged = find_entry(provider, model), _merge_facts(provider, model, _row(provider, model))
        return ModelCapabilities(
            info.max_output_tokens,
            info.thinking,
            forces_tools=merged.get("forced_tools", True),
            efforts=info.efforts,
            calls_tools="tools" in info.abilities,
            custom_tools="custom_tools" in info.abilities,
            calls_in_parallel=info.calls_in_parallel,
        )

    return facts


@lru_cache(MAX_NAMES)
def _row(provider: str, model: str) -> dict[str, Any] | None:
    """Return the catalogue's row for `model`, which may be an alias or a dated name; None for an unknown model."""
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
    merged = _merge_facts(provider, model, row)
    return CatalogEntry(
        id=model,
        provider=provider,
        display_name=merged.get("name", model),
        context_window_tokens=merged["window"],
        max_output_tokens=merged["output"],
        thinking=merged["thinking"],
        efforts=tuple(merged.get("efforts", ())),
        knowledge_cutoff=merged.get("cutoff", ""),
        is_known=row is not None,
        abilities=frozenset(merged["abilities"]),
        aliases=tuple(merged.get("aliases", ())),
        price=Price.of(_select_rates(merged, 0, "")) if "price" in merged else None,
        has_known_family=bool(merged["family_of"]),
        streams=merged.get("streams", True),
        calls_in_parallel=merged.get("calls_in_parallel", True),
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
