"""The record of a call: what 002 sections 6.2, 6.3 and 7.1 want to be told of it (T9)."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import get_args

import pytest

import agent_ls
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events import Envelope, FileChange
from agent_ls.loop.tool_records import REMEDIES, CallError, ErrorType, StateChange, ToolRecord, tool_records
from agent_ls.tools.base import ToolContext, ToolError, ToolOutput
from agent_ls.tools.refusals import KINDS
from tests.support.fake_provider import FakeProvider, tool_call
from tests.support.sessions import AnyArguments, bench, tool

pytestmark = [pytest.mark.anyio, pytest.mark.req("T9")]

PACKAGE = Path(agent_ls.__file__).parent
# What a tool or an environment may answer that a general remedy is right for.
GENERAL = {"environment", "commit", "io", "tool_error", "internal"}


async def of(run: object, config: SessionConfig | None = None) -> ToolRecord:
    """The record of one call of a tool that does this."""
    script = [tool_call("look", '{"value": "x"}', "c1")]
    async with bench(FakeProvider(script), tool("look", run), config=config or SessionConfig()) as b:  # type: ignore[arg-type]  # each is a Run
        await b.say("go")
    (record,) = tool_records(b.recorder.envelopes)
    return record


async def test_a_record_of_a_call_that_went_well_has_output_times_and_sizes() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("seen", exit_code=0)

    record = await of(run)
    told = record.as_json()
    assert (record.tool_call_id, record.name, record.success, record.error) == ("c1", "look", True, None)
    assert (told["arguments"], told["output"], told["exit_code"]) == ({"value": "x"}, "seen", 0)
    assert (told["recoverable"], told["suggested_action"], told["state_changes"]) == (False, "", [])
    assert told["execution_time_ms"] >= 0 and told["timestamp"]
    assert told["metadata"] == {
        "output_truncated": False,
        "total_output_chars": 4,
        "model_output_chars": 4,
        "output_ref": "",
    }
    assert json.loads(json.dumps(told)) == told


async def test_a_record_says_what_was_cut_for_the_model() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 5_000)

    metadata = (await of(run, SessionConfig(tool_output_limits={"look": 1_000}))).as_json()["metadata"]
    assert metadata["output_truncated"] and metadata["total_output_chars"] == 5_000
    assert 1_000 <= metadata["model_output_chars"] < 2_000


async def test_a_record_of_a_failure_has_type_code_partial_output_and_what_to_do() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("half", is_error=True, error_kind="shell_timeout", summary="timed out after 9 ms")

    record = await of(run)
    assert record.error == CallError("TimeoutError", "SHELL_TIMEOUT", "timed out after 9 ms", "half")
    assert (record.success, record.recoverable) == (False, True)
    assert "timeout_ms" in record.suggested_action
    assert record.as_json()["error"]["details"] == {"partial_output": "half"}


async def test_a_fatal_failure_can_not_be_recovered_from() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError("the sandbox is gone", kind="fatal")

    record = await of(run)
    assert record.error and record.error.type == "FatalError"
    assert (record.recoverable, record.suggested_action) == (False, "")


async def test_a_record_has_the_files_that_its_call_changed_and_no_others() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        b.session.emit(FileChange("c1", "/project/a.py", "create", 1, 0, ""))
        b.session.emit(FileChange("other", "/project/b.py", "modify", 1, 1, ""))
        return ToolOutput("ok")

    async with bench(FakeProvider([tool_call("look", id="c1")]), tool("look", run)) as b:
        await b.say("go")
    (record,) = tool_records(b.recorder.envelopes)
    assert record.state_changes == (StateChange("FileCreated", "/project/a.py"),)


async def test_a_call_that_has_not_ended_has_no_record_and_refused_ones_do() -> None:
    async with bench(
        FakeProvider([[tool_call("fly", id="c1"), tool_call("look", "[1]", "c2")]]), tool("look")
    ) as b:
        await b.say("go")
    cut: list[Envelope] = [it for it in b.recorder.envelopes if it.kind != "tool_call_end"]
    assert tool_records(cut) == ()
    types = [record.error and record.error.type for record in tool_records(b.recorder.envelopes)]
    assert types == ["ValidationError", "ValidationError"]
    assert tool_records(b.recorder.envelopes)[1].as_json()["arguments"] == [1]


def _kinds_of_errors() -> set[str]:
    """Each `kind` of an error that tools and environments name."""
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
