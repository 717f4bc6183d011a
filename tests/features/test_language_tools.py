"""The language tools of a session: those that the editor answers and that fit the model's context window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.environments.language_host import LanguageQuery
from agent_ls.features.tools.language_tools import SMALL_WINDOW_TOKENS, LanguageTools
from agent_ls.profiles.create import create_profile
from tests.support.language_host import ALL, KnownCode

pytestmark = pytest.mark.req("T14")

BASIC = ["definition", "references", "symbols", "rename_symbol", "diagnostics"]
DETAILS = ["hover", "implementations", "call_hierarchy", "code_actions", "apply_code_action"]
ONLY_HOVER: frozenset[LanguageQuery] = frozenset(("hover",))


@pytest.mark.parametrize(
    ("window", "offers", "expected"),
    [
        (SMALL_WINDOW_TOKENS, ALL, BASIC + DETAILS),
        (SMALL_WINDOW_TOKENS - 1, ALL, BASIC),
        (SMALL_WINDOW_TOKENS, ONLY_HOVER, ["hover"]),
        (8_192, frozenset(), []),
    ],
    ids=["large", "small", "one query", "no queries"],
)
def test_a_model_with_a_small_window_gets_only_the_basic_language_tools(
    window: int, offers: frozenset[LanguageQuery], expected: list[str]
) -> None:
    profile = replace(create_profile("compatible", "any"), context_window_tokens=window)
    before = set(profile.registry.names())

    LanguageTools(KnownCode(offers=offers), native_names=False).add_tools(profile)

    assert [name for name in profile.registry.names() if name not in before] == expected
