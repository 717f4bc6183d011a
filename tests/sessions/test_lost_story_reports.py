"""Stories of sessions, subagents and worktrees that other agents lost, each in its smallest form."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_ls.loop.events.types import Compaction, ToolCallEnd
from agent_ls.policy.situation import Mode
from agent_ls.services.errors import UnappliedChangesError
from tests.features.test_worktrees import edit, repository, tree
from tests.sessions.test_compaction import SUMMARY, chat, compacted
from tests.sessions.test_shell_reports import read_by_model, shell
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import Gate, Piece, problem_of, text, tool_call
from tests.support.git import git
from tests.support.session_rig import deny, running

pytestmark = pytest.mark.req("L13", "H23")

Script = list[Piece | list[Piece]]


def globs(*ids: str) -> list[Piece]:
    return [tool_call("glob", '{"pattern": "*"}', id=it) for it in ids]


ANSWERS: Script = [text(f"answer {n}") for n in range(6)]


@pytest.mark.report("anomalyco/opencode#27594")
@pytest.mark.report("bastani-inc/atomic#1300")
@pytest.mark.report("MoonshotAI/kimi-code#1054")
async def test_calls_and_results_stay_together_through_compactions(tmp_path: Path) -> None:
    script: Script = [
        globs("a", "b", "c"),
        *ANSWERS,
        globs("d", "e"),
        text("x"),
        SUMMARY,
        globs("f"),
        text("y"),
    ]
    async with running(tmp_path, [*script, SUMMARY, text("z")]) as rig:
        talk = await rig.talk()
        await chat(talk, 7)
        for _ in range(2):
            await compacted(rig, talk)
            await talk.say("go on")
        assert [problem_of(it.messages) for it in rig.model.requests if problem_of(it.messages)] == []
    async with running(tmp_path, [text("yes")]) as rig:
        await (await rig.reopen(talk.session_id)).say("go on")
        assert problem_of(rig.model.requests[0].messages) == ""


@pytest.mark.report("gugu91/pinet#941")
async def test_a_message_during_a_compaction_is_kept(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [*ANSWERS, [gate, SUMMARY], globs("a"), text("x")]) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        talk.live.session.compact()
        await gate.reached.wait()
        talk.live.session.submit("meanwhile")
        gate.open()
        await talk.until("user_input", 7)
        await talk.say("more")
        assert "meanwhile" in rig.user_texts() and problem_of(rig.model.requests[-1].messages) == ""


@pytest.mark.report("anomalyco/opencode#47178")
@pytest.mark.report("hAcKlyc/MyAgents#336")
async def test_a_compaction_that_a_crash_ended_can_be_made_again(tmp_path: Path) -> None:
    gate = Gate()
    async with running(tmp_path, [*ANSWERS, [gate, SUMMARY]]) as rig:
        talk = await rig.talk()
        await chat(talk, 6)
        talk.live.session.compact()
        await gate.reached.wait()
    async with running(tmp_path, [SUMMARY, text("after")]) as rig:
        again = await rig.reopen(talk.session_id)
        again.live.session.compact()
        await again.until("compaction", 4)
        assert [it.status for it in again.of(Compaction)] == ["started", "interrupted", "started", "done"]
        listed, _ = await rig.manager.list_sessions(None, None, 10)
        assert [it.id for it in listed] == [talk.session_id]


@pytest.mark.parametrize("has_repository", [False, True])
@pytest.mark.report("NanmiCoder/cc-haha#1253")
async def test_a_subagent_needs_no_repository(tmp_path: Path, has_repository: bool) -> None:
    (tmp_path / "project/tree").mkdir(parents=True)
    if has_repository:
        git(tmp_path / "project", "init", "-q")
    cast = Cast([spawn("look"), wait_for("agent_1"), text("ok")], {"look": [text("found it")]})
    async with running(tmp_path, model=cast) as rig:
        await rig.talk(say="go")
    assert "found it" in str(cast.requests[-1].messages)


@pytest.mark.report("automazeio/ccpm#49")
async def test_each_command_of_a_subagent_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "project/tree/a").mkdir(parents=True)
    steps: Script = [
        [tool_call("shell", json.dumps({"command": it}), id=it)] for it in ("cd a", "touch made")
    ]
    cast = Cast(
        [spawn("look", working_dir="tree"), wait_for("agent_1"), text("ok")], {"look": [*steps, text("done")]}
    )
    async with running(tmp_path, model=cast) as rig:
        await rig.talk("full", say="go")
    assert (tmp_path / "project/tree/made").exists()


@pytest.mark.report("MoonshotAI/kimi-code#2957")
@pytest.mark.report("epiral/pinix#168")
async def test_a_command_runs_as_a_whole_in_the_folder_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "project/sub").mkdir(parents=True)
    named = tool_call("shell", json.dumps({"command": "pwd & pwd; wait", "working_dir": "sub"}), id="x")
    first, second = await read_by_model(tmp_path, named, shell("pwd"))
    assert first.count("/project/sub\n") == 2 and "/project\n" in second


@pytest.mark.report("strands-agents/tools#494")
async def test_a_pager_in_the_settings_of_git_is_not_used(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", f_txt="\n".join(map(str, range(500))))
    git(folder, "config", "core.pager", "less -+F")
    first, _ = await read_by_model(tmp_path, shell("git log -p"), shell("pwd"))
    assert "Exit code: 0" in first


@pytest.mark.report("anthropics/claude-code#60131")
@pytest.mark.report("anthropics/claude-code#95820")
@pytest.mark.parametrize("name", ["main", "main/lib"])
async def test_repositories_with_and_within_others_have_worktrees(tmp_path: Path, name: str) -> None:
    part = repository(tmp_path / "part", a_txt="one\n")
    main = repository(tmp_path / "main", a_txt="one\n")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "lib")
    git(main, "commit", "-qm", "part")
    async with running(
        tmp_path, [edit("e", "one", "two")[:1], edit("e", "one", "two")[1:], text("ok")]
    ) as rig:
        talk = await rig.talk("edits", workspace_folder=str(tmp_path / name), worktree="current", say="go")
        assert tree(talk).is_relative_to(tmp_path / "state")
    assert (tmp_path / name / "a.txt").read_text() == "two\n"


@pytest.mark.report("tetsuo-ai/agenc-core#1371")
@pytest.mark.parametrize("mode", ["ask", "full"])
async def test_a_new_file_in_a_worktree_is_not_lost_with_it(tmp_path: Path, mode: Mode) -> None:
    folder = repository(tmp_path / "project", a_txt="one\n")
    async with running(tmp_path, [[shell("echo x > new.txt")], text("ok")]) as rig:
        talk = await rig.talk(mode, worktree="current", say="go")
        made = tree(talk) / "new.txt"
        assert made.read_text() == "x\n" and (folder / "new.txt").exists() == (mode == "full")
        if mode == "ask":
            with pytest.raises(UnappliedChangesError):
                await rig.manager.delete_session(talk.session_id, force=False)
    assert made.exists() or (folder / "new.txt").exists()


@pytest.mark.report("rjwalters/loom#3256")
@pytest.mark.report("git-lfs/git-lfs#3803")
async def test_a_worktree_has_the_folders_that_the_user_has_checked_out(tmp_path: Path) -> None:
    main = repository(tmp_path / "project", in__a_txt="one\n", out__b_txt="1")
    git(main, "sparse-checkout", "set", "--cone", "in")
    calls = edit("e", "one", "two", "in/a.txt")
    async with running(tmp_path, [calls[:1], calls[1:], text("ok")]) as rig:
        talk = await rig.talk("edits", worktree="current", say="go")
        assert "out" not in os.listdir(tree(talk)) and not talk.of(ToolCallEnd)[-1].is_error
    assert (main / "in/a.txt").read_text() == "two\n" and not (main / "out").exists()


@pytest.mark.report("kunchenguid/dotfiles#33")
@pytest.mark.report("anthropics/claude-code#65816")
async def test_instructions_behind_a_link_and_secrets_need_approval(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in ("AGENTS.md", ".env", "x.env"):
        (tmp_path / "project" / name).write_text("MEMO")
    (tmp_path / "project/CLAUDE.md").symlink_to("AGENTS.md")
    given = [
        ("read_file", {"file_path": "CLAUDE.md"}),
        ("edit_file", {"file_path": "CLAUDE.md", "old_string": "MEMO", "new_string": "NEW"}),
        ("read_file", {"file_path": ".env"}),
        ("read_file", {"file_path": "x.env"}),
        ("shell", {"command": "cat .env"}),
    ]
    calls: Script = [[tool_call(name, json.dumps(it), id=str(at))] for at, (name, it) in enumerate(given)]
    async with running(tmp_path, [*calls, text("ok")]) as rig:
        talk = await rig.talk("full", deny, say="go")
    assert [it.is_error for it in talk.of(ToolCallEnd)] == [False, True, True, True, True]
    assert rig.model.requests[0].messages[0].text.count("MEMO") == 1
    assert (tmp_path / "project/CLAUDE.md").is_symlink()
