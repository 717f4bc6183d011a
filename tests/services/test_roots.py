"""A workspace of several folders: a session works in its own folder and in the other trusted ones (H1)."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

import agent_ls
from agent_ls.loop.events.types import ApprovalRequested, FileChange, ToolCallEnd, Warning
from agent_ls.profiles.project_docs import FOLDERS
from agent_ls.replay.session import read_recording, replay
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.support.fake_provider import CallTool, FakeProvider, Piece, text, tool_call
from tests.support.session_rig import PROVIDER, SessionRig, Talk, allow, deny, running, wait

pytestmark = pytest.mark.req("H1", "X6")


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """A second workspace folder next to the session's."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "page.txt").write_text("one\n")
    (folder / "AGENTS.md").write_text("Indent by tabs.")
    return folder


def call(tool: str, id: str = "c1", **arguments: object) -> CallTool:
    return tool_call(tool, json.dumps(arguments), id=id)


def make(path: Path, id: str = "c1") -> CallTool:
    return call("write_file", id, file_path=str(path), content="two\n")


def opened(rig: SessionRig, *folders: Path) -> None:
    rig.client.folders = lambda: [str(rig.folder), *map(str, folders)]


def system(rig: SessionRig) -> str:
    return str(rig.model.requests[-1].messages[0].text)


def outputs(talk: Talk) -> list[str]:
    return [end.output for end in talk.of(ToolCallEnd)]


async def test_the_agent_can_read_edit_and_run_commands_in_additional_workspace_folders(
    tmp_path: Path, web: Path
) -> None:
    script: list[list[Piece]] = [
        [call("read_file", "c1", file_path=str(web / "page.txt"))],
        [make(web / "new.txt", "c2")],
        [call("shell", "c3", command="wc -l <page.txt; echo three >made.txt", working_dir=str(web))],
        [text("done")],
    ]
    async with running(tmp_path, script) as rig:
        opened(rig, web)
        talk = await rig.talk("full", deny, say="Go.")
        assert talk.of(ApprovalRequested) == []
        assert outputs(talk)[2].split()[0] == "1", "it began in that folder"
        changed = [change.path for change in talk.of(FileChange)]
        assert changed == [str(web / "new.txt"), str(web / "made.txt")]
        assert set(rig.manager.review.open_hunks()) == set(changed), "to be reviewed like any"
        assert FOLDERS in system(rig) and f"- {web}\n" in system(rig)
        assert f'<project_document path="{web}/AGENTS.md">\nIndent by tabs.' in system(rig)
    assert (web / "new.txt").read_text() == "two\n"


async def test_with_a_single_folder_the_model_gets_no_list_of_folders(tmp_path: Path, web: Path) -> None:
    async with running(tmp_path, [[make(web / "new.txt")], [text("done")]]) as rig:
        opened(rig)
        talk = await rig.talk("full", deny, say="Go.")
        assert FOLDERS not in system(rig)
        assert len(talk.of(ApprovalRequested)) == 1


async def test_writes_to_an_opened_workspace_folder_need_no_approval_until_the_folder_is_closed(
    tmp_path: Path, web: Path
) -> None:
    turns: list[list[Piece]] = []
    for number in range(3):
        turns += [[make(web / "new.txt", f"c{number}")], [text("done")]]
    async with running(tmp_path, turns) as rig:
        talk = await rig.talk("edits", deny, say="Before.")
        assert len(talk.of(ApprovalRequested)) == 1
        opened(rig, web)
        await talk.say("Opened.")
        assert len(talk.of(ApprovalRequested)) == 1 and (web / "new.txt").read_text() == "two\n"
        opened(rig)
        (web / "new.txt").unlink()
        await talk.say("Closed.")
        assert len(talk.of(ApprovalRequested)) == 2 and not (web / "new.txt").exists()
        assert FOLDERS not in system(rig)


