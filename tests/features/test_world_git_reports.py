"""More reports about git around an agent: settings that break its own commands, locks, worktrees, and ignore files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import pytest

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.local import LocalEnvironment
from agent_ls.loop.events.types import ToolCallEnd
from agent_ls.services.review.decision_request import Selection
from agent_ls.sessions.rollback import RollbackRequest
from tests.features.test_git_setting_reports import changes_of, state_of
from tests.features.test_worktrees import OLD, call, edit, pending, repository, shell, tree
from tests.sessions.test_uncommitted_work import changed
from tests.support.fake_provider import text
from tests.support.git import git
from tests.support.reports import reported
from tests.support.session_rig import running

pytestmark = pytest.mark.req("H23")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project", a_txt=OLD)


def submodule(tmp_path: Path) -> Path:
    part = repository(tmp_path / "part", a_txt=OLD)
    main = repository(tmp_path / "project", m_txt="1\n")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib")
    git(main, "commit", "-qm", "part")
    return main / "lib"


@pytest.mark.report("microsoft/vscode#329949")
async def test_a_worktree_of_a_submodule_is_outside_of_the_folders_of_git(tmp_path: Path) -> None:
    folder = submodule(tmp_path)
    first, second = edit("e", "two", "TWO")
    async with running(tmp_path, [first, second, text("ok")]) as rig:
        talk = await rig.talk("edits", workspace_folder=str(folder), worktree="current", say="go")
        assert ".git" not in tree(talk).parts and tree(talk).is_relative_to(tmp_path / "state")
        assert (folder / "a.txt").read_text() == OLD.replace("two", "TWO")
    modules = tmp_path / "project/.git/modules"
    assert not [it for it in modules.rglob("*") if it.name == "a.txt"]


@pytest.mark.report("basnijholt/agent-cli#487")  # fmt: skip
async def test_a_worktree_of_a_worktree_of_a_submodule_has_its_files(tmp_path: Path) -> None:
    tree_of_part = tmp_path / "tree-of-part"
    git(submodule(tmp_path), "worktree", "add", "-q", "-b", "side", str(tree_of_part))
    (tree_of_part / "a.txt").write_text("side\ntwo\n")
    async with running(tmp_path, [edit("e", "two", "TWO"), text("ok")]) as rig:
        talk = await rig.talk("edits", workspace_folder=str(tree_of_part), worktree="current", say="go")
        assert tree(talk).is_relative_to(tmp_path / "state") and ".git" not in tree(talk).parts
        assert (tree(talk) / "a.txt").read_text() == "side\nTWO\n"
    assert not list((tmp_path / "project/.git/modules").rglob("a.txt"))


@pytest.mark.report("Emanuele-web04/synara#16")
@pytest.mark.report("github/app#3815")
@pytest.mark.report("anthropics/claude-code#88967")
@pytest.mark.parametrize("detached", [False, True])
async def test_a_worktree_begins_with_the_commit_of_the_user(
    project: Path, tmp_path: Path, detached: bool
) -> None:
    git(project, "checkout", "-q", "-b", "topic")
    git(project, "commit", "-q", "--allow-empty", "-m", "newest")
    if detached:
        git(project, "checkout", "-q", "--detach")
    branch = git(project, "branch", "--list")
    async with running(tmp_path, [text("ok")]) as rig:
        talk = await rig.talk("edits", worktree="current", say="go")
        assert git(tree(talk), "log", "-1", "--format=%s") == "newest"
    assert git(project, "branch", "--list") == branch


@pytest.mark.report("NousResearch/hermes-agent#52887")
@pytest.mark.report("agentty-xyz/agentty#560")
@pytest.mark.report("aaronsb/agent-ways#19")
async def test_a_lock_of_another_git_is_no_obstacle_and_stays(project: Path, tmp_path: Path) -> None:
    lock = project / ".git/index.lock"
    lock.touch()
    index = (project / ".git/index").read_bytes()
    (project / "a.txt").write_text("mine\n")
    os.utime(project / "a.txt", (1, 1))
    state = await state_of(project)
    changes = await changes_of(project)
    assert (state.changed, bool(changes and "+mine" in changes.diff)) == (1, True)
    found, _ = await changed(project, lambda: (project / "a.txt").write_text("lost\n"))
    assert [(it.path, it.before) for it in found.states] == [(str(project / "a.txt"), b"mine\n")]
    async with running(
        tmp_path, [*map(list, [edit("e", "lost", "two")[:1], edit("e", "lost", "two")[1:]]), text("ok")]
    ) as rig:
        talk = await rig.talk("edits", worktree="current", say="go")
        assert not talk.of(ToolCallEnd)[-1].is_error
    assert lock.exists() and (project / ".git/index").read_bytes() == index


@pytest.mark.report("NousResearch/hermes-agent#11261")
async def test_signing_and_hooks_of_the_user_are_not_used_for_the_agents_own_git(
    project: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "called"
    program = tmp_path / "sign"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\nexit 1\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in (
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-applypatch",
    ):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    for name, value in {
        "commit.gpgsign": "true",
        "tag.gpgsign": "true",
        "gpg.program": str(program),
        "core.hooksPath": str(hooks),
        "core.fsmonitor": str(program),
    }.items():
        git(project, "config", name, value)
    (project / "b.txt").write_text("untracked\n")
    async with running(
        tmp_path, [*[[it] for it in edit("e", "two", "TWO")], [shell("s", "rm b.txt")], text("ok")]
    ) as rig:
        talk = await rig.talk("full", worktree="current", say="go")
        assert not any(it.is_error for it in talk.of(ToolCallEnd))
    assert (project / "a.txt").read_text() == OLD.replace("two", "TWO")
    assert not mark.exists(), mark.read_text()


@pytest.mark.report("RooCodeInc/Roo-Code#8863")
async def test_what_a_command_changes_in_a_repository_within_is_taken_back(
    project: Path, tmp_path: Path
) -> None:
    inner = repository(project / "inner", x_txt="1\n")
    (inner / "x.txt").write_text("uncommitted\n")
    async with running(
        tmp_path,
        [[shell("s", "echo lost > inner/x.txt; echo lost > a.txt; echo new > inner/n.txt")], text("ok")],
    ) as rig:
        talk = await rig.talk("full", say="go")
        turn = next(it.turn_id for it in talk.envelopes if it.turn_id)
        await rig.manager.revert(talk.session_id, RollbackRequest(turn, conversation=False, files="restore"))
    assert (inner / "x.txt").read_text() == "uncommitted\n" and (project / "a.txt").read_text() == OLD
    assert not (inner / "n.txt").exists()


@pytest.mark.report("Aider-AI/aider#3891")
async def test_changes_of_a_worktree_join_those_that_the_user_made_meanwhile(
    project: Path, tmp_path: Path
) -> None:
    async with running(tmp_path, [*[[it] for it in edit("e", "two", "TWO")], text("ok")]) as rig:
        talk = await rig.talk("edits", worktree="current")
        (project / "a.txt").write_text(OLD.replace("six", "SIX"))
        git(project, "add", "a.txt")
        (project / "mine.txt").write_text("x\n")
        await talk.say("go")
        assert (project / "a.txt").read_text() == OLD.replace("two", "TWO").replace("six", "SIX")
        assert pending(rig, talk) == {"a.txt": ["pending"]}
    assert git(project, "status", "--porcelain") == "MM a.txt\n?? mine.txt"


@pytest.mark.report("wkentaro/git-hunk#9")
@pytest.mark.parametrize(
    ("before", "after"),
    [("a\nb", "a\nB"), ("a\nb\n", "a\nb"), ("a\nb", "a\nb\n"), ("", "x"), ("a\r\nb", "a\r\nb\r\nc")],
)
async def test_a_hunk_at_the_end_of_a_file_is_kept_and_taken_back_byte_for_byte(
    tmp_path: Path, before: str, after: str
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("keep", "undo"):
        (folder / name).write_bytes(before.encode())
    calls = [
        [
            call("read_file", f"r{name}", file_path=name),
            call("write_file", name, file_path=name, content=after),
        ]
        for name in ("keep", "undo")
    ]
    async with running(tmp_path, [*calls, text("ok")]) as rig:
        talk = await rig.talk("edits", say="go")
        assert (folder / "undo").read_bytes() == after.encode()
        for path in (folder / "keep", folder / "undo"):
            verb: Literal["keep", "undo"] = "keep" if path.name == "keep" else "undo"
            await rig.manager.review.review(verb, Selection(session_id=talk.session_id, path=str(path)))
    assert (folder / "keep").read_bytes() == after.encode() and (
        folder / "undo"
    ).read_bytes() == before.encode()


RULES: list[Any] = [
    reported(
        "yamadashy/repomix#1873",
        {".git/info/exclude": "*.txt\n!keep.txt\n"},
        ["keep.txt", "sub/keep.txt", "a.txt", "sub/a.txt"],
    ),
    reported(
        "esengine/DeepSeek-Reasonix#2664",
        {".gitignore": "*.log\n/x\n", "pkg/.gitignore": "!keep.log\n/y\n"},
        ["pkg/keep.log", "keep.log", "x", "pkg/x", "y", "pkg/y", "pkg/in/keep.log"],
    ),
]


@pytest.mark.parametrize("program", [None, ""], ids=["ripgrep", "without"])
@pytest.mark.parametrize(("rules", "names"), RULES)
async def test_a_search_shows_what_git_shows(
    tmp_path: Path, rules: dict[str, str], names: list[str], program: str | None
) -> None:
    git(tmp_path, "init", "-q")
    for name, content in {**rules, **dict.fromkeys(names, "needle\n")}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    shown = git(tmp_path, "ls-files", "--others", "--exclude-standard").split("\n")
    environment = LocalEnvironment(str(tmp_path), ripgrep=program)
    found = await environment.grep("needle", ".", GrepOptions(max_results=99))
    assert sorted(line.path for line in found.lines) == sorted({*shown} & {*names})
