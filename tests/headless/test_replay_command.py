"""agent-ls exec --record, replay and export, each in a separate process."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.support.commands import environment, run

pytestmark = pytest.mark.req("H13")


def test_exec_records_a_run_and_the_recording_can_be_replayed_and_exported_redacted(tmp_path: Path) -> None:
    project = copy_sample_project(tmp_path / "shop")
    environ = environment(tmp_path)
    options = "--set walkthroughPauseMs=0 --mode full --record run.jsonl".split()
    record = ("exec", "--provider", "walkthrough", *options, "fix it")
    done = run(*record, cwd=project, environ=environ)
    assert done.code == 0, done
    edited = (project / "shop" / "cart.py").read_text()
    file = project / "run.jsonl"

    again = run("replay", str(file), "--write", "out", cwd=tmp_path, environ=environ)
    assert (again.code, again.err) == (0, "") and "as recorded" in again.out
    assert (tmp_path / "out" / "shop" / "cart.py").read_text() == edited

    shared = tmp_path / "share.jsonl"
    made = run("export", str(file), "--redact", "--output", str(shared), cwd=tmp_path, environ=environ)
    assert made.code == 0 and str(tmp_path) not in shared.read_text()
    assert run("replay", str(shared), cwd=tmp_path, environ=environ).code == 0

    file.write_text(file.read_text().replace("DISCOUNT_RATE", "RATE", 1))
    other = run("replay", str(file), cwd=tmp_path, environ=environ)
    assert other.code == 1 and "differs: " in other.err and "Traceback" not in other.err
    assert run("replay", str(project / "shop" / "cart.py"), cwd=tmp_path, environ=environ).code == 2
    taken = run(*record, cwd=project, environ=environ)
    assert taken.code != 0 and "Traceback" not in taken.err
    both = run("exec", "--resume", "s-1", "--record", "x", "go", cwd=project, environ=environ)
    assert both.code == 2 and "--record" in both.err
