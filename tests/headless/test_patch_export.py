"""A session as a patch: git applies it, and it has the changes that still count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.headless.test_blame import Project, edit, project
from tests.headless.test_blame_notes import git
from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import Answer, ChatServer, ToolCall

__all__ = ["project"]


def shell(line: str) -> ToolCall:
    return ToolCall("shell", {"command": line})


def write(path: str, content: str) -> ToolCall:
    return ToolCall("write_file", {"file_path": path, "content": content})


def play(project: Project, calls: Sequence[ToolCall], *options: str) -> Finished:
    answers: Sequence[Answer] = [*([call] for call in calls), "Done."]
    with ChatServer(answers) as server:
        environ = environment(project.home, **provider_variables(server))
        mode = () if "--mode" in options else ("--mode", "full")
        return run("exec", "--trust", *mode, *options, "go", cwd=project.folder, environ=environ)


def begin(project: Project) -> None:
    git(project, "init", "-q")
    git(project, "config", "user.name", "a")
    git(project, "config", "user.email", "a@b")
    git(project, "config", "core.autocrlf", "false")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")


def export(project: Project, *options: str) -> tuple[Finished, Path]:
    environ = environment(project.home)
    session_id = json.loads(run("sessions", "--json", cwd=project.folder, environ=environ).out)["id"]
    patch = project.home / "session.patch"
    patch.unlink(missing_ok=True)
    given = ("--format", "patch", "--output", str(patch), *options)
    return run("sessions", "export", session_id, *given, cwd=project.folder, environ=environ), patch


def files(project: Project) -> dict[str, bytes]:
    found = project.folder.rglob("*")
    return {
        str(it.relative_to(project.folder)): it.read_bytes()
        for it in found
        if it.is_file() and ".git" not in it.parts
    }


def apply(project: Project, patch: Path) -> None:
    """Bring the folder back to its commit, and apply the patch with git."""
    git(project, "stash", "-qu")
    if patch.read_bytes():
        git(project, "apply", str(patch))


READ = ToolCall("read_file", {"file_path": "a.py"})
CASES: dict[str, tuple[bytes, list[ToolCall]]] = {
    "a change": (b"first\nlast\n", [READ, edit("first\n", "first\none\n")]),
    "Windows line endings": (b"first\r\nlast\r\n", [READ, edit("first\n", "first\none\n")]),
    "mixed line endings": (b"first\r\nmid\nlast\r\n", [READ, edit("mid", "one")]),
    "no newline at the end": (b"first\nlast", [READ, edit("last", "one")]),
    "a byte order mark": (b"\xef\xbb\xbffirst\nlast\n", [READ, edit("last", "one")]),
    "several changes": (b"first\nlast\n", [READ, edit("first", "one"), edit("one", "two"), write("b/c.py", "x\n")]),
    "an empty file": (b"first\n", [write("empty.py", ""), write("my file.py", "x\n")]),
    "odd names": (b"first\n", [write('say "hi".py', "x\n"), write("über.py", "y\n")]),
    "nothing in the end": (b"first\n", [READ, edit("first", "one"), edit("one", "first")]),
    "a deleted file": (b"first\nlast\n", [READ, ToolCall("delete_file", {"path": "a.py"})]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_git_applies_the_patch_to_the_state_before_the_session(project: Project, name: str) -> None:
    before, calls = CASES[name]
    project.file.write_bytes(before)
    begin(project)
    assert play(project, calls, "--tools", "minimal,file_manage").code == 0
    expected = files(project)

    done, patch = export(project)

    assert done.code == 0, done
    apply(project, patch)
    assert files(project) == expected


def test_the_patch_begins_with_trailers_on_demand(project: Project) -> None:
    begin(project)
    assert play(project, [READ, edit("first", "one")]).code == 0
    assert export(project)[1].read_text().startswith("diff --git ")

    _, patch = export(project, "--trailers")
    assert patch.read_text().startswith("Agent-Session: s-") and "Agent-Evidence: " in patch.read_text()
    apply(project, patch)
    assert project.file.read_text() == "one\nlast\n"
    assert export(project, "--redact")[0].code == 2


def test_what_is_not_in_the_patch_is_named(project: Project, tmp_path: Path) -> None:
    begin(project)
    beside = tmp_path / "beside"  # not the home, in which agent-ls itself writes
    beside.mkdir()
    outside = beside / "outside.py"
    calls = [
        READ,
        edit("first", "one"),
        write(str(outside), "x\n"),
        shell("printf '\\374\\n' > latin.txt"),
    ]
    assert play(project, calls, "--add-dir", str(beside)).code == 0
    _, patch = export(project)

    notes = [line for line in patch.read_text().splitlines() if line.startswith("Note: ")]
    assert ["latin.txt" in note or "outside.py" in note for note in notes] == [True, True], notes
    apply(project, patch)
    assert project.file.read_text() == "one\nlast\n"


def test_a_session_in_a_worktree_names_the_files_of_the_users_folder(project: Project) -> None:
    begin(project)
    assert play(project, [READ, edit("first\n", "first\none\n")], "--worktree", "current").code == 0
    environ = environment(project.home)
    session_id = json.loads(run("sessions", "--json", cwd=project.folder, environ=environ).out)["id"]

    report = run(
        "sessions", "export", session_id, "--format", "report", cwd=project.folder, environ=environ
    ).out
    assert "| `a.py` | modify | +1 −0 | 1 not decided |" in report
    assert report.count("| modify |") == 1 and str(project.home) not in report
    assert "- `a.py:2`: for “go”, step 2" in report
    _, patch = export(project)
    assert patch.read_text().count("diff --git") == 1
    apply(project, patch)
    assert project.file.read_text() == "first\none\nlast\n"


def test_a_run_writes_its_report_in_a_new_file(project: Project, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    done = play(project, [READ, edit("first", "one")], "--require-evidence", "--report", str(report))

    assert done.code == 1, done
    assert "| `a.py` | modify | +1 −1 |" in report.read_text() and "nothing was run" in report.read_text()

    again = play(project, [], "--report", str(report))
    missing = play(project, [], "--report", str(tmp_path / "no" / "report.md"))
    assert (again.code, missing.code) == (2, 2), "before anything is asked of the model"
