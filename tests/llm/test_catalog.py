from __future__ import annotations

import pytest

from agent_ls.llm.catalog import (
    Ability,
    capabilities_lookup,
    cost_usd,
    default_model,
    find_entry,
    known_efforts,
    known_models,
    latest_model,
    resolve_alias,
)
from agent_ls.llm.errors import ConfigurationError
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


NO_PUBLISHED_CUTOFF = {
    "anthropic": {"claude-fable-5-2", "claude-mythos-5-2", "claude-opus-4-8"},
    "openai": {
        "gpt-6.2-astra", "gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna",
        "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna",
    },
    "gemini": {
        "gemini-4-argon", "gemini-4-carbon", "gemini-4-hydrogen", "gemini-3.8-flash", "gemini-3.7-flash",
        "gemini-3.6-flash", "gemini-3.5-flash-lite",
    },
    "deepseek": {"deepseek-chat", "deepseek-reasoner"},
}  # fmt: skip


@pytest.mark.req("U10")
@pytest.mark.parametrize("provider", NO_PUBLISHED_CUTOFF)
def test_every_model_has_a_knowledge_cutoff_unless_no_public_page_names_it(provider: str) -> None:
    without = {model.id for model in known_models(provider) if not model.knowledge_cutoff}
    assert without == NO_PUBLISHED_CUTOFF[provider]


@pytest.mark.req("U10")
@pytest.mark.parametrize(
    ("family", "ability", "expected"),
    [
        ("anthropic", None, "claude-fable-5-2"),
        ("claude-haiku", None, "claude-haiku-5-5"),
        ("openai", "custom_tools", "gpt-6.2-astra"),
        ("gpt-4", "images", "gpt-4.1"),
        ("gemini", "audio", "gemini-4-argon"),
        ("gemini-2.5", "reasoning", "gemini-2.5-pro"),
        ("anthropic", "audio", ""),
        ("nobody", None, ""),
    ],
)
def test_latest_model_is_the_newest_of_its_family_with_the_ability(
    family: str, ability: Ability | None, expected: str
) -> None:
    assert latest_model(family, ability) == expected


def test_latest_model_when_the_ability_is_unknown_then_the_known_ones_are_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        latest_model("anthropic", "vision")  # type: ignore[arg-type]  # what a program without a checker passes
    assert "tools, images" in caught.value.hint


@pytest.mark.parametrize(
    ("provider", "model", "accepts", "refuses"),
    [
        ("anthropic", "claude-opus-4-6", "max", "xhigh"),
        ("anthropic", "claude-newest-9", "xhigh", "ultra"),
        ("openai", "gpt-5", "minimal", "max"),
        ("openai", "gpt-9", "max", "ultra"),
        ("gemini", "gemini-2.5-flash", "none", "max"),
    ],
)
def test_known_efforts_are_those_of_the_model_or_of_its_family(
    provider: str, model: str, accepts: str, refuses: str
) -> None:
    known = known_efforts(provider, model)
    assert accepts in known and refuses not in known


def test_known_efforts_of_an_unknown_server_are_empty() -> None:
    assert known_efforts("ollama", "qwen3") == ()


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
