"""Code in a command that runs unasked writes nothing, runs nothing and prints no file from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.codes import lines
from tests.policy.fuzz import SECRET, Scratch, harmed

SEED = seeded(41)


@pytest.mark.req("X7", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 300)
def test_code_that_runs_unasked_writes_and_reveals_nothing(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    tried = while_in_time(lines(SEED, 20_000 if IS_WHOLE else 600))
    silent = [line for line in tried if scratch.is_silent(line)]
    assert silent
    assert list(harmed(scratch, silent)) == []


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c \"open('made', 'w')\"",
        "python3 -c \"print(open('li' + 'nk').read())\"",
        "python3 - <<'EOF'\nprint(open('link').read())\nEOF",
    ],
)
def test_code_with_an_effect_is_noticed_and_asked_about(line: str, tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    assert list(harmed(scratch, [line])) == [line]
    scratch.build()
    assert not scratch.is_silent(line)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("json.py", "python3 -c 'import json; print(json.loads(\"1\"))'"),
        ("_colorize.py", "python3 - <<'EOF'\nimport json\nprint(1)\nEOF"),
        ("d.json.js", "node -p \"require('./d.json').x\""),
        ("d.json/index.js", "node -p \"require('./d.json').x\""),
    ],
)
def test_code_beside_a_file_that_may_run_in_its_place_is_asked_about(
    name: str, line: str, tmp_path: Path
) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    assert scratch.is_silent(line)
    (scratch.work / name).parent.mkdir(exist_ok=True)
    (scratch.work / name).write_text("1\n")
    assert not scratch.is_silent(line)
    assert SECRET.encode() not in scratch.run(line)
