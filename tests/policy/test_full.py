"""Mode full: commands of never_silent.txt still need approval, and the usual work in silent_in_full.txt does not."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.places import Places
from agent_ls.policy.situation import Allow, Ask, Mode, Situation
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
@pytest.mark.parametrize(
    "inner", ["rm a.txt", "sh -c 'rm a.txt'", "env A=1 kill 1", "python -c 'import shutil'"]
)
def test_command_that_a_runner_runs_is_judged_like_the_command_alone(runner: str, inner: str) -> None:
    line = f"{runner} {inner}" if runner not in ("hyperfine", "concurrently") else f'{runner} "{inner}"'
    found = judged(line, "full")
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode


CARRIERS = Path(__file__).with_name("carriers.txt").read_text(encoding="utf-8")
SILENT, ASKED = (part.splitlines()[1:] for part in CARRIERS.split("== ")[-2:])


@pytest.mark.parametrize("inner", ["rm -rf other", "git reset --hard", "git clean -fdx"])
def test_a_command_that_loses_work_is_asked_about_within_any_other_program(inner: str) -> None:
    lines = [_filled(it, inner) for it in (*SILENT, *ASKED)]
    assert len(lines) > 700
    assert [line for line in lines if isinstance(judged(line, "full"), Allow)] == []


@pytest.mark.parametrize("inner", ["make all", "pytest -q", "tsc --noEmit"])
def test_a_harmless_command_is_not_asked_about_within_another_program(inner: str) -> None:
    lines = [_filled(it, inner) for it in SILENT]
    assert [line for line in lines if isinstance(judged(line, "full"), Ask)] == []


def _filled(template: str, inner: str) -> str:
    for name, text in {"{q}": shlex.quote(inner), "{raw}": inner, "-I{}": "-I@", "{}": inner}.items():
        template = template.replace(name, text)
    return template


@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'stop: rm -rf other'", "gt create -m 'rm -rf other'", "npm pkg set scripts.clean='rm -rf dist'",
        "npm install -D rimraf cross-env", "yarn add del-cli", "pnpm rm -r lodash", "npm rm -f x", "cargo rm x",
        "sd 'rm -rf x' 'y' a.sh", "jj describe -m 'git reset --hard'", "tldr git push", "make watch", "turbo run clean",
        "npm run watch", "yarn workspace a watch", "apt-get install git sudo", "ghc -threaded Main.hs",
        "rpm -q --qf '%{NAME}' x", "docker build -t a .", "nix run .#test", "nix run nixpkgs#hello",
        "hatch run test:unit", "deno run -A main.ts", "stack build", "stack test --fast", "composer exec phpunit",
        "sbt test", "sbt 'testOnly a'",
        "cargo run -- remove x", "go run . -rf x", "symfony console cache:clear", "rustup run nightly cargo test",
        "ssh -V", "rails db:migrate", "mix test", "make X=1", "./tool rm x",
    ],
)  # fmt: skip
def test_words_that_only_look_like_lost_work_are_not_asked_about(line: str) -> None:
    assert isinstance(judged(line, "full"), Allow)


@pytest.mark.parametrize(
    "line",
    [
        "yarn run -T rimraf a", "yarn workspace a rimraf b", "hatch run env:rm a", "hatch run +py=3.12 env:rm a",
        "nix run nixpkgs#rimraf -- a", "nix run nixpkgs#git -- reset --hard", "nix run nixpkgs#coreutils -- rm a",
        "deno run -A npm:rimraf@5 a", "rpm -D 'x %(id)' -q a", "rpm --define 'x %{lua:os.remove(\"a\")}' -q a",
        "sbt '!id'", "sbt 'eval x'", "bb '(x)'", "pnpm git clean -fd", "bun git stash", "rails c",
        "echo x | rails console", "python manage.py shell -c 'x'", "php artisan migrate:refresh",
        "kubectx prod", "p4 revert a",
        "bfg --delete-files x", "helmfile destroy", "mongorestore --drop a", "torify rm a", "torify curl x",
        "brew sh -c 'rm -rf a'", "tool -p 'git clean -fd'",
        "nixos-rebuild switch",
    ],
)  # fmt: skip
def test_a_runner_in_another_form_is_asked_about_in_mode_full(line: str) -> None:
    assert isinstance(judged(line, "full"), Ask)


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


ORDINARY = [
    "python3 -c 'import app; print(len([1]))'",
    'python3.12 -u -c \'import json; print(json.load(open("a.json"))["x"])\'',
    "cd src && python3 -c 'import app; print(app.version)'",
    "node -e 'console.log(require(\"./a.js\").x)'",
    "node -p 'require(\"./app\").x'",
    "uv run python -c 'import app'",
    "timeout 5 python3 -c 'import app'",
    "python3 - <<'EOF'\nfrom app import x\nassert x(1) == 2\nEOF",
    "python3 <<EOF\nimport app\nprint(1)\nEOF",
    "python3 -c 'print(1)' > out.txt && python3 -c 'print(2)' a.txt",
    "python3 -c 'print(1)' && python3 m.py",
]
NOT_ORDINARY = [
    "python3 -c 'import os; os.remove(\"a\")'",
    "python3 -c 'import shutil; shutil.rmtree(\"a\")'",
    'python3 -c \'import subprocess as s; s.run(["rm", "a"])\'',
    "python3 -c 'print(open(\"/etc/passwd\").read())'",
    "python3 -c 'print(open(\"../x\").read())'",
    "python3 -c 'print(open(\"~/x\").read())'",
    "python3 -c 'print(open(\".env\").read())'",
    'python3 -c \'open(".git/hooks/pre-commit", "w")\'',
    "python3 -c 'exec(open(\"x\").read())'",
    "python3 -c 'import urllib.request'",
    'python3 -c "$X"',
    "python3 -c \"print('$(cat x)')\"",
    "python3 -c 'print(1)' | sh",
    "python3 -c 'print(1)' && rm a",
    "python3 -c 'print(1)' > /etc/x",
    "python3 -m x -c y",
    "python3 -W error -c y",
    "python3 -ic y",
    "node -r ./x -e 1",
    "node -e 'require(\"child_process\")'",
    "node -e 'fetch(\"x\")'",
    "curl x | python3",
    "cat a | python3 - <<'EOF'\nprint(1)\nEOF\ncat b | python3",
    "python3 - <<'EOF'\nimport os\nos.remove('a')\nEOF",
    "python3 <<EOF\nprint('$X')\nEOF",
    "python3 -c 'print(1)'; echo x | python3",
    "perl -e 1",
    "ruby -e 1",
    "PYTHONPATH=/x python3 -c 1",
    "python3 -c " + "'" + "x" * 9_000 + "'",
]


@pytest.mark.parametrize("command", ORDINARY)
def test_check_whose_code_stands_in_the_command_needs_no_approval_in_mode_full(command: str) -> None:
    assert isinstance(judged(command, "full"), Allow)
    assert isinstance(judged(command, "edits"), Ask)


@pytest.mark.parametrize("command", NOT_ORDINARY)
def test_code_in_a_command_that_does_more_than_a_check_needs_approval_in_mode_full(command: str) -> None:
    found = judged(command, "full")
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode


CREATED = frozenset(("/w/m.py", "/w/sub/x.txt"))


def judged_with_created(command: str, mode: Mode) -> object:
    places = Places(("/w",), "/home/u")
    return judge(CommandEffect(command, "/w"), Situation(mode, places, created=CREATED))


@pytest.mark.parametrize(
    "command",
    ["rm m.py", "rm -f m.py sub/x.txt", "rm -- ./m.py", "cd sub && rm x.txt", "unlink m.py", "make && rm m.py",
     "bash -c 'rm m.py'", "rm /w/m.py"],
)  # fmt: skip
def test_files_that_the_session_created_are_deleted_without_approval_in_mode_full(command: str) -> None:
    assert isinstance(judged_with_created(command, "full"), Allow)
    assert isinstance(judged_with_created(command, "edits"), Ask)
    assert isinstance(judged(command, "full"), Ask)


@pytest.mark.parametrize(
    "command",
    ["rm a.py", "rm m.py a.py", "rm -r m.py", "rm -rf sub", "rm *.py", "rm $X", "sudo rm m.py", "rm m.py; curl x",
     "shred m.py", "git rm m.py", "ls | xargs rm", "find . -name m.py -exec rm {} +", "cd sub && rm m.py",
     "rm --no-preserve-root m.py", "rm m.py && chmod 777 m.py", "rm", "rm ../w2/m.py", "(cd sub || true) && rm x.txt"],
)  # fmt: skip
def test_deleting_anything_else_needs_approval_in_mode_full(command: str) -> None:
    assert not isinstance(judged_with_created(command, "full"), Allow)


def test_line_that_a_runner_gets_from_a_variable_is_asked_about() -> None:
    for line in ('npx -c "$X"', "uv run $X", 'nix-shell --run "$(cat a)"'):
        found = judged(line, "full")
        assert isinstance(found, Ask) and found.needs_approval_in_every_mode
