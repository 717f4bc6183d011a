"""How often a user is asked about commands in everyday sessions, with and without rules (python -m benchmarks.prompts).

Three sessions written after everyday ones (no recordings), in mode `ask`, commands only. Without rules each command
that does something is a question. `exact` stores each command word for word; `learned` takes the first rule offered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule
from agent_ls.policy.situation import Ask, Situation

PLACES = Places(("/home/ada/shop",), "/home/ada")

SESSIONS: dict[str, tuple[str, ...]] = {
    "a failing test (Python)": (
        "ls -la",
        "git status --short && git log --oneline -5",
        "cat pyproject.toml",
        "grep -rn 'def discount' src tests",
        "python -m pytest -q",
        "python -m pytest -q tests/test_cart.py::test_discount",
        "sed -n '1,60p' src/shop/cart.py",
        "python -m pytest -q tests/test_cart.py",
        "git diff --stat",
        "python -m pytest -q tests/test_cart.py -k discount 2>&1 | tail -20",
        "ruff check src tests",
        "ruff format src tests",
        "python -m pytest -q 2>&1 | tail -5",
        "mypy src",
        "git diff",
        "git add -A && git commit -m 'Fix the discount'",
    ),
    "a new page (TypeScript)": (
        "pwd && ls",
        "cat package.json | head -40",
        "rg -n 'Route' src --glob '*.tsx'",
        "find src -name '*.test.tsx' | head",
        "npm install",
        "npm test",
        "mkdir -p src/pages/orders",
        "npm run lint",
        "npm run lint -- --fix",
        "npx tsc --noEmit",
        "npm test -- src/pages/orders",
        "npm run build 2>&1 | tail -20",
        "npm test -- --run",
        "git status -sb",
        "npx tsc --noEmit",
        "npm run build",
        "rm -rf dist",
        "git add src package.json && git commit -m 'Add the page of orders'",
    ),
    "a crash (Rust, with a look around)": (
        "git log --oneline -10 -- src/parser.rs",
        "git show HEAD~3 --stat",
        "wc -l src/*.rs",
        "cargo build",
        "cargo test",
        "cargo test parser",
        "RUST_BACKTRACE=1 cargo run -- samples/bad.txt",
        "xxd samples/bad.txt | head -20",
        "git blame -L 100,140 src/parser.rs",
        "cargo test parser::empty",
        "cargo clippy -- -D warnings",
        "cargo fmt",
        "git stash && cargo test; git stash pop",
        "cargo test --all",
        "git diff | head -80",
        "git commit -am 'An empty line is no error'",
        "git push",
    ),
}


@dataclass(frozen=True, slots=True)
class Prompts:
    commands: int
    without: int
    exact: int
    learned: int


def counted(commands: tuple[str, ...], choose: Callable[[tuple[Rule, ...]], Rule | None]) -> int:
    """How many of them are asked about when `choose` says which of the offered rules the user stores."""
    grants: frozenset[str] = frozenset()
    asked = 0
    for command in commands:
        judged = judge(CommandEffect(command, PLACES.roots[0]), Situation("ask", PLACES, grants))
        if isinstance(judged, Ask):
            asked += 1
            if rule := choose(judged.rules):
                grants |= {rule.id}
    return asked


def measured() -> dict[str, Prompts]:
    return {
        name: Prompts(
            len(commands),
            counted(commands, lambda rules: None),
            counted(commands, lambda rules: next((r for r in rules if r.id.startswith("command:")), None)),
            counted(commands, lambda rules: next(iter(rules), None)),
        )
        for name, commands in SESSIONS.items()
    }


def main() -> None:
    print(f"{'session':40}{'commands':>10}{'no rules':>10}{'exact':>10}{'learned':>10}")
    for name, found in measured().items():
        print(f"{name:40}{found.commands:>10}{found.without:>10}{found.exact:>10}{found.learned:>10}")


if __name__ == "__main__":
    main()
