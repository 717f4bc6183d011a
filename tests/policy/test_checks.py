"""Which command lines check a project, and of which the exit code tells whether they passed."""

from __future__ import annotations

import pytest

from agent_ls.policy.shell.checks import judge_check

DECISIVE = """
pytest -q
.venv/bin/pytest -q tests/test_a.py
python -m pytest
python3 -m unittest discover -s tests
uv run pytest
poetry run python -m pytest -x
npx jest
npm test
npm run test:unit -- --watch=false
yarn --cwd app test
pnpm run lint
cargo test --workspace
cargo +nightly clippy
go test ./...
go -C sub vet ./...
make test
make -C sub -j4 clean check
./gradlew test
mvn -q verify
dotnet test
tsc --noEmit
npx tsc --noEmit
ruff check . && mypy .
cd sub && pytest
cd sub; pytest -q
export A=1; A=2 pytest
set -e; ruff check .; pytest
set -o pipefail; pytest | tail -5
pytest -q 2>&1
pytest > out.txt 2>&1
(cd sub && go test ./...)
timeout 60 pytest
time make test
env CI=1 npm test
source .venv/bin/activate && pytest
pre-commit run --all-files
python manage.py test shop
bundle exec rspec
bash -c "pytest -q"
timeout 60 bash -lc 'cd sub && npm test'
bash -euo pipefail -c 'make check | tee log'
cargo fmt --all -- --check
ruff format --check .
clang-format --dry-run --Werror a.c
ctest -V
mvn -V test
npx prettier --list-different .
make -C sub -s -k check
""".strip().splitlines()

UNCLEAR = """
pytest -q | tail -5
pytest -q 2>&1 | tee log.txt
pytest || true
pytest; echo done
! pytest
ruff check .; pytest
if pytest; then echo fine; fi
pytest &
for f in a b; do pytest $f; done
bash -c "pytest; echo done"
bash -c "pytest | tail"
ruff check . --exit-zero
npm run test --if-present
jest --passWithNoTests
make -i check
mvn test -Dmaven.test.failure.ignore=true
golangci-lint run --issues-exit-code=0
""".strip().splitlines()

NONE = """
ls
cat test.py
echo pytest
grep -rn pytest .
pip install pytest
npm install test
npm run start
git commit -m 'make test'
make install
go run ./test
cargo run test
python test.py
black .
prettier --write .
cd test
touch pytest
pytest --version
pytest -h
python -m pytest --collect-only -q
uv run pytest --co
mypy --version && echo fine
npx tsc --version
npm test -- --help
cargo test -- --list
make -n check
make --dry-run check
gradle test --dry-run
ctest -N
jest --listTests
tox -l
go test -list . ./...
eslint --print-config a.js
ruff format .
cargo fmt
gofmt -l .
bash -c "pytest --version"
bash check.sh
bash -c
""".strip().splitlines()


@pytest.mark.parametrize("line", DECISIVE)
def test_a_check_whose_exit_code_decides(line: str) -> None:
    assert judge_check(line) == "decisive"


@pytest.mark.parametrize(
    ("line", "judgement"),
    [
        ("pytest && sed -i s/a/b/ src/a.py", "followed"),
        ("pytest && echo y = 1 >> a.py", "followed"),
        ("set -e; pytest; python gen.py; ruff check .", "followed"),
        ("bash -c 'pytest && black .'", "followed"),
        ("(pytest) && git commit -qam done", "followed"),
        ("pytest && echo fine", "decisive"),
        ("python gen.py && pytest", "decisive"),
        ("sed -i s/a/b/ a.py && ruff check --fix . && pytest > log.txt 2>&1", "decisive"),
        ("cd a && pytest && cd ..", "decisive"),
    ],
)
def test_a_command_behind_a_check_may_change_what_was_checked(line: str, judgement: str) -> None:
    assert judge_check(line) == judgement


@pytest.mark.parametrize("line", UNCLEAR)
def test_a_check_whose_exit_code_may_be_another_commands(line: str) -> None:
    assert judge_check(line) == "unclear"


@pytest.mark.parametrize("line", [*NONE, "", "x" * 5_000, "'"])
def test_other_commands_are_no_checks(line: str) -> None:
    assert judge_check(line) == ""


@pytest.mark.parametrize(
    ("line", "own"),
    [("./check.sh -v", "./check.sh"), ("make verify-all", "make verify-all"), ("bash ci/run", "bash ci/run")],
)
def test_a_check_of_the_users_own(line: str, own: str) -> None:
    assert judge_check(f"cd x && {line}", ["", own]) == "decisive"
