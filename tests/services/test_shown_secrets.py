"""Commands that reveal a file of secrets without naming it, and git commands that do so, need approval."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.effects import CommandEffect
from agent_ls.environments.local import LocalEnvironment
from agent_ls.environments.local.git_index import tracked_files
from agent_ls.environments.wrappers.bounded import BoundedEnvironment
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Judgement, Situation
from agent_ls.services.permissions.paths import PathBounds, places_of, read_effect_facts
from agent_ls.services.settings.model import PathSettings
from tests.support.git import git

pytestmark = pytest.mark.req("X6")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "a.py").write_text("TOKEN = 1\n")
    return work


@pytest.fixture
def repository(work: Path) -> Path:
    git(work, "init", "-q")
    (work / ".env").write_text("TOKEN=first\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    return work


def judged(text: str, work: Path) -> Judgement:
    places = places_of(str(work), settings=PathSettings(temporary="off"), state=str(work.parent / "state"))
    effect = CommandEffect(text, str(work))
    seen = read_effect_facts(effect, places)
    situation = Situation(
        "ask", places, resolved=seen.resolved, leads=seen.leads, doubt=seen.doubt, config=seen.config
    )
    return judge(effect, situation)


def asked_for(text: str, work: Path, name: str = "secrets") -> None:
    found = judged(text, work)
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode and name in found.reason, (
        f"{text}: {found}"
    )


READING_FOLDERS = [
    "grep -r TOKEN .",
    "grep -rn TOKEN",
    "grep -rl x . | xargs cat",
    "rg --hidden TOKEN",
    "rg -uu TOKEN",
]


@pytest.mark.parametrize("text", [*READING_FOLDERS, "grep TOKEN .env", "cat .e*", "head -5 .en?"])
def test_a_command_that_reads_a_folder_with_a_secret_file_needs_approval(text: str, work: Path) -> None:
    (work / ".env").write_text("TOKEN=1\n")
    asked_for(text, work, "" if "xargs" in text else "secrets")


@pytest.mark.parametrize("text", ["grep -r TOKEN .", "grep -rn TOKEN src", "rg TOKEN"])
def test_search_of_a_folder_without_secrets_needs_no_approval(text: str, work: Path) -> None:
    assert isinstance(judged(text, work), Allow)


@pytest.mark.parametrize("text", ["rg TOKEN", "grep -rn TOKEN src", "grep -rn TOKEN --include=*.py ."])
def test_search_that_leaves_the_secret_file_out_needs_no_approval(text: str, work: Path) -> None:
    (work / ".env").write_text("TOKEN=1\n")
    assert isinstance(judged(text, work), Allow)


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("grep -rn nothing .", False),
        ("grep -rnE 'def |class ' .", False),
        ("grep -rn nothing; ls", False),
        ("grep -rn -e nothing -e TOKEN .", True),
        ("grep -rvn nothing .", True),
        ("grep -rni token .", True),
        ("grep -rnA3 nothing .", False),
        ("egrep -r 'T(O|o)KEN' .", True),
        ("fgrep -r 'T(O|o)KEN' .", False),
        ("grep -rn nothing . && grep -rn TOK .", True),
        ("grep -rP '(a+)+$' .", False),
        ("grep -r '' .", True),
        ("grep -rn '\\xe9' .", False),
        ("grep -r 'k.y' .", True),
        ("grep -rn nothing . | xargs cat", True),
        ("grep -rn nothing .; tar -cO .", True),
    ],
)
def test_a_search_by_grep_is_asked_about_only_if_it_would_print_secrets(
    text: str, is_shown: bool, work: Path
) -> None:
    (work / ".env").write_bytes(b"TOKEN=1\nk\xe9y=2\n")
    assert isinstance(judged(text, work), Ask) == is_shown, judged(text, work)


def test_rg_needs_approval_for_a_visible_secret_file_unless_it_is_ignored(work: Path) -> None:
    (work / "server.key").write_text("TOKEN\n")
    asked_for("rg TOKEN", work)
    git(work, "init", "-q")
    (work / ".gitignore").write_text("*.key\n")
    assert isinstance(judged("rg TOKEN", work), Allow)
    asked_for("rg --no-ignore TOKEN", work)


@pytest.mark.parametrize(
    "text",
    [
        "git show",
        "git show HEAD",
        "git log -p",
        "git grep TOKEN",
        "git log -S first",
        "git show -m --stat -p",
    ],
)
def test_git_command_that_prints_content_of_a_tracked_secret_file_needs_approval(
    text: str, repository: Path
) -> None:
    asked_for(text, repository)


@pytest.mark.parametrize(
    "text",
    [
        "git log",
        "git show --stat",
        "git show HEAD:src/a.py",
        "git status",
        "git diff",
        "git diff HEAD",
        "git diff HEAD -- .",
        "git grep -n nothing",
        "git log -p -- src",
        "git grep -l T",
    ],
)
def test_git_command_that_reveals_no_content_of_the_secret_file_needs_no_approval(
    text: str, repository: Path
) -> None:
    assert isinstance(judged(text, repository), Allow), text


def test_a_diff_needs_approval_after_a_change_of_the_tracked_secret_file(repository: Path) -> None:
    (repository / ".env").write_text("TOKEN=second value\n")
    asked_for("git diff", repository)
    assert isinstance(judged("git diff -- src", repository), Allow)


def test_a_secret_file_named_by_its_object_id_needs_approval(repository: Path) -> None:
    object_id = git(repository, "rev-parse", "HEAD:.env")
    asked_for(f"git cat-file -p {object_id}", repository)
    asked_for(f"git show {object_id[:8]}", repository)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_git_index_of_each_version_and_hash_is_read_like_git_ls_files(
    version: str, kind: str, work: Path
) -> None:
    git(work, "init", "-q", f"--object-format={kind}")
    for number in range(30):
        (work / "src" / f"file-{number}-{'x' * number}.py").write_text(str(number))
    git(work, "add", ".")
    git(work, "update-index", f"--index-version={version}")
    if version == "3":
        git(work, "update-index", "--skip-worktree", "src/a.py")
    listed = [line.split(maxsplit=3) for line in git(work, "ls-files", "-s").splitlines()]
    found = [(it.object_id, os.path.relpath(it.path, work)) for it in tracked_files(str(work / "src"))]
    assert len(found) == 31 and found == [(words[1], words[3]) for words in listed]


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\5short", b"other", b"\xff" * 200])
def test_damaged_git_index_yields_no_tracked_files(data: bytes, work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "index").write_bytes(data)
    assert [*tracked_files(str(work))] == []


def test_tracked_files_of_a_worktree_are_read_from_the_worktree_index(repository: Path) -> None:
    other = repository.parent / "other"
    git(repository, "worktree", "add", "-q", str(other))
    assert [os.path.basename(it.path) for it in tracked_files(str(other / "src"))] == [".env", "a.py"]


@pytest.fixture
def credential() -> Path:
    keys = Path.home() / ".ssh"
    keys.mkdir()
    (keys / "id").write_text("TOKEN of mine\n")
    return keys / "id"


async def test_the_search_tool_leaves_out_a_hard_link_of_a_credential(work: Path, credential: Path) -> None:
    os.link(credential, work / "notes.txt")
    place = BoundedEnvironment(LocalEnvironment(str(work)), PathBounds(places_of(str(work))))
    found = await place.grep("TOKEN", ".", GrepOptions())
    assert [line.path for line in found.lines] == ["src/a.py"]


@pytest.mark.parametrize("text", ["cat notes.txt", "cat n*", "grep -r TOKEN .", "rg TOKEN"])
def test_a_command_that_reads_a_hard_link_of_a_credential_needs_approval(
    text: str, work: Path, credential: Path
) -> None:
    os.link(credential, work / "notes.txt")
    asked_for(text, work, "is a hard link to a file that contains credentials")


def test_recursive_search_of_a_folder_with_too_many_files_needs_approval(work: Path) -> None:
    many = work / "many"
    many.mkdir()
    for number in range(20_001):
        (many / str(number)).touch()
    asked_for("grep -r TOKEN .", work, "too many files")
    shutil.rmtree(many)


def test_a_command_line_with_a_program_named_dash_dash_needs_approval(work: Path) -> None:
    assert isinstance(judged("find . | xargs -0 ls; -- x", work), Ask)


SETTINGS = """[remote "origin"]
\turl = https://host/a.git
[http "https://host/"]
\textraheader = AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hz
"""
READING_SETTINGS = [
    "cat .git/config", "grep url .git/*", "head .git/config", "grep -rn url .", "rg --hidden url",
    "cd .git && cat config",
]  # fmt: skip


@pytest.mark.parametrize("text", READING_SETTINGS)
def test_settings_of_git_with_credentials_count_as_a_file_with_secrets(text: str, work: Path) -> None:
    git(work, "init", "-q")
    assert isinstance(judged(text, work), Allow), "no credentials yet"
    (work / ".git" / "config").write_text(SETTINGS)
    asked_for(text, work)


def test_reading_settings_of_git_with_credentials_by_a_tool_needs_approval(work: Path) -> None:
    git(work, "init", "-q")
    places = places_of(str(work), settings=PathSettings(temporary="off"), state=str(work.parent / "state"))
    path = str(work / ".git" / "config")
    assert not places.is_secret(path)
    (work / ".git" / "config").write_text(f'[remote "o"]\nurl = https://u:{"k3y" * 4}@host/a\n')
    assert places.is_secret(path) and not places.is_secret(str(work / "config"))


@pytest.fixture
def history(work: Path) -> Path:
    """A repository with a `.env` that is no longer tracked, and files that `.agent-ls-ignore` names."""
    git(work, "init", "-q")
    (work / "private").mkdir()
    (work / "private" / "plan.md").write_text("TOKEN plan\n")
    (work / ".env").write_text("TOKEN=first\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    git(work, "tag", "plan", git(work, "rev-parse", "HEAD:private/plan.md"))
    git(work, "tag", "-m", "note", "noted", "HEAD")
    git(work, "rm", "-q", "--cached", ".env")
    git(work, "commit", "-qm", "two")
    (work / "src" / "a.py").write_text("TOKEN = 2\n")
    git(work, "commit", "-qam", "three")
    (work / ".agent-ls-ignore").write_text("private/\n")
    (work / "private" / "plan.md").write_text("TOKEN changed\n")
    return work


SHOWS_HIDDEN = [
    "git diff", "git diff HEAD", "git diff HEAD~2", "git -C src diff", "git diff -U1 HEAD", "git diff --word-diff",
    "git show HEAD~1", "git show HEAD~2", "git show HEAD~2 HEAD", "git log -p", "git log --patch --oneline",
    "git log -1 -p HEAD~1", "git show noted",
    "git log -S TOKEN", "git log --all -p", "git log -p --format=%h", "git show plan", "git cat-file -p plan",
    "git cat-file -p HEAD:private/plan.md", "git show HEAD:private/plan.md", "git blame private/plan.md",
    "git blame HEAD~1 -- private/plan.md", "git grep TOKEN", "git grep -n TOKEN HEAD~2", "git grep TOKEN -- private",
    "git diff-tree -p HEAD~1", "git diff-tree -p HEAD~2 HEAD", "cd src && git show HEAD:private/plan.md",
    "git diff HEAD | head", "git show HEAD~1 --stat -p", "git log -p -- .env", "git diff HEAD~2 HEAD -- .env",
]  # fmt: skip
SHOWS_NOTHING_HIDDEN = [
    "git show", "git show HEAD", "git log", "git log -p -1", "git diff HEAD -- src", "git diff --stat",
    "git log --stat",
    "git diff HEAD~1 HEAD", "git grep TOKEN -- src", "git grep -l TOKEN", "git cat-file -p noted",
    "git cat-file -p HEAD", "git show HEAD:src/a.py", "git blame src/a.py", "git diff-tree -p HEAD",
    "git log -p HEAD~1..",
    "git show --name-only HEAD~2", "git cat-file -t plan", "git log -L 1,1:src/a.py", "git grep -n changed HEAD",
    "git diff HEAD~1 HEAD -- src/a.py", "git -C src show HEAD", "git stash list", "git status",
]  # fmt: skip


@pytest.mark.parametrize("text", SHOWS_HIDDEN)
def test_a_git_command_that_shows_a_hidden_file_is_asked_about_or_refused(text: str, history: Path) -> None:
    assert not isinstance(judged(text, history), Allow), text


@pytest.mark.parametrize("text", SHOWS_NOTHING_HIDDEN)
def test_a_git_command_that_shows_no_hidden_file_is_allowed(text: str, history: Path) -> None:
    assert isinstance(found := judged(text, history), Allow), (text, found)


@pytest.mark.parametrize("text", ["git stash show -p", "git stash list -p", "git stash show -p stash@{0}"])
def test_a_stash_with_a_hidden_file_is_not_shown(text: str, history: Path) -> None:
    git(history, "stash")
    assert not isinstance(judged(text, history), Allow), text
    git(history, "stash", "drop")
    (history / "src" / "a.py").write_text("TOKEN = 3\n")
    git(history, "stash")
    assert isinstance(judged(text, history), Allow), text


def test_a_merge_that_changes_a_hidden_file_is_not_shown(history: Path) -> None:
    git(history, "stash")
    git(history, "checkout", "-qb", "topic", "HEAD~1")
    (history / "private" / "plan.md").write_text("TOKEN topic\n")
    git(history, "commit", "-qam", "four")
    git(history, "checkout", "-q", "-")
    (history / "private" / "plan.md").write_text("TOKEN mine\n")
    git(history, "commit", "-qam", "five")
    with suppress(subprocess.CalledProcessError):
        git(history, "merge", "-q", "topic")
    (history / "private" / "plan.md").write_text("TOKEN both\n")
    git(history, "commit", "-qam", "merge")
    for text in ("git show", "git log -p -m -1", "git log -c -p -1", "git show -m"):
        assert not isinstance(judged(text, history), Allow), text


LISTING = [
    "find . -name '*.py' | xargs grep TOKEN",
    "find . -name '*.py' | grep -v test | sort | xargs head -3",
    "find . -name '*.py' -print0 | xargs -0 cat",
]


@pytest.mark.parametrize("text", LISTING)
def test_listed_files_are_read_unasked_if_no_name_is_split_and_no_link_leads_away(
    text: str, work: Path
) -> None:
    (work / ".env").write_text("TOKEN=1\n")
    (work / "src" / "b.py").symlink_to("a.py")
    assert isinstance(judged(text, work), Allow)

    (work.parent / "outside.py").write_text("TOKEN = 2\n")
    (work / "src" / "c.py").symlink_to("../../outside.py")
    asked_for(text, work, "c.py")


@pytest.mark.parametrize("text", [LISTING[0], "find . | xargs cat", "git ls-files | xargs head"])
@pytest.mark.parametrize("name", ["c.py", "a b.py", "../.env"])
def test_a_secret_or_an_unusual_name_below_a_listed_folder_is_asked_about(
    text: str, name: str, repository: Path
) -> None:
    if name == "c.py":
        (repository / "src" / name).symlink_to("../.env")
    else:
        (repository / "src" / name).write_text("TOKEN=1\n")
    is_filtered = name == "../.env" and "*.py" in text
    assert isinstance(judged(text, repository), Allow) == is_filtered
