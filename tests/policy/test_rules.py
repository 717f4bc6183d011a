"""General rules (`words:npm test`): which one is offered for a command, and which commands it allows."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule, id_of_words
from agent_ls.policy.situation import Allow, Ask, Situation
from tests.docs.pages import ROOT
from tests.policy.corpus import corpus

pytestmark = pytest.mark.req("H7")

PLACES = Places(("/w",), "/home/u")


OPEN_ENDS = sorted(tomllib.loads((ROOT / "agent_ls/policy/shell/rules.toml").read_text("utf-8")))


def offered(command: str, **more: object) -> tuple[Rule, ...]:
    asked = judge(CommandEffect(command, "/w", **more), Situation("ask", PLACES))  # type: ignore[arg-type]
    assert isinstance(asked, Ask), command
    return asked.rules


def general(command: str) -> str:
    return next((rule.id for rule in offered(command) if rule.id.startswith("words:")), "")


@pytest.mark.parametrize(
    ("command", "rule_id"),
    [
        ("npm test", "words:npm test"),
        ("npm run build -- --watch", "words:npm run build -- --watch"),
        ("npm run build | tail -5", "words:npm run build"),
        ("cd src && npm test 2>&1 | grep FAIL", "words:npm test"),
        ("python -m pytest -q tests/a.py", "words:python -m pytest"),
        ("python script.py --flag", "words:python script.py --flag"),
        ("pytest -k 'a or b'", "words:pytest"),
        ("git add -A && git commit -m 'x y'", "words:git add -A && git commit"),
        ("git add a.txt && git commit -m 'x y'", "words:git add && git commit"),
        ("touch made.txt && cat a.txt", "words:touch"),
        ("timeout 60 cargo test", "words:cargo test"),
        ("make test", "words:make test"),
        ("find . -name '*.py' -exec black {} +", "words:black"),
        ("uv run pytest -q", "words:uv run pytest"),
        ("./run.sh now", "words:./run.sh now"),
        ("make", "words:make"),
        ("npm --prefix sub test", "words:npm --prefix sub test"),
        ("git -C sub add .", "words:git -C sub add ."),
        ("ruff check src --fix", "words:ruff check --fix"),
        ("prettier src --check", "words:prettier --check"),
        ("git commit -am 'x y'", "words:git commit -am"),
        ("ruff check --config x.toml", "words:ruff check --config x.toml"),
        ("sed -i s/a/b/ a.txt", "words:sed -i s/a/b/ a.txt"),
        # no general rule is offered for these commands
        ("FOO=1 make test", ""),
        ("make test > log", ""),
        ("f() { make test; }; f", ""),
        ("bash -c 'make test'", ""),
        ("CI=1 npm test", ""),
        ("npm test < a.txt", ""),
        ('echo "$(npm test)"', ""),
        ("cd sub && ./run.sh", ""),
        ("a && b && c && d && e", ""),
        ("'odd name' x", ""),
    ],
)
def test_command_is_offered_its_general_rule(command: str, rule_id: str) -> None:
    assert general(command) == rule_id


def test_background_command_is_offered_only_an_exact_rule() -> None:
    assert {rule.id.partition(":")[0] for rule in offered("npm start", background=True)} == {"command"}


def test_general_rule_is_offered_for_three_scopes_with_examples() -> None:
    rules = [rule for rule in offered("npm test") if rule.id.startswith("words:")]
    assert [rule.scope for rule in rules] == ["session", "project", "user"]
    for rule in rules:
        assert "npm test" in rule.label
        assert rule.allows and rule.still_asked


@pytest.mark.parametrize(
    "command", ["npm test", "touch a.txt", "git add . && git commit -m x", "python -m pytest", *OPEN_ENDS]
)
def test_examples_of_an_offered_rule_match_the_policy_decision(command: str) -> None:
    rule = next(rule for rule in offered(command) if rule.id.startswith("words:"))
    granted = Situation("ask", PLACES, frozenset((rule.id,)))
    assert all(isinstance(judge(CommandEffect(text, "/w"), granted), Allow) for text in rule.allows)
    assert not any(isinstance(judge(CommandEffect(text, "/w"), granted), Allow) for text in rule.still_asked)


@pytest.mark.parametrize(
    ("command", "is_covered"),
    [
        ("npm test", True),
        ("npm test -- --watch", False),
        ("npm test --script-shell=./x", False),
        ("npm test <<'EOF' > a\nEOF", False),
        ("npm test <<EOF\n$(touch a)\nEOF", False),
        ("CI=1 npm test", False),
        ("npm test < a.txt", False),
        ('echo "$(npm test)"', False),
        ("cd sub && npm test | tail -3", True),
        ("npm run test", False),
        ("npm testing", False),
        ("npm test > out.txt", False),
        ("npm test ../other", False),
        ("npm test; touch a", False),
        ("npm test && rm a", False),
        ("npm test $(touch a)", False),
        ("npm test $X", False),
        ("A=1 npm test", False),
        ("PATH=. npm test", False),
        ("npm test < /etc/hosts", False),
        ("sudo npm test", False),
        ("bash -c 'npm test'", False),
    ],
)
def test_a_rule_covers_its_commands_and_no_others(command: str, is_covered: bool) -> None:
    granted = Situation("ask", PLACES, frozenset(("words:npm test",)))
    found = judge(CommandEffect(command, "/w"), granted)
    assert isinstance(found, Allow) is is_covered
    if isinstance(found, Allow):
        assert found.rules == ("words:npm test",) and "npm test" in found.reason


def test_no_general_rule_allows_a_command_that_is_refused_or_always_needs_approval() -> None:
    for command, verdict in corpus():
        if verdict not in ("ask", "refuse"):
            continue
        words = command.split()
        grants = frozenset(f"words:{' '.join(words[:n])}" for n in range(1, len(words) + 1))
        for mode in ("ask", "edits"):
            judged = judge(CommandEffect(command, "/w"), Situation(mode, PLACES, grants))
            assert not isinstance(judged, Allow), command


def test_each_effective_command_is_offered_an_exact_rule_that_covers_it() -> None:
    for command, verdict in corpus():
        if verdict in ("work", "ask"):
            exact = next(rule for rule in offered(command) if rule.id.startswith("command:"))
            granted = Situation("ask", PLACES, frozenset((exact.id,)))
            assert isinstance(judge(CommandEffect(command, "/w"), granted), Allow), command
            assert not isinstance(judge(CommandEffect(command + " x", "/w"), granted), Allow)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("pytest", "pytest -p evil"),
        ("pytest", "pytest -c evil.ini"),
        ("pytest", "pytest --rootdir=sub"),
        ("pytest", "pytest @args"),
        ("python -m pytest", "python -m pytest -o addopts=-pevil"),
        ("cargo test", "cargo test --config x=1"),
        ("cargo test", "cargo test --manifest-path sub/Cargo.toml"),
        ("go test", "go test -exec=./x ./..."),
        ("go test", "go test -toolexec ./x ./..."),
        ("eslint", "eslint --rulesdir x src"),
        ("eslint", "eslint -c evil.js src"),
        ("prettier", "prettier --plugin=./x.js src"),
        ("jest", "jest --globalSetup=./x.js"),
        ("mypy", "mypy --config-file x.ini src"),
        ("ruff check", "ruff clean"),
        ("ruff check", "ruff check --config x.toml"),
        ("git commit", "git commit --amend"),
        ("git commit", "git commit -F /etc/passwd"),
        ("make", "make SHELL=./x"),
        ("make", "make -f evil.mk"),
        ("tar", "tar -I ./x -xf a.tar"),
        ("gcc", "gcc -fplugin=./x.so a.c"),
        ("sed", "sed -i 's/a/b/e' a.txt"),
        ("cargo test", "cargo test --config evil"),
        ("cargo build", "cargo build --config evil"),
        ("cargo clippy", "cargo clippy --fix"),
        ("pytest", "pytest *"),
        ("pytest", "pytest ?pevil"),
        ("pytest", "pytest [-]pevil"),
        ("pytest", "time -o src/a.py pytest"),
        ("pytest", "env -C sub pytest"),
        ("pytest", "nohup pytest"),
        ("touch", "touch *"),
        ("git commit", "git commit -m x -- *"),
    ],
)
def test_general_rule_covers_no_option_that_changes_which_code_runs(rule: str, command: str) -> None:
    granted = Situation("ask", PLACES, frozenset((f"words:{rule}",)))
    assert not isinstance(judge(CommandEffect(command, "/w"), granted), Allow)


def test_general_rule_covers_no_command_of_the_rule_limits_list() -> None:
    text = Path(__file__).with_name("rule_limits.txt").read_text(encoding="utf-8")
    cases = [line.replace("⏎", "\n").split("|", 1) for line in text.splitlines() if not line.startswith("# ")]
    covered = [
        command
        for rule, command in cases
        if isinstance(
            judge(CommandEffect(command, "/w"), Situation("ask", PLACES, frozenset((f"words:{rule}",)))),
            Allow,
        )
    ]
    assert len(cases) > 200 and covered == []


def test_rule_offered_for_the_first_command_in_rule_pairs_does_not_cover_the_second() -> None:
    text = Path(__file__).with_name("rule_pairs.txt").read_text(encoding="utf-8")
    pairs = [
        line.replace("⏎", "\n").split(" ⇒ ", 1) for line in text.splitlines() if not line.startswith("# ")
    ]
    covered = [
        (first, second)
        for first, second in pairs
        if isinstance(
            judge(CommandEffect(second, "/w"), Situation("ask", PLACES, frozenset((general(first),)))), Allow
        )
    ]
    assert len(pairs) > 200 and covered == []


def test_command_in_the_allow_setting_covers_any_further_arguments() -> None:
    granted = Situation("ask", PLACES, frozenset((id_of_words("npm test"),)))
    assert isinstance(judge(CommandEffect("npm test -- --watch", "/w"), granted), Allow)
    assert not isinstance(judge(CommandEffect("npm run x", "/w"), granted), Allow)


def test_rule_for_a_script_does_not_cover_the_same_name_in_another_folder() -> None:
    for words in ("./build.sh", "python a.py", "sh a.sh"):
        granted = Situation("ask", PLACES, frozenset((f"words:{words}",)))
        assert isinstance(judge(CommandEffect(words, "/w"), granted), Allow)
        assert not isinstance(judge(CommandEffect(words, "/w/sub"), granted), Allow)
        assert not isinstance(judge(CommandEffect(f"cd sub && {words}", "/w"), granted), Allow)
