"""Pipelines to xargs that run unasked print no file from outside and no file with secrets, and write nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks import IS_WHOLE, seeded, while_in_time
from tests.attacks.listings import pipelines
from tests.policy.fuzz import SECRET, Scratch

SEED = seeded(40)
KEPT = frozenset(("a.txt", "b.txt", "src", "c.json", "evil.txt", "bin", "1", ".git"))


@pytest.mark.req("X6", "X7", "T10")
@pytest.mark.group("sweeps")
@pytest.mark.timeout(3600 if IS_WHOLE else 300)
@pytest.mark.parametrize("has_links", [False, True])
def test_names_for_xargs_reveal_nothing_unasked(has_links: bool, tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    scratch.build()
    for path in scratch.work.iterdir():
        if path.name not in KEPT:
            path.rename(tmp_path / path.name)
    (scratch.work / "src" / "l.py").unlink()
    for name in ("names.txt", "5"):
        (scratch.work / name).write_text("../outside/secret.txt\n")
    if has_links:
        (scratch.work / "src" / "link.txt").symlink_to("../../outside/secret.txt")
    before = scratch.snapshot()
    silent = 0
    for line in while_in_time(pipelines(SEED, 10_000 if IS_WHOLE else 150)):
        if scratch.is_silent(line):
            silent += 1
            assert SECRET.encode() not in scratch.run(line), line
    assert scratch.snapshot() == before
    assert silent