async def test_writes_to_an_untrusted_workspace_folder_need_approval_and_cause_one_warning(
    tmp_path: Path, web: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRUST_VARIABLE, str(tmp_path / "project"))
    turns: list[list[Piece]] = [
        [make(web / "new.txt")],
        [text("no")],
        [make(web / "new.txt", "c2")],
        [text("yes")],
    ]
    async with running(tmp_path, turns) as rig:
        opened(rig, web)
        talk = await rig.talk("full", deny, say="Go.")
        assert len(talk.of(ApprovalRequested)) == 1
        assert [it.code for it in talk.of(Warning)] == ["folder_not_trusted"]
        assert "Indent by tabs" not in system(rig) and FOLDERS not in system(rig)
        await rig.manager.trust.decide(str(web), "trusted", "c-1")
        await talk.say("Again.")
        assert len(talk.of(ApprovalRequested)) == 1 and len(talk.of(Warning)) == 1
    assert (web / "new.txt").read_text() == "two\n"


async def test_nested_workspace_folders_are_listed_with_the_inner_folder_as_working_directory(
    tmp_path: Path,
) -> None:
    inner = tmp_path / "project" / "packages" / "api"
    inner.mkdir(parents=True)
    (inner / "AGENTS.md").write_text("Be brief.")
    turns: list[list[Piece]] = [
        [
            make(tmp_path / "project" / "root.txt"),
            make(tmp_path / "project" / ".vscode" / "settings.json", "c2"),
        ],
        [text("done")],
    ]
    async with running(tmp_path, turns) as rig:
        opened(rig, inner)
        talk = await rig.talk("edits", deny, workspace_folder=str(inner), say="Go.")
        (asked,) = talk.of(ApprovalRequested)
        assert "settings.json" in str(asked.effect), "what configures tools is asked about in any root"
        assert f"- {inner} (the working directory)\n- {tmp_path / 'project'}\n" in system(rig)
        assert system(rig).count("Be brief.") == 1
    assert (tmp_path / "project" / "root.txt").read_text() == "two\n"


async def test_a_write_through_a_symlink_out_of_an_additional_folder_needs_approval(
    tmp_path: Path, web: Path
) -> None:
    (tmp_path / "far").mkdir()
    (web / "near").symlink_to(tmp_path / "far")
    async with running(tmp_path, [[make(web / "near" / "new.txt")], [text("done")]]) as rig:
        opened(rig, web)
        talk = await rig.talk("full", deny, say="Go.")
        assert len(talk.of(ApprovalRequested)) == 1
    assert not list((tmp_path / "far").iterdir())


async def test_a_pending_approval_for_an_additional_workspace_folder_survives_a_restart(
    tmp_path: Path, web: Path
) -> None:
    async with running(tmp_path, [[make(web / "new.txt")]]) as rig:
        opened(rig, web)
        talk = await rig.talk("ask", wait)
        talk.live.session.submit("Go.")
        await talk.until("approval_requested")
    async with running(tmp_path, [[text("done")]]) as rig:
        opened(rig, web)
        again = await rig.reopen(talk.session_id)
        (asked,) = again.live.approver.pending()
        again.live.approver.answer(asked.request_id, allow(asked))
        await again.until("processing_end")
        assert len(again.of(ApprovalRequested)) == 1
    assert (web / "new.txt").read_text() == "two\n"


async def test_a_recording_with_additional_folders_replays_without_those_folders(
    tmp_path: Path, web: Path
) -> None:
    file = tmp_path / "run.jsonl"
    script: list[list[Piece]] = [
        [call("read_file", "c1", file_path=str(web / "page.txt"))],
        [make(web / "new.txt", "c2")],
        [text("done")],
    ]
    async with running(tmp_path, script, record_to=file) as rig:
        opened(rig, web)
        await (await rig.talk("edits", deny)).say("Go.")
    await anyio.Path(web).rename(tmp_path / "gone")
    result = await replay(await anyio.to_thread.run_sync(read_recording, file))
    assert result.differences == [] and list(result.files) == [str(web / "new.txt")]


@pytest.mark.req("H13")
async def test_open_session_of_the_python_api_accepts_additional_folders(tmp_path: Path, web: Path) -> None:
    model = FakeProvider([[make(web / "new.txt")], [text("done")]])
    (tmp_path / "project").mkdir()
    session = agent_ls.open_session(
        tmp_path / "project",
        provider=PROVIDER,
        mode="edits",
        beside=[web],
        adapters={PROVIDER: model},
        state_dir=tmp_path / "state",
    )
    async with session as agent:
        async for _ in agent.run("Go."):
            pass
    assert (web / "new.txt").read_text() == "two\n"
