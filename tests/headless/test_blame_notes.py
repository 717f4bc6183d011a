"""Git notes and commit trailers about the agent's part, written only on the user's command."""

from __future__ import annotations

import subprocess

import pytest

from tests.headless.test_blame import Project, edit, project
from tests.support.commands import Finished, environment, run

__all__ = ["project"]


def git(project: Project, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=project.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def notes(project: Project, *options: str) -> Finished:
    return run("blame", "--notes", *options, cwd=project.folder, environ=environment(project.home))


@pytest.fixture
def committed(project: Project) -> Project:
    """A repository whose last commit has two lines of the agent and one of the user."""
    git(project, "init", "-q")
    git(project, "config", "user.name", "a")
    git(project, "config", "user.email", "a@b")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    project.ask("a secret wish", edit("first\n", "first\none\ntwo\n"))
    project.file.write_text(project.file.read_text() + "mine\n")
    git(project, "commit", "-qam", "second")
    return project


def test_a_note_lists_the_agents_lines_of_a_commit_without_messages(committed: Project) -> None:
    assert not git(committed, "for-each-ref", "refs/notes")

    done = notes(committed)

    assert done.code == 0, done
    head, row = git(committed, "notes", "--ref=agent-ls", "show").splitlines()
    assert head == "agent-ls lines 1"
    assert row.startswith("2-3 s-") and row.endswith(" a.py") and "secret" not in row
    assert notes(committed).code == 0, "writing it again changes nothing"
    assert git(committed, "rev-list", "--count", "refs/notes/agent-ls").strip() == "1"


def test_a_commit_without_lines_of_the_agent_gets_no_note(committed: Project) -> None:
    assert notes(committed, "HEAD~1").code == 0
    assert not git(committed, "for-each-ref", "refs/notes")


@pytest.mark.req("X7")
def test_notes_that_lead_to_a_branch_do_not_change_it(committed: Project) -> None:
    branch = git(committed, "symbolic-ref", "HEAD").strip()
    git(committed, "symbolic-ref", "refs/notes/agent-ls", branch)
    before = git(committed, "rev-parse", "HEAD")

    done = notes(committed)

    assert git(committed, "rev-parse", "HEAD") == before
    assert done.code == 2 and branch in done.err


def test_a_note_of_somebody_else_stays_and_is_no_fact(committed: Project) -> None:
    git(committed, "notes", "--ref=agent-ls", "add", "-m", "agent-ls lines 2\n1-4 s-evil c 2026 x kept a.py")

    done = notes(committed)

    assert done.code == 2 and "did not write" in done.err
    assert "s-evil" in git(committed, "notes", "--ref=agent-ls", "show")
    assert [author for _, author in committed.authors()] == [
        "user",
        "a secret wish",
        "a secret wish",
        "user",
        "user",
    ]


@pytest.mark.parametrize("commit", ["nothing", "--help", "HEAD:a.py"])
def test_what_is_no_commit_is_refused(committed: Project, commit: str) -> None:
    assert (
        run("blame", f"--notes={commit}", cwd=committed.folder, environ=environment(committed.home)).code == 2
    )


def test_a_file_or_a_commit_is_named(committed: Project) -> None:
    assert run("blame", cwd=committed.folder, environ=environment(committed.home)).code == 2
    assert (
        run("blame", "a.py", "--notes", cwd=committed.folder, environ=environment(committed.home)).code == 2
    )


def test_trailers_are_read_by_git(committed: Project) -> None:
    origin = committed.lines()[1]
    session_id = origin["sessionId"]
    exported = ("sessions", "export", session_id, "--format", "trailers")
    text = run(*exported, cwd=committed.folder, environ=environment(committed.home)).out
    parsed = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=f"Add lines\n\n{text}",
        text=True,
        capture_output=True,
        check=True,
    ).stdout

    assert parsed == text
    names = [line.split(":")[0] for line in text.splitlines()]
    assert names == ["Agent-Session", "Agent-Model", "Agent-Changes", "Agent-Evidence"]
    assert f"Agent-Session: {session_id}" in text and "secret" not in text
