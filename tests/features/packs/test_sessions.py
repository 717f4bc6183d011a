"""Sessions with tool packs: which tools the model gets, that they stay the same, and the report of missing programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from agent_ls.features.packs.catalog import PACKS
from agent_ls.features.packs.load import pack_tools
from agent_ls.llm.requests import Request
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.loop.events.types import ApprovalRequested, ProcessingEnd, ToolCallEnd, Warning
from agent_ls.services.settings.model import Settings, parse_settings
from tests.features.packs.test_policy import DEFINED, arguments_of
from tests.support.fake_provider import Piece, text, tool_call
from tests.support.sandboxes import needs_landlock
from tests.support.session_rig import allow, running

pytestmark = pytest.mark.req("T8")

Script: TypeAlias = Sequence[Piece]


def settings(**chosen: object) -> Settings:
    parsed, problems = parse_settings({"toolPacks": chosen})
    assert not problems
    return parsed


def offered(request: Request) -> set[str]:
    return {tool.name for tool in request.tools}


def programs(folder: Path, *names: str) -> str:
    """Make a folder with links to these programs and return it as a PATH."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(os.path.realpath(found))
    return str(folder)


def begin_repository(folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)


def commit_all(folder: Path) -> None:
    for words in (["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


async def first_request(tmp_path: Path, chosen: Settings | None) -> Request:
    async with running(tmp_path, [text("Hello.")], settings=chosen) as sessions:
        await (await sessions.talk()).say("hello")
        (request,) = sessions.model.requests
        assert isinstance(request, Request)
        return request


async def test_without_configured_packs_no_pack_tools_are_offered_to_the_model(tmp_path: Path) -> None:
    assert not offered(await first_request(tmp_path, None)) & {"git_status", "pytest", "reflect", "copy_file"}


async def test_a_preset_skips_pack_tools_that_duplicate_tools_of_the_model_profile(tmp_path: Path) -> None:
    names = offered(await first_request(tmp_path, settings(preset="minimal")))
    assert {"copy_file", "move_file", "think", "reflect", "submit", "abort", "read_file"} <= names
    assert not names & {"read_lines", "head", "create_file", "apply_patch", "list_dir", "ripgrep"}
    assert not names & {"git_status", "pytest", "http_get"}


async def test_a_pack_selected_by_name_offers_all_its_tools(tmp_path: Path) -> None:
    names = offered(await first_request(tmp_path, settings(packs=["file_read", "reasoning"])))
    assert {"read_lines", "head", "tail", "reflect"} <= names and "copy_file" not in names


async def test_packs_are_detected_from_the_files_in_the_project_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text("")
    names = offered(await first_request(tmp_path, settings(detect=True)))
    assert "pip_list" in names and "npm_run" not in names


async def test_the_offered_tools_do_not_change_while_a_session_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "git", "sh", "rm"))
    script: Script = [tool_call("git_status", "{}"), text("One."), text("Two.")]
    async with running(tmp_path, script, settings=settings(preset="standard")) as sessions:
        talk = await sessions.talk(say="one")
        (tmp_path / "bin" / "make").symlink_to("/bin/true")
        (tmp_path / "project" / "Cargo.toml").write_text("")
        sessions.manager.change_settings({"toolPacks": {"preset": "full"}})
        await talk.say("two")
        seen = {repr(request.tools) for request in sessions.model.requests}
    assert len(sessions.model.requests) == 3 and len(seen) == 1


async def test_a_tool_without_its_program_is_not_offered_and_a_warning_lists_it_before_the_first_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "git"))
    async with running(tmp_path, [text("Hello.")], settings=settings(packs=["git", "testing"])) as sessions:
        talk = await sessions.talk()
        await talk.until("warning")
        (warning,) = talk.of(Warning)
        await talk.say("hello")
        names = offered(sessions.model.requests[0])
    assert "git_log" in names and "pytest" not in names
    assert "11 of 17 tools" in warning.message and ": testing" in warning.message
    assert "pip install pytest" in warning.message


async def test_file_changes_by_the_program_of_a_pack_tool_become_hunks(tmp_path: Path) -> None:
    begin_repository(tmp_path / "project")
    (tmp_path / "project" / "a.py").write_text("x=1\n")
    script: Script = [tool_call("make_target", '{"target": "change"}'), text("Done.")]
    (tmp_path / "project" / "Makefile").write_text("change:\n\techo y >> a.py\n")
    async with running(tmp_path, script, settings=settings(packs=["execution"])) as sessions:
        talk = await sessions.talk(say="go")
        hunks = sessions.manager.review.open_hunks(session_id=talk.session_id)
    assert {Path(path).name for path in hunks} == {"a.py"}
    assert (tmp_path / "project" / "a.py").read_text() == "x=1\ny\n"


