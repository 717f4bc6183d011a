"""Exports show each change with reason, decision, marks and evidence, in reading order, from the log alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import environment, provider_variables, run
from tests.support.loopback import Answer, ChatServer, Text, ToolCall


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The exports of a session in which the agent used a function before it defined it, by format."""
    folder = tmp_path_factory.mktemp("guided")
    project = folder / "project"
    project.mkdir()
    (project / "view.py").write_text("print(1)\n")
    (project / "cart.py").write_text("def old(a):\n    return a\n")
    use = ToolCall("edit_file", {"file_path": "view.py", "old_string": "1", "new_string": "total(<b>)"})
    define = ToolCall(
        "edit_file",
        {"file_path": "cart.py", "old_string": "def old(a):", "new_string": "def total(a, b):"},
    )
    reads = [ToolCall("read_file", {"file_path": name}) for name in ("view.py", "cart.py")]
    answers: Sequence[Answer] = [reads, [Text("Looking.\n\n**I print the total:**"), use], [define], "Done."]
    with ChatServer(answers) as server:
        environ = environment(folder / "home", **provider_variables(server))
        done = run("exec", "--trust", "--mode", "edits", "add a total", cwd=project, environ=environ)
    assert done.code == 0, done
    session_id = json.loads(run("sessions", "--json", cwd=project, environ=environ).out)["id"]
    formats = ("html", "report", "markdown")
    found = {
        name: run("sessions", "export", session_id, "--format", name, cwd=project, environ=environ).out
        for name in formats
    }
    return {**found, "show": run("sessions", "show", session_id, cwd=project, environ=environ).out}


@pytest.mark.parametrize("format_", ["html", "report", "markdown", "show"])
def test_every_export_has_reasons_states_and_marks_in_reading_order(
    exported: dict[str, str], format_: str
) -> None:
    page = exported[format_].split("Changes in reading order")[1]

    assert "print the total" in page and "for \u201cadd a total\u201d, step 3" in page
    assert page.index("step 3") < page.index("I print the total"), "the definition comes before its use"
    assert "is gone" in page and "not looked at" in page


def test_the_page_shows_lines_and_evidence_of_each_change_without_mark_up_of_others(
    exported: dict[str, str],
) -> None:
    page = exported["html"].split("Changes in reading order")[1]

    assert "+print(total(&lt;b&gt;))" in page and "<b>" not in page
    assert "last change" in page and 'class="mark"' in page


def test_the_report_names_files_relative_to_the_folder(exported: dict[str, str], tmp_path: Path) -> None:
    assert "- `cart.py:1`" in exported["report"] and str(tmp_path.parent) not in exported["report"]


def test_the_report_calls_nobody_and_refers_to_nothing_by_words_of_the_model(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")
    said = "This fixes #12, closes GH-3 and o/r#4, see https://github.com/o/r/issues/5 @octocat"
    edit = ToolCall("edit_file", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    check = ToolCall(
        "shell", {"command": "python3 -m compileall -q a.py # `![x](http://evil.example/p.png) fixes #6`"}
    )
    answers: Sequence[Answer] = [
        [ToolCall("read_file", {"file_path": "a.py"})],
        [Text(said), edit],
        [check],
        "Done.",
    ]
    report = tmp_path / "report.md"
    with ChatServer(answers) as server:
        environ = environment(tmp_path / "home", **provider_variables(server))
        given = ("--trust", "--mode", "full", "--report", str(report), "go")
        assert run("exec", *given, cwd=project, environ=environ).code == 0
    text = report.read_text()

    shown = text.replace("\\", "").replace("\u200b", "|")
    assert "This fixes #|12, closes GH|-3 and o/r#|4, see https:|//github.com/o/r/issues/5 @|octocat" in shown
    assert "`` python3 -m compileall -q a.py # `![x](http://evil.example/p.png) fixes #6` ``" in text
    session_id = json.loads(run("sessions", "--json", cwd=project, environ=environ).out)["id"]
    lines = run("sessions", "export", session_id, "--format", "trailers", cwd=project, environ=environ).out
    assert "fixes #\u200b6" in lines and "fixes #6" not in lines
