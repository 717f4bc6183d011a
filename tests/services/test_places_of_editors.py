"""Editor sessions at another place (here: another folder): files have local names, commands run at the place."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import Settings, parse_settings
from agent_ls.services.settings.untrusted import client_settings, of_client
from agent_ls.sessions.workspaces.remote_sites import PlaceError
from tests.support.fake_editor_host import FakeEditorHost
from tests.support.fake_provider import CallTool, Piece, Say
from tests.support.session_rig import running

pytestmark = pytest.mark.req("X2", "X3")


def call(tool: str, **arguments: object) -> Sequence[Piece]:
    return [CallTool(f"{tool}-{json.dumps(arguments)}", tool, json.dumps(arguments))]


def settings(path: Path, **more: object) -> Settings:
    place = {"kind": "command", "command": [sys.executable], "path": str(path), **more}
    parsed, problems = parse_settings({"place": place, "unconfinedCommands": "trust"})
    assert not problems
    return parsed


@pytest.fixture
def there(tmp_path: Path) -> Path:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("y = 1\n")
    return folder


async def test_open_files_are_edited_in_the_editor_and_commands_run_at_the_place(
    tmp_path: Path, there: Path
) -> None:
    opened = tmp_path / "project" / "a.py"
    host = FakeEditorHost({str(opened): "x = 1  # typed\n"})
    script: list[Piece | Sequence[Piece]] = [
        call("read_file", file_path="a.py"),
        call("edit_file", file_path="a.py", old_string="x = 1", new_string="x = 2"),
        call("read_file", file_path=str(there / "b.py")),
        call("edit_file", file_path=str(there / "b.py"), old_string="y = 1", new_string="y = 2"),
        call("shell", command="pwd"),
        Say(("Done.",)),
    ]
    async with running(tmp_path, script, settings=settings(there), host=host) as sessions:
        await sessions.talk(mode="full", say="go")
        results = sessions.results()
    assert "# typed" in results[0].content
    assert host.text(str(opened)) == "x = 2  # typed\n"
    assert (there / "a.py").read_text() == "x = 1\n", "an open file is the editor's to save"
    assert (there / "b.py").read_text() == "y = 2\n"
    assert str(there) in results[4].content
    assert not (tmp_path / "project" / "b.py").exists()


async def test_an_edit_by_the_remote_path_of_an_open_file_changes_only_the_editor_buffer(
    tmp_path: Path, there: Path
) -> None:
    opened = tmp_path / "project" / "a.py"
    host = FakeEditorHost({str(opened): "x = 1\n"})
    path = str(there / "a.py")
    script: list[Piece | Sequence[Piece]] = [
        call("read_file", file_path=path),
        call("edit_file", file_path=path, old_string="x = 1", new_string="x = 2"),
        Say(("Done.",)),
    ]
    async with running(tmp_path, script, settings=settings(there), host=host) as sessions:
        await (await sessions.talk(mode="full")).say("go")
    assert host.text(str(opened)) == "x = 2\n"
    assert (there / "a.py").read_text() == "x = 1\n"


async def test_a_session_cannot_be_resumed_at_another_place(tmp_path: Path, there: Path) -> None:
    state = tmp_path / "state"
    async with running(
        tmp_path, [Say(("Hello.",))], settings=settings(there), host=FakeEditorHost(), state=state
    ) as sessions:
        talk = await sessions.talk(say="hi")
    async with running(tmp_path, [Say(("Hello.",))], host=FakeEditorHost(), state=state) as sessions:
        with pytest.raises(BadChoiceError, match=r"works on command:.*settings now name this machine"):
            await sessions.reopen(talk.session_id)
    async with running(
        tmp_path, [Say(("Again.",))], settings=settings(there), host=FakeEditorHost(), state=state
    ) as sessions:
        await (await sessions.reopen(talk.session_id)).say("still there?")


async def test_a_workspace_folder_without_an_entry_in_the_place_map_is_refused(
    tmp_path: Path, there: Path
) -> None:
    chosen = settings(there, map={"/elsewhere": str(there)})
    async with running(tmp_path, [], settings=chosen, host=FakeEditorHost()) as sessions:
        with pytest.raises(BadChoiceError, match=r"place\.map has no entry"):
            await sessions.talk()


async def test_a_session_at_a_remote_place_fails_with_a_reason_if_the_place_command_is_missing(
    tmp_path: Path, there: Path
) -> None:
    chosen = settings(there, command=["no-such-program-here"])
    async with running(tmp_path, [], settings=chosen, host=FakeEditorHost()) as sessions:
        with pytest.raises(PlaceError, match="no-such-program-here is not installed on this machine"):
            await sessions.talk()


def test_settings_of_a_client_never_name_a_place() -> None:
    """Settings of a client may come from files of the project, in every editor."""
    place = {"kind": "ssh", "target": "evil.example"}
    kept, problems = of_client({"place": place, "mode": "plan"})
    assert kept == {"mode": "plan"} and "agentLs.place" in problems[0]
    users = settings(Path("/srv"))
    changed, refused = client_settings({"place": place, "mode": "plan"}, users)
    assert changed.place == users.place and changed.mode == "plan" and len(refused) == 1
    without, _ = client_settings({"place": None}, users)
    assert without.place == users.place


async def test_project_skills_are_read_at_the_remote_place_and_reported_with_local_paths(
    tmp_path: Path, there: Path
) -> None:
    for folder in (there, tmp_path / "project"):
        skill = folder / ".agents" / "skills" / folder.name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: {folder.name}\ndescription: Of {folder.name}.\n---\nText.\n")
    script: list[Piece | Sequence[Piece]] = [call("use_skill", name="there"), Say(("Done.",))]
    host = FakeEditorHost({})
    async with running(tmp_path, script, settings=settings(there), host=host) as sessions:
        await (await sessions.talk(mode="full")).say("go")
        results = sessions.results()
    assert f'folder="{tmp_path}/project/.agents/skills/there"' in results[0].content
