"""`agent-ls blame` after real runs of the agent: what it wrote, what the user typed, and what git brought back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.commands import Finished, environment, provider_variables, run
from tests.support.loopback import Answer, ChatServer, ToolCall

READ = ToolCall("read_file", {"file_path": "a.py"})


def edit(old: str, new: str) -> ToolCall:
    return ToolCall("edit_file", {"file_path": "a.py", "old_string": old, "new_string": new})


class Project:
    """A folder with one file, in which the agent and the user work in turn."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "project"
        self.folder.mkdir()
        self.file = self.folder / "a.py"
        self.file.write_text("first\nlast\n")

    def ask(self, message: str, *calls: ToolCall) -> Finished:
        answers: Sequence[Answer] = [[READ], *([call] for call in calls), "Done."]
        with ChatServer(answers) as server:
            environ = environment(self.home, **provider_variables(server))
            done = run("exec", "--trust", "--mode", "edits", message, cwd=self.folder, environ=environ)
        assert done.code == 0, done
        return done

    def blame(self, *options: str) -> Finished:
        return run("blame", "a.py", *options, cwd=self.folder, environ=environment(self.home))

    def lines(self) -> list[Mapping[str, str]]:
        return [json.loads(line) for line in self.blame("--json").out.splitlines()]

    def authors(self) -> list[tuple[str, str]]:
        return [(line["text"], line.get("message", line["author"])) for line in self.lines()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_lines_of_two_sessions_and_of_the_user(project: Project) -> None:
    project.ask("add two", edit("first\n", "first\none\ntwo\n"))
    project.file.write_text("first\none\nmine\ntwo\nlast\n")
    project.ask("add three", edit("two\n", "two\nthree\n"))
    project.file.write_text(project.file.read_text().replace("one", "ONE"))

    assert project.authors() == [
        ("first", "user"),
        ("ONE", "user"),
        ("mine", "user"),
        ("two", "add two"),
        ("three", "add three"),
        ("last", "user"),
    ]


def test_what_git_takes_away_and_brings_back(project: Project) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=project.folder, check=True
        )

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    project.ask("add one", edit("first\n", "first\none\n"))
    git("commit", "-qam", "second")
    git("checkout", "-q", "HEAD~1")
    assert project.authors() == [("first", "user"), ("last", "user")]
    git("checkout", "-q", "-")
    assert project.authors() == [("first", "user"), ("one", "add one"), ("last", "user")]


@pytest.mark.parametrize("is_edited_after", [False, True])
def test_a_renamed_file_keeps_its_authors(project: Project, is_edited_after: bool) -> None:
    project.ask("add one", edit("first\n", "first\none\n"))
    (project.folder / "other.py").write_text("unlike\n")
    (project.folder / "b.py").write_text(project.file.read_text())
    project.file.unlink()
    expected = [("first", "user"), ("one", "add one"), ("last", "user")]
    if is_edited_after:
        calls = [
            ToolCall(READ.name, {"file_path": "b.py"}),
            ToolCall("edit_file", {"file_path": "b.py", "old_string": "last", "new_string": "two\nlast"}),
        ]
        with ChatServer([[calls[0]], [calls[1]], "Done."]) as server:
            environ = environment(project.home, **provider_variables(server))
            assert (
                run("exec", "--trust", "--mode", "edits", "more", cwd=project.folder, environ=environ).code
                == 0
            )
        expected = [("first", "user"), ("one", "add one"), ("two", "more"), ("last", "user")]
    shown = run("blame", "b.py", "--json", cwd=project.folder, environ=environment(project.home))
    lines = [json.loads(line) for line in shown.out.splitlines()]

    assert [(line["text"], line.get("message", line["author"])) for line in lines] == expected
    other = run("blame", "other.py", "--json", cwd=project.folder, environ=environment(project.home))
    assert {json.loads(line)["author"] for line in other.out.splitlines()} == {"user"}


def test_a_copy_is_no_rename(project: Project) -> None:
    project.ask("add one", edit("first\n", "first\none\n"))
    (project.folder / "copy.py").write_text(project.file.read_text())
    shown = run("blame", "copy.py", "--json", cwd=project.folder, environ=environment(project.home))

    assert {json.loads(line)["author"] for line in shown.out.splitlines()} == {"user"}


def test_one_line_has_all_details(project: Project) -> None:
    project.ask("add one", edit("first\n", "first\none\n"))
    origin = project.lines()[1]
    shown = project.blame("--line", "2").out
    assert {"sessionId", "turnId", "callId", "model", "time", "decision"} <= origin.keys()
    assert all(
        origin[name] in shown for name in ("sessionId", "turnId", "callId", "model", "message", "time")
    )
    assert project.blame("--summary").out.split()[:2] == ["agent", "1"]
    assert project.blame().out.splitlines()[1].endswith("| one")


