from __future__ import annotations

import pytest

from agent_ls.llm.catalog import (
    capabilities_lookup,
    cost_usd,
    default_model,
    find_entry,
    known_models,
    resolve_alias,
)
from agent_ls.llm.requests import Usage

CASES = [
    ("anthropic", "claude-sonnet-5-5", 1_000_000, 128_000, "adaptive", True),
    ("anthropic", "claude-opus-5-5", 1_000_000, 128_000, "always", True),
    ("anthropic", "claude-fable-5-9", 1_000_000, 128_000, "always", False),
    ("anthropic", "claude-haiku-4-5", 200_000, 64_000, "budget", True),
    ("anthropic", "claude-haiku-4-5-20251001", 200_000, 64_000, "budget", True),
    ("anthropic", "claude-opus-4-20250514", 200_000, 32_000, "budget", False),
    ("anthropic", "claude-3-5-haiku-20241022", 200_000, 8192, "none", False),
    ("anthropic", "claude-newest-9", 1_000_000, 128_000, "adaptive", False),
    ("openai", "gpt-6.1-sol", 1_050_000, 128_000, "effort", True),
    ("openai", "gpt-5-2025-08-07", 400_000, 128_000, "effort", True),
    ("openai", "gpt-5-pro", 400_000, 128_000, "effort", False),
    ("openai", "gpt-4.1-nano-2025-04-14", 1_047_576, 32_768, "none", False),
    ("openai", "gpt-4o-2024-08-06", 128_000, 16_384, "none", False),
    ("openai", "some/unknown", 400_000, 128_000, "effort", False),
    ("gemini", "gemini-4-argon", 1_048_576, 65_536, "level", True),
    ("gemini", "gemini-2.5-flash", 1_048_576, 65_536, "budget", True),
    ("gemini", "gemini-9-neon", 1_048_576, 65_536, "level", False),
    ("nobody", "some-model", 128_000, 8192, "none", False),
]


@pytest.mark.req("U10")
@pytest.mark.parametrize(("provider", "model", "window", "output", "thinking", "known"), CASES)
def test_catalog_returns_limits_and_thinking_kind_of_known_and_unknown_models(
    provider: str, model: str, window: int, output: int, thinking: str, known: bool
) -> None:
    info = find_entry(provider, model)
    assert (info.id, info.provider, info.is_known) == (model, provider, known)
    assert (info.context_window_tokens, info.max_output_tokens, info.thinking) == (window, output, thinking)
    facts = capabilities_lookup(provider)(model)
    assert (facts.max_output_tokens, facts.thinking, facts.efforts) == (output, info.thinking, info.efforts)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "deepseek"])
def test_default_model_is_known(provider: str) -> None:
    assert find_entry(provider, default_model(provider)).is_known
    assert default_model("nobody") == ""


def test_known_models_have_all_fields_and_unique_names() -> None:
    models = known_models()
    assert len({(m.provider, m.id) for m in models}) == len(models)
    assert {m.provider for m in models} == {"anthropic", "openai", "gemini", "deepseek"}
    assert {m.provider for m in known_models("openai")} == {"openai"}
    for model in models:
        assert model.display_name != model.id
        assert 0 < model.max_output_tokens <= model.context_window_tokens
        assert bool(model.efforts) == (model.thinking != "none")
    assert find_entry("anthropic", "claude-haiku-4-5-20251001").knowledge_cutoff == "2025-02"
    assert find_entry("anthropic", "claude-haiku-4-5-20251001").display_name == "Claude Haiku 4.5"


COSTS = [
    ("anthropic", "claude-opus-5-5", Usage(1_000_000, 0), 4.0),
    ("anthropic", "claude-opus-5-5-20260922", Usage(0, 1_000_000), 20.0),
    ("anthropic", "opus", Usage(1_000_000, 0, None, 1_000_000), 0.2),
    ("anthropic", "claude-opus-5-5", Usage(1_000_000, 0, None, 500_000, 500_000), 2.6),
    ("anthropic", "claude-haiku-5-5", Usage(100_000, 0), 0.01),
    ("anthropic", "claude-haiku-5-5", Usage(100_001, 0), 0.0500005),
    ("openai", "gpt-6.1-sol", Usage(272_000, 1000), 0.554),
    ("openai", "gpt-6.1-sol", Usage(300_000, 1000), 1.215),
    ("openai", "gpt-5.4-mini", Usage(1_000_000, 0, None, None, 1_000_000), 0.75),
    ("gemini", "gemini-4-argon", Usage(1_000_000, 1_000_000), 12.0),
    ("gemini", "gemini-4-argon", Usage(0, 0), 0.0),
    ("anthropic", "claude-mythos-5-2", Usage(1, 1), None),
    ("anthropic", "claude-opus-9", Usage(1, 1), None),
    ("openai", "claude-opus-5-5", Usage(1, 1), None),
    ("nobody", "some-model", Usage(1, 1), None),
]


@pytest.mark.req("E6", "U10")
@pytest.mark.parametrize(("provider", "model", "usage", "cost"), COSTS)
def test_cost_is_calculated_from_the_rates_of_the_model(
    provider: str, model: str, usage: Usage, cost: float | None
) -> None:
    found = cost_usd(provider, model, usage, today="2026-11-22")
    assert found == (None if cost is None else pytest.approx(cost))


def test_cost_follows_an_announced_change_of_price() -> None:
    usage = Usage(1_000_000, 0)
    costs = [cost_usd("gemini", "gemini-4-argon", usage, today) for today in ("2026-11-30", "2026-12-01")]
    assert costs == [2.0, 4.0]


def test_cost_is_positive_if_more_cache_tokens_than_input_tokens_are_reported() -> None:
    cost = cost_usd("anthropic", "claude-opus-5-5", Usage(10, 0, None, 20))
    assert cost is not None
    assert cost > 0


@pytest.mark.req("U10")
def test_model_aliases_are_resolved_and_model_abilities_are_listed() -> None:
    assert resolve_alias("anthropic", "opus") == "claude-opus-5-5"
    assert resolve_alias("openai", "opus") == "opus"
    assert find_entry("anthropic", "opus").display_name == "Claude Opus 5.5"
    assert find_entry("anthropic", "opus").thinking == "always"
    assert "images" in find_entry("openai", "gpt-6-sol").abilities


def test_prices_are_complete_and_plausible() -> None:
    for model in known_models():
        if model.price is not None:
            assert 0 < model.price.cache_read <= model.price.input <= model.price.output, model.id


def test_catalog_lists_which_models_accept_forced_tools() -> None:
    facts = capabilities_lookup("anthropic")
    assert [facts(m).forces_tools for m in ("claude-opus-5", "claude-sonnet-5-5", "claude-fable-5-2")] == [
        True,
        False,
        False,
    ]
