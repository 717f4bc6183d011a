"""The request for a commit message: which changes are sent to the model, and how its answer is cleaned."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_ls.environments.local.environment import LocalEnvironment
from agent_ls.features.suggestions.commit_message import clean_message, commit_messages
from agent_ls.features.suggestions.git_changes import GitChanges, read_changes, shorten_diff
from agent_ls.services.errors import AppError
from tests.support.git import git

pytestmark = pytest.mark.req("H20")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "work")
    folder = tmp_path / "work"
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "shop: add two files")
    return folder


async def changes_of(folder: Path, *refused: str) -> GitChanges | None:
    return await read_changes(LocalEnvironment(str(folder)), str(folder), lambda name: name not in refused)


async def test_only_staged_changes_are_read_if_there_are_any(work: Path) -> None:
    (work / "a.txt").write_text("two\n")
    (work / "b.txt").write_text("two\n")
    git(work, "add", "a.txt")
    changes = await changes_of(work)
    assert changes and changes.staged
    assert "a/a.txt" in changes.diff and "+two" in changes.diff and "b.txt" not in changes.diff
    assert [line.partition(" ")[2] for line in changes.subjects] == ["shop: add two files"]


async def test_without_staged_changes_unstaged_changes_are_read_and_untracked_files_only_listed(
    work: Path,
) -> None:
    (work / "b.txt").write_text("two\n")
    (work / "neu é.txt").write_text("secret of a new file\n")
    changes = await changes_of(work)
    assert changes and not changes.staged
    assert "a/b.txt" in changes.diff and "a new file" not in changes.diff
    assert changes.new_files == ("neu é.txt",)


async def test_an_excluded_file_is_listed_without_its_diff(work: Path) -> None:
    (work / "a.txt").write_text("two\n")
    (work / ":(x) .env").write_text("PASSWORD=swordfish\n")
    git(work, "add", ".")
    changes = await changes_of(work, ":(x) .env")
    assert changes and changes.omitted == [":(x) .env"]
    assert "a/a.txt" in changes.diff and "swordfish" not in changes.diff
    git(work, "reset", "-q", "a.txt")
    changes = await changes_of(work, ":(x) .env")
    assert changes and not changes.diff


async def test_a_renamed_file_of_secrets_is_not_read(work: Path) -> None:
    (work / ".env").write_text("PASSWORD=swordfish\n" * 20)
    git(work, "add", ".")
    git(work, "commit", "-qm", "x")
    (work / ".env").write_text("PASSWORD=swordfish\n" * 19 + "other=1\n")
    git(work, "mv", ".env", "deploy.env")
    git(work, "add", ".")
    changes = await changes_of(work, ".env", "deploy.env")
    assert changes and set(changes.omitted) == {".env", "deploy.env"} and not changes.diff


async def test_staged_files_are_read_before_the_first_commit_and_no_changes_give_no_result(
    tmp_path: Path,
) -> None:
    git(tmp_path, "init", "-q", "new")
    assert await changes_of(tmp_path / "new") is None
    (tmp_path / "new" / "a.txt").write_text("one\n")
    git(tmp_path / "new", "add", ".")
    changes = await changes_of(tmp_path / "new")
    assert changes and "+one" in changes.diff and not changes.subjects


async def test_only_changes_below_the_folder_are_read(work: Path) -> None:
    (work / "sub").mkdir()
    (work / "sub" / "c.txt").write_text("c\n")
    (work / "a.txt").write_text("two\n")
    git(work, "add", ".")
    changes = await changes_of(work / "sub")
    assert changes and "b/c.txt" in changes.diff and "a.txt" not in changes.diff


async def test_programs_configured_in_the_repository_are_not_run_to_read_changes(work: Path) -> None:
    ran = work.parent / "ran"
    (work / ".gitattributes").write_text("*.txt diff=bad\n")
    git(work, "config", "diff.bad.textconv", f"touch {ran}; cat")
    git(work, "config", "diff.external", f"touch {ran}")
    git(work, "config", "core.fsmonitor", f"touch {ran}")
    (work / "a.txt").write_text("two\n")
    changes = await changes_of(work)
    assert changes and "+two" in changes.diff and not ran.exists()


async def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AppError, match="no git repository"):
        await changes_of(tmp_path)


def test_a_long_diff_is_shortened_without_shortening_small_files() -> None:
    long = "diff --git a/lock b/lock\n" + "+x\n" * 10_000
    short = "diff --git a/a.py b/a.py\n+import os\n"
    cut = shorten_diff(long + short + long, 3_000)
    assert short in cut and len(cut) < 3_300 and cut.count("not shown") == 2
    assert shorten_diff(short, 3_000) == short


def test_the_commit_message_prompt_contains_subjects_draft_and_redacted_changes() -> None:
    changes = GitChanges("diff --git a b\n+swordfish", True, ("new.py",), (".env",), ("abc shop: add",))
    rules, asked = commit_messages(changes, " Fixes #1 ", lambda text: text.replace("swordfish", "***"))
    assert "72 characters" in rules.text
    assert asked.text == (
        "Subjects of the last commits:\n- shop: add\n\nNew files that git does not track yet:\n- new.py\n\n"
        "Changed files that are not shown, because they may hold secrets:\n- .env\n\n"
        "The user has begun this message:\nFixes #1\n\n"
        "Staged changes:\n<changes>\ndiff --git a b\n+***\n</changes>"
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("shop: add\n\nWhy.\n", "shop: add\n\nWhy."),
        ("```text\nshop: add\n```", "shop: add"),
        ("shop: add  \r\n\r\nWhy. ", "shop: add\n\nWhy."),
        ("\x1b[31mshop\x1b[0m: add", "shop: add"),
        (" \n", ""),
    ],
)
def test_a_commit_message_from_the_model_is_stripped_of_fences_escapes_and_blanks(
    answer: str, expected: str
) -> None:
    assert clean_message(answer) == expected
