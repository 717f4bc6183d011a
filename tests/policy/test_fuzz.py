"""Run commands that policy allows without approval in a real bash: they must change and display nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.policy.fuzz import Scratch, commands, harmed

SEED = seeded(14)


@pytest.mark.req("X7", "T10")
@pytest.mark.sweep
@pytest.mark.timeout(3600 if IS_WHOLE else 300)
def test_a_command_allowed_without_a_question_changes_and_reveals_nothing(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    generated = list(while_in_time(commands(SEED, 20_000 if IS_WHOLE else 300)))
    silent = [command for command in dict.fromkeys(generated) if scratch.is_silent(command)]

    assert len(silent) > len(generated) / 20
    assert list(harmed(scratch, silent)) == []


@pytest.mark.req("X7")
@pytest.mark.parametrize("command", ["touch made", "cat link", "echo x > a.txt", "sort a.txt -o b.txt"])
def test_fuzz_check_detects_a_command_that_writes_or_reveals_files(command: str, tmp_path: Path) -> None:
    assert list(harmed(Scratch(tmp_path / "scratch"), ["ls", command, "true"])) == [command]