async def test_the_move_file_tool_needs_approval_as_a_write_and_then_moves_the_file(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x = 1\n")
    asked: list[str] = []

    def answer(request: ApprovalRequested) -> ApprovalAnswer:
        asked.append(str(request.effect.get("type")))
        return allow(request)

    script: Script = [tool_call("move_file", '{"source": "a.py", "target": "lib/b.py"}'), text("Done.")]
    async with running(tmp_path, script, settings=settings(preset="minimal")) as sessions:
        talk = await sessions.talk("ask", answer, say="go")
        (end,) = talk.of(ToolCallEnd)
    assert asked == ["WriteEffect"] and not end.is_error
    assert not (tmp_path / "project" / "a.py").exists()
    assert (tmp_path / "project" / "lib" / "b.py").read_text() == "x = 1\n"


async def test_a_read_tool_of_a_pack_needs_no_approval_and_a_denied_write_tool_does_not_run(
    tmp_path: Path,
) -> None:
    begin_repository(tmp_path / "project")
    asked: list[str] = []

    def deny(request: ApprovalRequested) -> ApprovalAnswer:
        asked.append(request.tool)
        return ApprovalAnswer("deny", decided_by="test")

    script: Script = [tool_call("git_status", "{}"), tool_call("git_branch", '{"name": "x"}'), text("Done.")]
    async with running(tmp_path, script, settings=settings(packs=["git"])) as sessions:
        talk = await sessions.talk("ask", deny, say="go")
        status, branch = talk.of(ToolCallEnd)
    assert not status.is_error and "main" in status.output
    assert branch.is_error and asked == ["git_branch"]


@needs_landlock
async def test_every_installed_read_tool_of_a_pack_runs_without_approval(tmp_path: Path) -> None:
    begin_repository(tmp_path / "project")
    (tmp_path / "project" / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "project" / "a.json").write_text("{}")
    (tmp_path / "project" / "a.js").write_text("1;\n")
    commit_all(tmp_path / "project")
    reading = [name for name, tool in DEFINED.items() if tool.category == "read" and shutil.which(tool.cmd)]
    given = {name: arguments_of(name) for name in reading}
    given["process_info"] = {"pid": os.getpid()}
    given["check_javascript_syntax"] = {"path": "a.js"}
    calls = [
        tool_call(name, json.dumps(given[name]), f"call_{number}") for number, name in enumerate(reading)
    ]
    packs = sorted({tool.pack for pack in PACKS for tool in pack_tools(pack) if tool.name in reading})
    async with running(tmp_path, [*calls, text("Done.")], settings=settings(packs=packs)) as sessions:
        talk = await sessions.talk("ask", lambda request: ApprovalAnswer("deny", decided_by="test"), say="go")
        ends = {event.name: event for event in talk.of(ToolCallEnd)}
        asked = talk.of(ApprovalRequested)
    assert len(reading) > 10 and list(ends) == reading and not asked
    assert not [event.output for event in ends.values() if event.is_error]


async def test_the_abort_tool_ends_the_turn_without_another_model_call(tmp_path: Path) -> None:
    script: Script = [tool_call("abort", '{"reason": "there is no database"}'), text("never sent")]
    async with running(tmp_path, script, settings=settings(preset="minimal")) as sessions:
        talk = await sessions.talk(say="go")
        assert len(sessions.model.requests) == 1
        assert [event.reason for event in talk.of(ProcessingEnd)] == ["completed"]


async def test_tool_of_the_user_has_priority_over_one_of_a_pack(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "tools.yaml").write_text(
        "tools:\n  - name: git_status\n    description: mine\n    category: read\n    cmd: git\n    args: [status]\n"
    )
    request = await first_request(tmp_path, settings(packs=["git"]))
    assert [tool.description for tool in request.tools if tool.name == "git_status"] == ["mine"]


async def test_untrusted_folder_cannot_turn_packs_on(tmp_path: Path) -> None:
    from agent_ls.services.settings.untrusted import restrict_settings

    kept, said = restrict_settings(Settings(), settings(preset="full"))
    assert kept == Settings() and "toolPacks" in said[0]


def test_without_configured_packs_no_pack_modules_are_imported(tmp_path: Path) -> None:
    """Runs a session up to its first request, with and without packs, in a separate process."""
    assert _imported(tmp_path / "without", None) == []
    assert "agent_ls.features.packs.load" in _imported(tmp_path / "with", "minimal")


PROGRAM = """
import anyio, sys
from pathlib import Path
from agent_ls.services.settings.model import parse_settings
from tests.support.fake_provider import text
from tests.support.session_rig import running

async def main(folder, preset):
    settings, _ = parse_settings({"toolPacks": {"preset": preset}} if preset else {})
    async with running(Path(folder), [text("Hello.")], settings=settings) as sessions:
        await (await sessions.talk()).say("hello")
        assert len(sessions.model.requests) == 1

anyio.run(main, *sys.argv[1:])
late = ("agent_ls.features.packs", "agent_ls.tools.file_moves", "agent_ls.tools.line_views", "agent_ls.tools.abort",
        "agent_ls.tools.file_additions", "agent_ls.tools.reflection", "agent_ls.services.settings.tool_packs", "yaml")
print(*sorted(name for name in sys.modules if name.startswith(late)))
"""


def _imported(folder: Path, preset: str | None) -> list[str]:
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), preset or ""],
        capture_output=True, text=True, timeout=240, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.split()
