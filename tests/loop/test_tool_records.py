"""The record of a tool call has the fields that requirement T9 lists."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import agent_ls
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.tool_records import (
    REMEDIES,
    CallError,
    ErrorType,
    RecordedChange,
    ToolRecord,
    tool_records,
)
from agent_ls.loop.events.types import Envelope, FileChange
from agent_ls.tools.apply_patch import APPLY_PATCH
from agent_ls.tools.base import ToolContext, ToolError, ToolOutput
from agent_ls.tools.patch_errors import KINDS
from tests.support.fake_provider import FakeProvider, tool_call
from tests.support.loopback import Answer, ChatServer, ToolCall
from tests.support.sessions import AnyArguments, running_session, tool

pytestmark = pytest.mark.req("T9")

PACKAGE = Path(agent_ls.__file__).parent
# Error kinds of tools and environments for which the general remedy is right.
GENERAL = {"environment", "commit", "io", "tool_error", "internal"}


async def of(run: object, config: SessionConfig | None = None) -> ToolRecord:
    """Return the record of one call of a tool that runs `run`."""
    script = [tool_call("look", '{"value": "x"}', "c1")]
    look = tool("look", run)  # type: ignore[arg-type]  # callers pass only functions of the type Run
    async with running_session(FakeProvider(script), look, config=config or SessionConfig()) as b:
        await b.say("go")
    (record,) = tool_records(b.recorder.envelopes)
    return record


async def test_a_record_of_a_successful_call_has_output_times_and_sizes() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("seen", exit_code=0)

    record = await of(run)
    fields = record.as_json()
    assert (record.tool_call_id, record.name, record.success, record.error) == ("c1", "look", True, None)
    assert (fields["arguments"], fields["output"], fields["exit_code"]) == ({"value": "x"}, "seen", 0)
    assert (fields["recoverable"], fields["suggested_action"], fields["state_changes"]) == (False, "", [])
    assert fields["execution_time_ms"] >= 0 and fields["timestamp"]
    assert fields["metadata"] == {
        "output_truncated": False,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "total_output_bytes": 4,
        "total_output_chars": 4,
        "model_output_chars": 4,
        "output_ref": "",
    }
    assert json.loads(json.dumps(fields)) == fields


async def test_a_tool_record_has_truncation_flags_and_output_sizes() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("ä" * 5_000, exit_code=0)

    metadata = (await of(run, SessionConfig(tool_output_limits={"look": 1_000}))).as_json()["metadata"]
    assert metadata["output_truncated"] and metadata["total_output_chars"] == 5_000
    assert (metadata["stdout_truncated"], metadata["stderr_truncated"]) == (True, True)
    assert metadata["total_output_bytes"] == 10_000
    assert 1_000 <= metadata["model_output_chars"] < 2_000


async def test_a_record_of_a_failed_call_without_a_command_has_no_partial_output() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError("no such file", kind="file_not_found")

    record = await of(run)
    assert record.error and "no such file" in record.error.message
    assert record.as_json()["error"]["details"] == {"partial_output": ""}


async def test_a_record_of_a_failure_has_type_code_partial_output_and_next_step() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("half", is_error=True, error_kind="shell_timeout", summary="timed out after 9 ms")

    record = await of(run)
    assert record.error == CallError("TimeoutError", "SHELL_TIMEOUT", "timed out after 9 ms", "half")
    assert (record.success, record.recoverable) == (False, True)
    assert "timeout_ms" not in record.suggested_action, "model families name the parameter differently"
    assert record.as_json()["error"]["details"] == {"partial_output": "half"}


async def test_a_fatal_failure_is_not_recoverable() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError("the sandbox is gone", kind="fatal")

    record = await of(run)
    assert record.error and record.error.type == "FatalError"
    assert (record.recoverable, record.suggested_action) == (False, "")


async def test_a_record_has_only_the_files_that_its_call_changed() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        b.session.emit(FileChange("c1", "/project/a.py", "create", 1, 0, ""))
        b.session.emit(FileChange("other", "/project/b.py", "modify", 1, 1, ""))
        return ToolOutput("ok")

    async with running_session(FakeProvider([tool_call("look", id="c1")]), tool("look", run)) as b:
        await b.say("go")
    (record,) = tool_records(b.recorder.envelopes)
    assert record.state_changes == (RecordedChange("FileCreated", "/project/a.py"),)


CALLS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "FileCreated": [("write_file", {"file_path": "a.txt", "content": "x"})],
    "FileModified": [("edit_file", {"file_path": "b.txt", "old_string": "one", "new_string": "two"})],
    "FileDeleted": [("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch"})],
    "FileMoved": [
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: b.txt\n*** Move to: c.txt\n*** End Patch"},
        )
    ],
    "DirectoryCreated": [("write_file", {"file_path": "new/deep/a.txt", "content": "x"})],
    "ProcessStarted": [("shell", {"command": "sleep 300", "background": True})],
    "ProcessTerminated": [
        ("shell", {"command": "sleep 300", "background": True}),
        ("processes", {"action": "kill", "process_id": "p1"}),
    ],
}


@pytest.mark.parametrize("kind", CALLS)
async def test_a_tool_record_contains_each_kind_of_state_change(kind: str, tmp_path: Path) -> None:
    """Use the public library with real files and processes."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "b.txt").write_text("one\n")
    said = [ToolCall(name, arguments) for name, arguments in CALLS[kind]]
    script: list[Answer] = [[call] for call in said]
    with ChatServer([[ToolCall("read_file", {"file_path": "b.txt"})], *script, "Done."]) as server:
        settings = {"providers": {"compatible": {"baseUrl": server.base_url}}}
        async with agent_ls.open_session(
            folder,
            provider="compatible",
            model="m",
            mode="full",
            approve=always,
            tools=[APPLY_PATCH],
            settings=settings,
            state_dir=tmp_path / "state",
        ) as session:
            async for _ in session.run("Do it."):
                pass
            record = (await session.calls())[-1]
    assert record.success, record.error
    changes = record.as_json()["state_changes"]
    assert kind in [change["type"] for change in changes]
    match kind:
        case "FileMoved":
            assert changes == [{"type": kind, "path": str(folder / "c.txt"), "from": str(folder / "b.txt")}]
        case "DirectoryCreated":
            made = [change["path"] for change in changes]
            assert made == [str(folder / "new"), str(folder / "new/deep"), str(folder / "new/deep/a.txt")]
        case "ProcessStarted" | "ProcessTerminated":
            assert changes == [{"type": kind, "process_id": "p1"}]
        case _:
            assert len(changes) == 1