def test_a_clock_that_goes_back_changes_no_author(project: Project) -> None:
    project.ask("add two", edit("first\n", "first\none\n"), edit("one\n", "ONE\ntwo\n"))
    (log,) = project.home.rglob("log.jsonl")
    hours = iter(range(9_999, 0, -1))
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:", lambda _: f"2020-01-01T{next(hours):04}:", log.read_text())
    log.write_text(text)
    project.ask("add three", edit("last\n", "three\nlast\n"))

    whose = [line["author"] for line in project.lines()]
    assert [line["text"] for line in project.lines()] == ["first", "ONE", "two", "three", "last"]
    assert whose == ["user", "agent", "agent", "agent", "user"]


def test_lines_of_a_deleted_session_are_unknown(project: Project) -> None:
    project.ask("add one", edit("first\n", "first\nwritten by it\n}\n"))
    project.file.write_text(project.file.read_text() + "typed later\n")
    environ = environment(project.home)
    session_id = project.lines()[1]["sessionId"]
    assert run("sessions", "delete", "--force", session_id, cwd=project.folder, environ=environ).code == 0
    assert [line["author"] for line in project.lines()] == ["user", "unknown", *["user"] * 3]
    assert ["isOfDeletedSession" in line for line in project.lines()] == [False, True, *[False] * 3]
    assert "deleted" in project.blame("--line", "2").out
    (kept,) = (project.home / "state" / "forgotten").iterdir()
    assert len(kept.read_bytes()) == 4

    project.ask("add two", edit("last\n", "last\ntwo\n"))
    assert [line["author"] for line in project.lines()][:2] == ["user", "unknown"]
    assert run("sessions", "delete", "--everything", "--force", cwd=project.folder, environ=environ).code == 0
    assert {line["author"] for line in project.lines()} == {"user"}
    assert not kept.parent.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("missing.py",), (".",), ("binary",), ("pipe",), ("large",), ("loop",), ("/dev/zero",),
        ("a.py", "--line", "9"), ("a.py", "--line", "0"),
    ],
)  # fmt: skip
def test_what_cannot_be_blamed_is_a_wrong_use(options: Sequence[str], project: Project) -> None:
    (project.folder / "binary").write_bytes(b"\0\1\2")
    os.mkfifo(project.folder / "pipe")
    (project.folder / "loop").symlink_to("loop")
    with (project.folder / "large").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    done = run("blame", *options, cwd=project.folder, environ=environment(project.home))
    assert done.code == 2 and done.err.startswith("agent-ls blame: ") and done.out == ""


def test_an_empty_file_has_no_lines(project: Project) -> None:
    project.file.write_text("")
    assert project.blame().out == "" and project.blame("--summary").out == ""


def test_files_elsewhere_links_and_lines_of_two_sessions(project: Project, tmp_path: Path) -> None:
    """A line that two sessions changed is of the later one. A link has the lines of its file."""
    project.ask("add one", edit("first\n", "first\none\n"))
    project.ask("change it", edit("one", "one and two"))
    (project.folder / "link.py").symlink_to("a.py")
    environ = environment(project.home)
    expected = [("first", "user"), ("one and two", "change it"), ("last", "user")]
    assert project.authors() == expected
    for folder, name in (
        (project.folder, "link.py"),
        (tmp_path, "project/a.py"),
        (tmp_path, str(project.file)),
    ):
        shown = run("blame", name, "--json", cwd=folder, environ=environ).out.splitlines()
        assert [(it["text"], it.get("message", it["author"])) for it in map(json.loads, shown)] == expected


def test_a_file_outside_of_the_folder_has_authors_too(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "beside" / "b.py"
    outside.parent.mkdir()
    outside.write_text("x\n")
    calls = [
        ToolCall("read_file", {"file_path": str(outside)}),
        ToolCall("edit_file", {"file_path": str(outside), "old_string": "x", "new_string": "x\ny"}),
    ]
    with ChatServer([*([call] for call in calls), "Done."]) as server:
        environ = environment(project.home, **provider_variables(server))
        more = ("--mode", "edits", "--add-dir", str(outside.parent))
        done = run("exec", "--trust", *more, "add y", cwd=project.folder, environ=environ)
    assert done.code == 0, done
    shown = run("blame", str(outside), "--json", cwd=tmp_path, environ=environ).out.splitlines()
    assert [json.loads(line).get("message") for line in shown] == [None, "add y"]

    session_id = json.loads(shown[1])["sessionId"]
    assert run("sessions", "delete", "--force", session_id, cwd=project.folder, environ=environ).code == 0
    outside.write_text("x\nyet another\n")
    shown = run("blame", str(outside), "--json", cwd=tmp_path, environ=environ).out.splitlines()
    assert [json.loads(line)["author"] for line in shown] == ["user", "user"]
    assert not list((project.home / "state" / "elsewhere").rglob("s-*"))
