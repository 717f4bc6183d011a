"""Mode full: commands of never_silent.txt still need approval, and the usual work in silent_in_full.txt does not."""

from __future__ import annotations

import pytest

from agent_ls.policy.situation import Allow, Ask
from tests.policy.test_by_passes import judged, lines_of

pytestmark = pytest.mark.req("X7", "X8")


def test_no_dangerous_command_is_allowed_without_approval_in_mode_full() -> None:
    lines = lines_of("never_silent.txt")
    silent = [line for line in lines if isinstance(judged(line, "full"), Allow)]
    assert len(lines) > 500 and silent == []


def test_usual_work_commands_need_no_approval_in_mode_full() -> None:
    asked = [line for line in lines_of("silent_in_full.txt") if isinstance(judged(line, "full"), Ask)]
    assert asked == []


@pytest.mark.parametrize(
    "runner",
    [
        "uv run", "uv run --with a", "npx -y", "npm exec --", "pnpm --filter a exec", "yarn exec", "bunx",
        "bundle exec", "poetry run", "pipenv run", "mise exec --", "direnv exec .", "nix develop -c", "fakeroot",
        "conda run -n base", "docker exec c", "xvfb-run -a", "faketime yesterday", "perf stat -e cycles",
        "npx cross-env A=1", "uv run --unknown value", "hyperfine", "concurrently",
    ],
)  # fmt: skip
@pytest.mark.parametrize("inner", ["rm a.txt", "sh -c 'rm a.txt'", "env A=1 kill 1", "python -c 'x'"])
def test_command_that_a_runner_runs_is_judged_like_the_command_alone(runner: str, inner: str) -> None:
    line = f"{runner} {inner}" if runner not in ("hyperfine", "concurrently") else f'{runner} "{inner}"'
    found = judged(line, "full")
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("uv run ruff format .", "words:uv run ruff format"),
        ("npx eslint .", "words:npx eslint"),
        ("uv run a.py", "words:uv run a.py"),
        ("bundle exec rspec", "words:bundle exec rspec"),
    ],
)
def test_rule_for_a_runner_names_the_runner(command: str, rule: str) -> None:
    found = judged(command, "ask")
    assert isinstance(found, Ask) and rule in {it.id for it in found.rules}


def test_line_that_a_runner_gets_from_a_variable_is_asked_about() -> None:
    for line in ('npx -c "$X"', "uv run $X", 'nix-shell --run "$(cat a)"'):
        found = judged(line, "full")
        assert isinstance(found, Ask) and found.needs_approval_in_every_mode
