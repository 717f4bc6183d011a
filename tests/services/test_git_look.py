"""Repository settings that make git run programs during a read: the command needs approval."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent_ls.environments.effects import CommandEffect
from agent_ls.policy.decide import judge
from agent_ls.policy.situation import Allow, Ask, Judgement, Mode, Situation
from agent_ls.services.permissions.paths import places_of, read_effect_facts
from tests.support.git import git

pytestmark = pytest.mark.req("X7")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x")
    return folder


def judged(command: str, work: Path, mode: Mode = "ask") -> Judgement:
    places = places_of(str(work))
    effect = CommandEffect(command, str(work))
    seen = read_effect_facts(effect, places)
    situation = Situation(
        mode, places, resolved=seen.resolved, leads=seen.leads, doubt=seen.doubt, config=seen.config
    )
    return judge(effect, situation)


def test_git_reads_in_an_ordinary_repository_need_no_approval(work: Path) -> None:
    git(work, "config", "core.fsmonitor", "false")
    git(work, "config", "filter.lfs.process", "git-lfs filter-process")
    for command in ("git status", "git diff", "git log -p"):
        assert isinstance(judged(command, work), Allow), command


@pytest.mark.parametrize(
    "name",
    ["core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "filter.x.clean", "core.pager",
     "pager.log", "gpg.program", "include.path", "merge.x.driver", "log.diffmerges", "hook.x.command"],
)  # fmt: skip
def test_a_repository_setting_that_runs_a_program_needs_approval(name: str, work: Path) -> None:
    git(work, "config", name, "./evil")
    found = judged("git status", work)
    assert isinstance(found, Ask) and found.needs_approval_in_every_mode
    assert name in found.reason


def test_a_hook_run_by_git_status_needs_approval(work: Path) -> None:
    (work / ".git/hooks").mkdir(exist_ok=True)
    (work / ".git/hooks/post-index-change").write_text("#!/bin/sh\ntouch made\n")
    assert isinstance(judged("git status", work), Ask)


def test_git_settings_in_a_common_folder_or_a_gitdir_target_are_checked(work: Path, tmp_path: Path) -> None:
    (work / "evil").mkdir()
    (work / "evil/config").write_text('[core]\n\tfsmonitor = "./x"\n')
    (work / ".git/commondir").write_text("../evil\n")
    assert isinstance(judged("git status", work), Ask)

    (work / ".git/commondir").unlink()
    (work / ".git").rename(work / "moved")
    (work / ".git").write_text("gitdir: moved\n")
    assert isinstance(judged("git status", work), Allow)
    (work / "moved/config").write_text("[core]\n\tfsmonitor=./x\n")
    assert isinstance(judged("git status", work), Ask)


def test_a_git_folder_of_another_repository_needs_approval_unless_it_is_a_linked_worktree(
    work: Path, tmp_path: Path
) -> None:
    git(work, "worktree", "add", "-q", str(tmp_path / "other"))
    assert isinstance(judged("git log", tmp_path / "other"), Allow)

    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {work}/.git\n")
    assert isinstance(judged("git log", stranger), Ask)
    (stranger / ".git").unlink()
    (stranger / ".git").symlink_to(work / ".git")
    assert isinstance(judged("git log", stranger), Ask)


@pytest.mark.parametrize(
    "make", ["mkdir .git", "ln -s nowhere .git", "mkdir -p .git/objects .git/refs; echo x > .git/HEAD"]
)
def test_an_invalid_nested_git_folder_does_not_hide_the_settings_of_the_parent_repository(
    make: str, work: Path
) -> None:
    git(work, "config", "core.fsmonitor", f"touch {work}/made; false")
    (work / "sub").mkdir()
    subprocess.run(["sh", "-c", make], cwd=work / "sub", check=True)
    subprocess.run(["git", "status"], cwd=work / "sub", check=True, stdout=subprocess.DEVNULL)
    assert (work / "made").exists()
    assert isinstance(judged("cd sub && git status", work), Ask)


@pytest.mark.parametrize("head", ["file", "link"])
def test_a_bare_repository_whose_objects_are_in_another_folder_needs_approval(head: str, work: Path) -> None:
    evil = work / "evil"
    (evil / "parts/objects").mkdir(parents=True)
    (evil / "parts/refs").mkdir()
    (evil / "commondir").write_text("parts")
    if head == "file":
        (evil / "HEAD").write_text("ref: refs/heads/x\n")
    else:
        (evil / "HEAD").symlink_to("refs/heads/x")
    found = subprocess.check_output(["git", "rev-parse", "--git-dir"], cwd=evil, text=True)
    assert found == ".\n"
    assert isinstance(judged("cd evil && git status", work), Ask)


def test_settings_of_a_repository_behind_a_symlinked_folder_are_checked(work: Path) -> None:
    git(work, "init", "-q", "other")
    (work / "other/sub").mkdir()
    (work / "link").symlink_to("other/sub")
    assert isinstance(judged("git -C link status", work), Allow)
    git(work / "other", "config", "core.fsmonitor", "./evil")
    assert isinstance(judged("git -C link status", work), Ask)


def test_a_section_name_with_unusual_line_separators_is_parsed_as_git_does(work: Path) -> None:
    for separator in ("\f", "\v", "\x1c", "\x85", "\u2028"):
        (work / ".git/config").write_text(f'[filter "a{separator}b"]\n\tclean = ./evil\n', encoding="utf-8")
        assert isinstance(judged("git status", work), Ask), separator


@pytest.mark.parametrize(
    "name", ["core.worktree", "blame.ignoreRevsFile", "core.attributesFile", "mailmap.file"]
)
def test_a_setting_that_makes_git_read_outside_the_workspace_needs_approval(name: str, work: Path) -> None:
    git(work, "config", name, str(work.parent))
    found = judged("git grep x", work)
    assert isinstance(found, Ask) and name.lower() in found.reason


def test_a_partial_clone_needs_approval_if_a_program_fetches_objects(work: Path) -> None:
    git(work, "config", "remote.origin.promisor", "true")
    git(work, "config", "remote.origin.url", "https://example.com/x.git")
    assert isinstance(judged("git log -p", work), Allow)
    for name, value in (
        ("remote.origin.url", "ext::./evil"),
        ("remote.origin.uploadpack", "./evil"),
        ("core.sshCommand", "./evil"),
    ):
        git(work, "config", name, value)
        found = judged("git log -p", work)
        assert isinstance(found, Ask) and name.lower() in found.reason
        git(work, "config", "--unset", name)


@pytest.mark.parametrize("is_split", [False, True], ids=["one index", "split index"])
def test_settings_of_a_nested_repository_are_checked_only_if_git_status_reads_the_repository(
    is_split: bool, work: Path
) -> None:
    inner = work / "folder/inner"
    git(work, "init", "-q", str(inner))
    (inner / "a.txt").write_text("a\n")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "x")
    git(inner, "config", "core.fsmonitor", f"touch {work}/made; false")
    made = work / "made"
    for command in (["status"], ["diff"], ["log", "-p"], ["ls-files", "-o"], ["status", "--ignored"]):
        subprocess.run(["git", *command], cwd=work, check=True, stdout=subprocess.DEVNULL)
    assert not made.exists()
    assert isinstance(judged("git status", work), Allow)

    (work / "other.txt").write_text("")
    git(work, "add", ".")
    if is_split:
        git(work, "update-index", "--split-index")
    subprocess.run(["git", "status"], cwd=work, check=True, stdout=subprocess.DEVNULL)
    assert made.exists()
    assert isinstance(judged("git status", work), Ask)


def test_a_setting_that_makes_git_check_signatures_needs_approval(work: Path) -> None:
    git(work, "config", "format.pretty", "%G? %s")
    assert isinstance(judged("git log", work), Ask)


def test_a_git_command_with_two_directory_options_needs_approval(work: Path) -> None:
    (work / "sub").mkdir()
    assert isinstance(judged("git -C sub status", work), Allow)
    assert isinstance(judged("git -C . -C sub status", work), Ask)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("cargo tree --frozen", ".cargo"),
        ("cargo --version", "rust-toolchain.toml"),
        ("npm ls", ".npmrc"),
        ("npm --version", ".npmrc"),
        ("npm --help", ".npmrc"),
        ("pip freeze", ".hg"),
        ("go version", "go.mod"),
        ("go env GOPATH", "go.work"),
    ],
)
def test_a_read_only_command_needs_approval_if_a_project_file_can_change_its_program(
    command: str, name: str, work: Path
) -> None:
    assert isinstance(judged(command, work), Allow)
    (work / name).write_text("")
    found = judged(command, work)
    assert isinstance(found, Ask) and name in found.reason
    assert isinstance(judged(command, work, "full"), Allow)


def test_a_file_name_that_looks_like_an_option_needs_approval(work: Path) -> None:
    assert isinstance(judged("cat *.txt", work), Allow)
    (work / "-n.txt").write_text("")
    assert isinstance(judged("cat *.txt", work), Ask)


def test_a_parent_path_behind_a_symlink_is_resolved_as_the_operating_system_does(work: Path) -> None:
    (work / "here").symlink_to(".")
    (work.parent / "b.txt").write_text("outside\n")
    (work / "b.txt").write_text("inside\n")
    for command in ("cat here/../b.txt", "cd here && cat ../b.txt", "cat h*/../b.txt", "cat < here/../b.txt"):
        found = judged(command, work)
        assert isinstance(found, Ask) and "outside the workspace" in found.reason, command
    assert isinstance(judged("cat b.txt", work), Allow)


def test_a_shell_pattern_in_the_pattern_argument_of_grep_is_expanded_and_checked(work: Path) -> None:
    (work.parent / "secret.txt").write_text("outside\n")
    (work / "link").symlink_to("../secret.txt")
    assert isinstance(judged("grep -v ./* a.txt", work), Ask)
    assert isinstance(judged("grep -v x a.txt", work), Allow)


def test_a_shell_pattern_outside_the_workspace_needs_approval_without_expansion(work: Path) -> None:
    assert read_effect_facts(CommandEffect("ls /*/*/*/*", str(work)), places_of(str(work))).doubt == ""
    assert isinstance(judged("ls /*/*/*/*", work), Ask)


EVIL = '[core]\n\tfsmonitor = "touch made; false"\n'


def is_asked_and_runs_it(work: Path, command: str = "git status") -> bool:
    """Run the command, which must run the configured program, and return whether the policy asks for approval."""
    subprocess.run(["sh", "-c", command], cwd=work, check=False)
    assert list(work.rglob("made")), "git did not run the program"
    return isinstance(judged(command, work), Ask)


def test_included_file_with_the_name_of_a_harmless_program_needs_approval(work: Path) -> None:
    (work / ".git/cat").write_text(EVIL)
    with (work / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = cat\n")
    assert is_asked_and_runs_it(work)


def test_common_folder_whose_name_begins_with_a_blank_needs_approval(work: Path) -> None:
    git_folder = work / ".git"
    (work / "plain").mkdir()
    (git_folder / "commondir").write_text(" evil\n")
    for name in ("objects", "refs", "config"):
        (git_folder / " evil").mkdir(exist_ok=True)
        (git_folder / name).rename(git_folder / " evil" / name)
    with (git_folder / " evil/config").open("a") as file:
        file.write(EVIL)
    assert is_asked_and_runs_it(work)


def test_bare_repository_next_to_an_empty_git_folder_needs_approval(work: Path) -> None:
    bare = work / "sub"
    git(work, "clone", "-q", "--bare", ".", "sub")
    (bare / ".git").mkdir()
    (bare / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n" + EVIL
    )
    assert is_asked_and_runs_it(work, "cd sub && git status")


def test_extension_of_git_lfs_needs_approval(work: Path) -> None:
    git(work, "config", "lfs.extension.x.clean", "./evil %f")
    assert isinstance(judged("git diff", work), Ask)


LINKS = {
    "packed-refs": "git status", "shallow": "git log", "info/grafts": "git log", "info/attributes": "git diff",
    "config.worktree": "git branch", "rebase-apply/head-name": "git status", "BISECT_START": "git status",
    "worktrees/w/gitdir": "git worktree list", "rebase-merge/done": "git status", "logs/HEAD": "git reflog",
}  # fmt: skip
"""Files of a repository whose lines git prints, also where it cannot read them, with a command that does."""


@pytest.mark.req("X5")
@pytest.mark.parametrize("name", LINKS)
def test_a_file_of_the_repository_that_is_a_link_to_outside_needs_approval(name: str, work: Path) -> None:
    (work.parent / "outside.txt").write_text("the-secret-outside\n")
    assert isinstance(judged(LINKS[name], work), Allow)
    place = work / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(work.parent / "outside.txt")
    found = judged(LINKS[name], work)
    assert isinstance(found, Ask) and str(place) in found.reason


def test_a_link_within_the_repository_needs_no_approval(work: Path) -> None:
    (work / ".git" / "refs" / "heads" / "same").symlink_to(work / ".git" / "HEAD")
    (work / ".git" / "hooks" / "linked").symlink_to(work.parent)
    assert isinstance(judged("git status", work), Allow)


def test_a_link_to_outside_in_a_nested_repository_needs_approval(work: Path) -> None:
    inner = work / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-qm", "x", "--allow-empty")
    git(work, "add", "inner")
    assert isinstance(judged("git status", work), Allow)
    (inner / ".git" / "packed-refs").symlink_to(work.parent / "outside.txt")
    assert isinstance(judged("git status", work), Ask)
