"""Names, numbers and text that a line takes from elsewhere make it write nothing and print no file from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.fillings import lines
from tests.policy.fuzz import Scratch, harmed

SEED = seeded(43)


@pytest.mark.req("X7", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(7200 if IS_WHOLE else 300)
def test_a_line_that_is_filled_from_elsewhere_writes_and_reveals_nothing(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    tried = dict.fromkeys(while_in_time(lines(SEED, 20_000 if IS_WHOLE else 500)))
    silent = [line for line in tried if scratch.is_silent(line)]
    assert silent
    assert list(harmed(scratch, silent)) == []


@pytest.mark.parametrize(
    "line",
    [
        "find . -name link -exec sh -c 'cat \"$1\"' _ {} \\;",
        "mapfile -t -C 'touch made; :' -c 1 x < a.txt",
        'cd src && f=l.py; cat "$f"',
    ],
)
def test_a_filling_with_an_effect_is_noticed_and_asked_about(line: str, tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    assert list(harmed(scratch, [line])) == [line]
    scratch.build()
    assert not scratch.is_silent(line)
