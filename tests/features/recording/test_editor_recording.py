"""A recording of a session in an editor is replayed without an editor, with the recorded answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from agent_ls.environments.errors import NoAnswerError
from agent_ls.environments.language_host import (
    ActionChanges,
    CodeProblem,
    FileChanges,
    FileProblems,
    FoundCall,
    FoundLocation,
    FoundLocations,
    LanguageQuery,
    OfferedAction,
    SourcePosition,
    Symbol,
    TextChange,
)
from agent_ls.features.recording.codec import to_json_value, value_of
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.events.editor import DiagnosedFile, EditDiagnosed, EditNews
from agent_ls.replay.session import ReplayResult, read_recording, replay
from agent_ls.services.settings.model import Settings
from agent_ls.sessions.host import EditorServices, ProgramParts
from agent_ls.sessions.manager import SessionManager
from agent_ls.sessions.new_session import SessionSpec
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.language_host import KnownCode
from tests.support.session_rig import Talk, allow

pytestmark = pytest.mark.req("H13", "T14", "H12")


class FakeEditorStatus:
    """An editor context with a fixed status text, which reports one problem for each edit."""

    def situation(self, shown: Callable[[str], str]) -> str:
        return "[Editor: a.py, cursor at line 2]"

    def watch_edit(
        self, paths: Sequence[str], shown: Callable[[str], str]
    ) -> Callable[[], Awaitable[EditNews]]:
        async def news() -> EditNews:
            files = tuple(DiagnosedFile(path, 1, is_settled=True) for path in paths)
            return EditNews("[New problems: a.py:1: error: odd]", files)

        return news


class Forgetful(KnownCode):
    """Language tools of an editor that answer every query except `references`."""

    async def references(self, position: SourcePosition) -> FoundLocations:
        raise NoAnswerError("The editor's language tools could not answer: gone.")


def call(name: str, **arguments: Any) -> Any:
    return tool_call(name, json.dumps(arguments), f"c-{name}")


ASKED = {"file_path": "a.py", "line": 1, "symbol": "one"}


def model() -> FakeProvider:
    return FakeProvider(
        [
            [
                call("definition", **ASKED),
                call("symbols", query="one"),
                call("symbols_", query="one"),
                call("diagnostics"),
                call("hover", **ASKED),
                call("implementations", **ASKED),
                call("call_hierarchy", **ASKED),
                call("code_actions", file_path="a.py", line=1),
            ],
            call("references", **ASKED),
            call("rename_symbol", **ASKED, new_name="two"),
            call("apply_code_action", file_path="a.py", line=1, title="Add one"),
            text("Done."),
        ]
    )


async def recorded(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("one = 1\n")
    path = str(project / "a.py")
    here = FoundLocation(path, 0)
    code = Forgetful(
        [here],
        [Symbol("one", "variable", here, 0)],
        [lambda: [FileChanges(path, (TextChange(0, 0, 0, 3, "two"),))]],
        [FileProblems(path, (CodeProblem(0, "error", "odd"),))],
        texts=["int"],
        called=[FoundCall(Symbol("one", "variable", here, 0), (0,))],
        offered=[OfferedAction("Add one")],
        edits=[lambda: ActionChanges((FileChanges(path, (TextChange(0, 7, 0, 7, " + 1"),)),), "Format")],
    )
    file = tmp_path / "run.jsonl"
    rig = SessionManager(
        settings=Settings(),
        credentials=Credentials(),
        state_dir=tmp_path / "state",
        program=ProgramParts(adapters={"anthropic": model()}),
        record_to=file,
        editor=EditorServices(status=FakeEditorStatus(), language=code),
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(rig.run)
        live = await rig.new_session(
            SessionSpec(workspace_folder=str(project), provider="anthropic", mode="ask")
        )
        talk = Talk(live, allow)
        await talk.say("go")
        edited = ("c-rename_symbol", "c-apply_code_action")
        files = (DiagnosedFile(path, 1, is_settled=True),)
        assert [(event.call_id, event.files) for event in talk.of(EditDiagnosed)] == [
            (it, files) for it in edited
        ]
        tasks.cancel_scope.cancel()
    assert (project / "a.py").read_text() == "two = 1 + 1\n"
    return file


async def played(path: Path) -> ReplayResult:
    return await replay(await anyio.to_thread.run_sync(read_recording, path))


async def test_recorded_editor_answers_are_replayed_without_an_editor(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    (tmp_path / "project").rename(tmp_path / "gone")

    result = await played(file)

    assert result.differences == []
    assert result.files == {str(tmp_path / "project" / "a.py"): b"two = 1 + 1\n"}


async def test_replay_reports_an_editor_answer_that_is_missing_from_the_recording(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    missing = ('{"place":"rename"', '{"place":"action_changes"')
    file.write_text("".join(line for line in lines if not line.startswith(missing)))

    result = await played(file)

    assert any(it.startswith("not recorded: rename ") for it in result.differences) and result.files == {}


async def test_replay_of_a_recording_without_an_editor_offers_no_editor_tools(tmp_path: Path) -> None:
    file = await recorded(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith('{"place":"answers"')))

    result = await played(file)

    assert any("Unknown tool: definition" in it for it in result.differences)


def test_language_tool_queries_and_results_are_encoded_and_decoded_unchanged() -> None:
    found = FoundLocations((FoundLocation("/a", 1, 2), FoundLocation("x:y", 0, is_file=False)), is_cut=True)
    changes = FileChanges("/a", (TextChange(0, 1, 2, 3, "x"),), "text")
    for value in (
        found,
        changes,
        EditNews("x", (DiagnosedFile("/a", 1, is_settled=False),)),
        *get_args(LanguageQuery),
    ):
        assert value_of(json.loads(json.dumps(to_json_value(value)))) == value
