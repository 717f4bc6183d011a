from __future__ import annotations

import pytest

from benchmarks.prompts import measured


@pytest.mark.req("H7")
def test_learned_rules_ask_a_third_less_often_and_never_more_than_exact_ones() -> None:
    for name, found in measured().items():
        assert found.learned <= found.exact <= found.without < found.commands, name
    total = measured().values()
    assert sum(found.learned for found in total) < sum(found.without for found in total) * 0.7