async def always(request: agent_ls.ApprovalRequested) -> bool:
    return True


async def test_a_record_of_a_failure_has_the_whole_message() -> None:
    words = "The file moved on. " * 20

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError(words.strip(), kind="edit_conflict", output="half")

    record = await of(run)
    assert record.error and record.error.message == f"Tool error (look): {words.strip()}"


class CommandArguments(AnyArguments):
    command: str


async def test_a_record_of_a_timed_out_command_has_the_command_and_its_limit() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        output = "half\n[ERROR: Command timed out after 1500ms. Partial output is shown above.]"
        return ToolOutput(output, is_error=True, error_kind="shell_timeout", exit_code=-15)

    script = [tool_call("look", '{"command": "make"}', "c1")]
    runs_commands = replace(tool("look", run), arguments=CommandArguments)
    async with running_session(FakeProvider(script), runs_commands) as b:
        await b.say("go")
    (record,) = tool_records(b.recorder.envelopes)
    error = record.as_json()["error"]
    assert error["message"] == "Command timed out after 1500ms"
    assert (error["details"]["command"], error["details"]["timeout_seconds"]) == ("make", 1.5)
    assert error["details"]["partial_output"].startswith("half")


async def test_an_unfinished_tool_call_has_no_record_but_an_invalid_call_has_one() -> None:
    async with running_session(
        FakeProvider([[tool_call("fly", id="c1"), tool_call("look", "[1]", "c2")]]), tool("look")
    ) as b:
        await b.say("go")
    cut: list[Envelope] = [it for it in b.recorder.envelopes if it.kind != "tool_call_end"]
    assert tool_records(cut) == ()
    types = [record.error and record.error.type for record in tool_records(b.recorder.envelopes)]
    assert types == ["ValidationError", "ValidationError"]
    assert tool_records(b.recorder.envelopes)[1].as_json()["arguments"] == [1]


def _kinds_of_errors() -> set[str]:
    """Return all error kinds in the sources of tools and environments."""
    found = set(KINDS.values())
    for folder in ("tools", "environments"):
        for path in (PACKAGE / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.keyword(arg="kind" | "error_kind", value=ast.Constant(value=str(kind))):
                        found.add(kind)
                    case ast.ClassDef(name=name) if name.endswith("Error"):
                        constants = (it.value for it in node.body if isinstance(it, ast.Assign))
                        found |= {str(it.value) for it in constants if isinstance(it, ast.Constant)}
    return {kind for kind in found if kind}


def test_every_kind_of_error_has_a_type_and_a_next_step() -> None:
    without = _kinds_of_errors() - set(REMEDIES) - GENERAL
    assert not without, f"give each a row in REMEDIES: {sorted(without)}"
    assert {remedy.type for remedy in REMEDIES.values()} == set(get_args(ErrorType))
    assert [kind for kind, remedy in REMEDIES.items() if not remedy.is_recoverable] == ["fatal"]
