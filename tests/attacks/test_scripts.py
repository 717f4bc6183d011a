"""Scripts of awk and sed that the policy calls harmless make no file in any version of these programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.scripts import AWKS, BATCH, SEDS, awk_programs, make_files, sed_scripts

SEED = seeded(40)


@pytest.mark.req("X7", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 120)
@pytest.mark.parametrize(("kind", "programs"), [("awk", AWKS), ("sed", SEDS)], ids=["awk", "sed"])
def test_a_harmless_script_makes_no_file(
    kind: str, programs: Sequence[Sequence[str]], tmp_path: Path
) -> None:
    if len(programs) < 2:
        pytest.skip(
            f"only {len(programs)} version of {kind} is installed (gawk, mawk, original-awk, busybox)"
        )
    count = 5_000 if IS_WHOLE else 75
    scripts = list((awk_programs if kind == "awk" else sed_scripts)(SEED, count))

    assert len(scripts) > count / 2
    batches = [scripts[at : at + BATCH] for at in range(0, count, BATCH)]
    harmful = [batch for batch in while_in_time(batches) if make_files(programs, batch, tmp_path)]
    assert [
        (program, script)
        for script in (script for batch in harmful for script in batch)
        for program in programs
        if make_files([program], [script], tmp_path)
    ] == []


@pytest.mark.parametrize("script", ['BEGIN { print > "made" }', 'BEGIN { system("touch made") }'])
@pytest.mark.parametrize("program", AWKS, ids=" ".join)
def test_a_harmful_program_of_awk_is_detected(program: Sequence[str], script: str, tmp_path: Path) -> None:
    assert make_files([program], [script], tmp_path)
