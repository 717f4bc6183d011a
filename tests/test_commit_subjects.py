"""The check of commit subjects accepts `area: imperative summary`, and says what is wrong with other subjects."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *AUTHOR, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def commit(folder: Path, subject: str) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "-m", subject)


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / ".ci/check-commit-subjects"], capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with an old commit whose subject is invalid, and then the commit that adds the check."""
    folder = tmp_path / "repository"
    (folder / ".ci").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, "What was before the convention")
    shutil.copy(ROOT / ".ci" / "check-commit-subjects", folder / ".ci" / "check-commit-subjects")
    git(folder, "add", ".")
    commit(folder, "ci: check commit subjects")
    return folder


@pytest.mark.parametrize(
    "subject",
    [
        "review: keep hunks when a notebook is saved",
        "environments.local: end descendants of a command",
        "docs, server: describe the limits",
    ],
)
def test_a_commit_subject_that_follows_the_convention_is_accepted(repository: Path, subject: str) -> None:
    commit(repository, subject)

    assert check(repository).returncode == 0


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("keep hunks", "begin with the area"),
        ("Review notes: keep hunks", "begin with the area"),
        ("review: kept hunks are " + "very " * 12 + "long", "shorten the subject"),
        ("review: fixed the order of hunks", "imperative"),
        ("review: what nobody reads is gone", "imperative"),
        ("review: keep hunks.", "full stop"),
    ],
)
def test_a_commit_subject_that_violates_the_convention_is_refused_with_the_reason(
    repository: Path, subject: str, reason: str
) -> None:
    commit(repository, subject)

    checked = check(repository)

    assert checked.returncode == 1
    assert reason in checked.stderr and subject in checked.stderr


def test_merged_commits_from_a_branch_without_the_subject_check_are_not_checked(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "old", "HEAD~1")
    commit(repository, "An older branch")
    git(repository, "checkout", "--quiet", "main")
    commit(repository, "review: keep hunks")
    git(repository, "merge", "--quiet", "--no-edit", "old")

    assert check(repository).returncode == 0
