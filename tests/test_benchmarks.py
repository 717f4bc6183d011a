"""Tests of how the benchmarks compare and judge figures; `make bench` measures the figures themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.processes import Model
from benchmarks.run import ratios, table, worse
from benchmarks.scale import PARTS, allowed_growth
from benchmarks.single import EXEC, body_of_a_late_round, one_prompt

FOUND = {
    "edit": {"floor": [2.0, 4.0, 3.0], "agent-ls": [12.0, 9.0, 30.0]},
    "start": {"floor": [10.0], "agent-ls": [5.0], "pygls": [40.0]},
    "keystroke": {"floor": [0.01], "agent-ls": [2.0]},
}


def test_benchmark_ratios_divide_the_median_time_by_the_median_of_the_floor() -> None:
    assert ratios(FOUND) == {"edit": 4.0, "start": 0.5}


def test_a_figure_is_worse_only_if_its_ratio_grew_by_more_than_noise() -> None:
    now = {"edit": 4.0, "start": 0.5, "new": 9.0}
    assert worse(now, {"edit": 3.0, "start": 0.45}) == ["edit"]
    assert worse(now, {}) == []


@pytest.mark.parametrize("with_times", [True, False])
def test_the_benchmark_table_contains_times_only_if_requested(with_times: bool) -> None:
    shown = table(FOUND, {"edit": 3.0}, with_times=with_times)
    lines = {line.split()[0]: line for line in shown.splitlines()}
    assert lines["edit"].endswith("worse") and not lines["start"].endswith("worse")
    assert ("12.00" in lines["edit"]) == with_times
    assert ("40.00" in lines["start"]) == with_times


@pytest.mark.parametrize("name", PARTS)
def test_only_benchmark_figures_declared_as_linear_may_grow_with_the_input_size(name: str) -> None:
    part = PARTS[name]
    linear = next(iter(part.linear))
    assert allowed_growth(part, linear, 10) > 10
    assert allowed_growth(part, "another figure", 10) < 2


@pytest.mark.group("processes")
@pytest.mark.parametrize("server", EXEC)
def test_the_benchmark_runs_one_prompt_with_agent_ls_and_with_the_floor(tmp_path: Path, server: str) -> None:
    with Model() as model:
        assert set(one_prompt(model, server, tmp_path, tmp_path)) == {"exec", "exec_cpu"}


@pytest.mark.parametrize("server", EXEC)
def test_the_benchmark_encodes_the_body_of_a_late_round(server: str) -> None:
    assert set(body_of_a_late_round(server, 20)) == {"body"}
