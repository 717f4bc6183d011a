from __future__ import annotations

import pytest

from agent_ls.llm.catalog import default_model, facts_lookup, known_models, model_info
from agent_ls.llm.providers.base import ModelFacts

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
    ("nobody", "some-model", 128_000, 8192, "none", False),
]


@pytest.mark.req("U10")
@pytest.mark.parametrize(("provider", "model", "window", "output", "thinking", "known"), CASES)
def test_facts_of_models(
    provider: str, model: str, window: int, output: int, thinking: str, known: bool
) -> None:
    info = model_info(provider, model)
    assert (info.id, info.provider, info.is_known) == (model, provider, known)
    assert (info.context_window_tokens, info.max_output_tokens, info.thinking) == (window, output, thinking)
    assert facts_lookup(provider)(model) == ModelFacts(output, info.thinking)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_default_model_is_known(provider: str) -> None:
    assert model_info(provider, default_model(provider)).is_known
    assert default_model("nobody") == ""


def test_known_models_are_whole_and_named_once() -> None:
    models = known_models()
    assert len({(m.provider, m.id) for m in models}) == len(models)
    assert {m.provider for m in models} == {"anthropic", "openai"}
    assert {m.provider for m in known_models("openai")} == {"openai"}
    for model in models:
        assert model.display_name != model.id
        assert 0 < model.max_output_tokens <= model.context_window_tokens
        assert bool(model.efforts) == (model.thinking != "none")
    assert model_info("anthropic", "claude-haiku-4-5-20251001").knowledge_cutoff == "2025-02"
    assert model_info("anthropic", "claude-haiku-4-5-20251001").display_name == "Claude Haiku 4.5"
