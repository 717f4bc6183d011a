"""agent-ls sessions in separate processes, on sessions that agent-ls exec has stored."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agent_ls.cli.sample import copy_sample_project
from tests.support.commands import environment, run

pytestmark = pytest.mark.req("R7", "H13", "H2")

WALKTHROUGH = ("exec", "--provider", "walkthrough", "--set", "walkthroughPauseMs=0")


def stored(tmp_path: Path) -> tuple[Path, dict[str, str], str]:
    """Run exec on a project. Return the project, the environment, and the id of the session, which changed the
    project.
    """
    project = copy_sample_project(tmp_path / "shop")
    environ = environment(tmp_path)
    done = run(*WALKTHROUGH, "--mode", "full", "fix it", cwd=project, environ=environ)
    assert done.code == 0, done
    return project, environ, done.err.split()[-1]


def test_a_stored_session_is_listed_shown_exported_and_deleted(tmp_path: Path) -> None:
    project, environ, session_id = stored(tmp_path)

    listed = run("sessions", cwd=project, environ=environ)
    assert re.search(rf"{session_id}  \d{{4}}-\d\d-\d\d \d\d:\d\d  ", listed.out)
    assert session_id in listed.out and "fix it" in listed.out
    (facts,) = map(
        json.loads, run("sessions", "list", "--json", cwd=project, environ=environ).out.splitlines()
    )
    assert (facts["id"], facts["title"], facts["workspaceFolder"]) == (session_id, "fix it", str(project))
    assert facts["sizeBytes"] > 0 and facts["lastSeq"] > 10
    assert run("sessions", "--json", cwd=tmp_path, environ=environ).out == ""
    assert "no stored sessions" in run("sessions", cwd=tmp_path, environ=environ).out

    shown = run("sessions", "show", session_id, cwd=tmp_path, environ=environ)
    assert "## You" in shown.out and "cart.py" in shown.out
    assert (
        json.loads(run("sessions", "show", session_id, "--json", cwd=tmp_path, environ=environ).out) == facts
    )

    events = run("sessions", "export", session_id, "--format", "jsonl", cwd=tmp_path, environ=environ).out
    assert json.loads(events.splitlines()[0])["kind"] == "session_start"
    calls = run("sessions", "export", session_id, "--format", "calls", cwd=tmp_path, environ=environ).out
    records = [json.loads(line) for line in calls.splitlines()]
    assert {"FileModified"} == {it["type"] for record in records for it in record["state_changes"]}
    assert any(record["exit_code"] == 0 and record["name"] == "shell" for record in records)
    file = tmp_path / "chat.md"
    assert (
        run("sessions", "export", session_id, "--output", str(file), cwd=tmp_path, environ=environ).code == 0
    )
    assert file.read_text().startswith("# fix it")
    again = run("sessions", "export", session_id, "--output", str(file), cwd=tmp_path, environ=environ)
    assert again.code == 2 and "already exists" in again.err

    refused = run("sessions", "delete", session_id, cwd=tmp_path, environ=environ)
    assert refused.code == 1 and "your decision" in refused.err and "force" in refused.err
    assert run("sessions", "delete", session_id, "--force", cwd=tmp_path, environ=environ).code == 0
    unknown = run("sessions", "show", session_id, cwd=tmp_path, environ=environ)
    assert unknown.code == 2 and session_id in unknown.err


def test_sessions_export_writes_a_redacted_web_page(tmp_path: Path) -> None:
    _, environ, session_id = stored(tmp_path)
    shared = run(
        "sessions", "export", session_id, "--format", "html", "--redact", cwd=tmp_path, environ=environ
    )
    assert shared.out.startswith("<!DOCTYPE html>") and "Content-Security-Policy" in shared.out
    assert 'class="add"' in shared.out and "Tokens and costs" in shared.out
    assert environ["HOME"] not in shared.out, "the home folder is redacted"
    for format_ in ("jsonl", "calls"):
        plain = run(
            "sessions", "export", session_id, "--format", format_, "--redact", cwd=tmp_path, environ=environ
        )
        assert plain.code == 2 and "cannot be redacted" in plain.err and "html" in plain.err


def test_sessions_export_writes_a_report_for_a_pull_request(tmp_path: Path) -> None:
    project, environ, session_id = stored(tmp_path)
    exported = ("sessions", "export", session_id, "--format", "report")
    report = run(*exported, cwd=tmp_path, environ=environ).out
    assert "| `shop/cart.py` | modify |" in report and "not decided" in report
    assert "last change" in report and f"session `{session_id}`" in report
    assert str(project) not in report


def test_sessions_of_a_moved_folder_are_relinked_and_delete_everything_removes_all_sessions(
    tmp_path: Path,
) -> None:
    project, environ, session_id = stored(tmp_path)
    (tmp_path / "moved").mkdir()
    moved = project.rename(tmp_path / "moved" / "shop")

    listed = run("sessions", cwd=moved, environ=environ)
    assert f"agent-ls sessions relink {project}" in listed.out
    assert run("sessions", "relink", str(project), cwd=moved, environ=environ).code == 0
    assert session_id in run("sessions", cwd=moved, environ=environ).out
    resumed = run(*WALKTHROUGH, "--resume", session_id, "and now?", cwd=moved, environ=environ)
    assert resumed.code in (0, 3), resumed
    missing = run("sessions", "relink", str(project), cwd=moved, environ=environ)
    assert missing.code == 2 and "No sessions" in missing.err

    assert run("sessions", "delete", cwd=moved, environ=environ).code == 2
    assert run("sessions", "delete", "--everything", cwd=moved, environ=environ).code == 2
    assert (
        "1 sessions deleted"
        in run("sessions", "delete", "--everything", "--force", cwd=moved, environ=environ).out
    )
    assert "no stored sessions" in run("sessions", "--all", cwd=moved, environ=environ).out
