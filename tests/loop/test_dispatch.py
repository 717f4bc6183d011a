"""The tool pipeline: each failure of a call is a result that the model can act on (T1, L10, E3, E5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic import Field

from agent_ls.environments.effects import CommandEffect, Effect, PlannedWrite, WriteEffect
from agent_ls.environments.errors import PathNotFoundError
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.calls.approval import Allowed, Decision, Denied
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import ProcessingEnd, TerminalExit, TerminalOpen, ToolCallEnd, ToolCallStart
from agent_ls.loop.turns import ToolResultsTurn
from agent_ls.tools.base import Arguments, ShellLimits, ToolContext, ToolError, ToolOutput
from tests.support.fake_approver import FakeApprover
from tests.support.fake_provider import FakeProvider, Piece, text, tool_call
from tests.support.sessions import AnyArguments, MemoryRecorder, RunningSession, running_session, tool


class Strict(Arguments):
    path: str
    limit: int = Field(default=10, ge=1)


def _results(recorder: MemoryRecorder) -> list[str]:
    return [
        result.content
        for turn in recorder.turns
        if isinstance(turn, ToolResultsTurn)
        for result in turn.results
    ]


BAD_ARGUMENTS = {
    "not json": (
        '{"path" "a"}',
        "The arguments are not valid JSON: Expecting ':' delimiter at line 1, column 9. Send one JSON object.",
    ),
    "an array": ("[1]", "The arguments are a JSON array. Send one JSON object."),
    "null": ("null", "The arguments are a JSON null. Send one JSON object."),
    "missing": ("{}", "- path: required, but missing"),
    "unknown": ('{"path": "a", "depth": 1}', "- depth: unknown argument (known: path, limit)"),
    "out of range": (
        '{"path": "a", "limit": 0}',
        "- limit: must be at least 1, got 0",
    ),
    "wrong type": ('{"path": ["a"]}', '- path: must be a text, got ["a"]'),
    "two at once": (
        '{"limit": {}}',
        "- path: required, but missing\n- limit: must be a whole number, got {}",
    ),
    "too deep": (
        "[" * 10_000,
        "The arguments contain a number that is too large, or are nested too deeply. Send simpler arguments.",
    ),
}


@pytest.mark.spec("loop 9.3.3", "safety S6.2")
@pytest.mark.req("T1", "R1", "R5")
@pytest.mark.parametrize("case", BAD_ARGUMENTS)
async def test_invalid_arguments_are_listed_one_by_one(case: str) -> None:
    arguments, words = BAD_ARGUMENTS[case]
    async with running_session(
        FakeProvider([tool_call("read", arguments)]), tool("read", arguments=Strict)
    ) as b:
        await b.say("go")
    assert _results(b.recorder) == [f"Invalid arguments for tool: read\n{words}"]
    end = b.recorder.of(ToolCallEnd)[0]
    assert (end.is_error, end.error_kind) == (True, "validation")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


@pytest.mark.req("L17", "T1")
@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
async def test_empty_tool_call_arguments_are_parsed_as_an_empty_object(arguments: str) -> None:
    async with running_session(FakeProvider([tool_call("look", arguments)]), tool("look")) as b:
        await b.say("go")
    assert _results(b.recorder) == ["did"]


@pytest.mark.spec("loop 9.3.2")
@pytest.mark.req("T1", "E8")
async def test_a_call_of_an_unknown_tool_returns_the_known_names_and_emits_start_and_end_events() -> None:
    async with running_session(
        FakeProvider([tool_call("fly", '{"path": "a b"}')]), tool("look"), tool("edit")
    ) as b:
        await b.say("go")
    assert _results(b.recorder) == ["Unknown tool: fly. The tools are: look, edit."]
    assert [event.summary for event in b.recorder.of(ToolCallStart)] == ["fly: a b"]
    assert [event.error_kind for event in b.recorder.of(ToolCallEnd)] == ["unknown_tool"]


FAILURES: dict[str, tuple[Exception, str, str]] = {
    "tool error": (
        ToolError("no such thing", kind="edit_conflict"),
        "Tool error (look): no such thing",
        "edit_conflict",
    ),
    "with output": (
        ToolError("gave up", output="so far"),
        "so far\n\nTool error (look): gave up",
        "tool_error",
    ),
    "environment": (PathNotFoundError("a.py"), "Tool error (look): File not found: a.py", "not_found"),
    "a fault": (KeyError("oops"), "Tool error (look): KeyError: 'oops'", "internal"),
}


@pytest.mark.spec("loop 9.3.4")
@pytest.mark.req("T1", "R1", "R5")
@pytest.mark.parametrize("case", FAILURES)
@pytest.mark.parametrize("where", ["prepare", "run"])
async def test_an_exception_of_a_tool_becomes_an_error_result(case: str, where: str) -> None:
    failure, words, kind = FAILURES[case]

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise failure

    def effect() -> Effect:
        raise failure

    broken = tool("look", run) if where == "run" else tool("look", effect=effect)
    async with running_session(FakeProvider([tool_call("look")]), broken) as b:
        await b.say("go")
    assert _results(b.recorder) == [words]
    assert [event.error_kind for event in b.recorder.of(ToolCallEnd)] == [kind]


async def test_a_fatal_tool_error_ends_the_turn() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        raise ToolError("the sandbox is gone", kind="fatal")

    provider = FakeProvider([tool_call("look")])
    async with running_session(provider, tool("look", run)) as b:
        await b.say("go")
    assert len(provider.requests) == 1
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("error")]


@pytest.mark.spec("conversation 4.11")
@pytest.mark.req("T1", "H7")
async def test_a_denied_call_does_not_run_and_the_model_gets_the_reason() -> None:
    ran = []

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        ran.append(arguments.value)
        return ToolOutput("ok")

    approver = FakeApprover([Denied("use the other branch", "user")])
    provider = FakeProvider([tool_call("edit", '{"value": "1"}')])
    async with running_session(provider, tool("edit", run, category="write"), approver=approver) as b:
        await b.say("go")
    assert ran == []
    assert _results(b.recorder) == ["Permission denied: use the other branch"]
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("refused")]
    assert approver.questions[0].summary == "edit 1"


async def test_a_turn_with_a_denied_and_an_allowed_call_ends_as_completed() -> None:
    approver = FakeApprover([Denied("no"), Allowed()])
    provider = FakeProvider([[tool_call("edit", id="a"), tool_call("edit", id="b")]])
    async with running_session(provider, tool("edit", category="write"), approver=approver) as b:
        await b.say("go")
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]


def _write(key: str) -> Effect:
    return WriteEffect((PlannedWrite("/project/a", "modify", "", key),))


MOVES: dict[str, tuple[list[str], list[Decision], int, bool]] = {
    "not asked": (["1"], [Allowed()], 1, True),
    "asked, same": (["1", "1"], [Allowed(asked=True)], 1, True),
    "asked, moved, asked again": (["1", "2", "2"], [Allowed(asked=True)] * 2, 2, True),
    "asked, moved, denied": (["1", "2"], [Allowed(asked=True), Denied("no")], 2, False),
    "never the same": (list("123456789"), [Allowed(asked=True)] * 9, 5, False),
}


@pytest.mark.req("T1", "H7")
@pytest.mark.parametrize("case", MOVES)
async def test_an_effect_that_changed_during_the_approval_needs_approval_again(case: str) -> None:
    digests, decisions, asked, runs = MOVES[case]
    effects: Iterator[Effect] = map(_write, digests)
    approver = FakeApprover(decisions)
    edit = tool("edit", category="write", effect=lambda: next(effects))
    async with running_session(FakeProvider([tool_call("edit")]), edit, approver=approver) as b:
        await b.say("go")
    assert len(approver.questions) == asked
    assert (_results(b.recorder) == ["did"]) is runs


@pytest.mark.spec("loop 9.3.5", "conversation 4.13")
@pytest.mark.req("L10")
@pytest.mark.parametrize("parallel", [True, False])
async def test_only_read_calls_run_in_parallel_and_results_keep_the_call_order(parallel: bool) -> None:
    running: list[str] = []
    together: list[set[str]] = []

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        running.append(arguments.value)
        # Later calls need fewer steps, so that they end first.
        for _ in range(20 - 2 * int(arguments.value)):
            together.append(set(running))
            await checkpoint()
        running.remove(arguments.value)
        return ToolOutput(arguments.value)

    names = ["look", "look", "edit", "edit", "look", "look"]
    calls = [tool_call(name, f'{{"value": "{i}"}}', f"c{i}") for i, name in enumerate(names)]
    tools = [tool("look", run), tool("edit", run, category="write")]
    async with running_session(FakeProvider([calls]), *tools, supports_parallel_tool_calls=parallel) as b:
        await b.say("go")
    assert _results(b.recorder) == [str(i) for i in range(6)]
    largest = {frozenset(seen) for seen in together if len(seen) > 1}
    assert largest == ({frozenset("01"), frozenset("45")} if parallel else set())


@pytest.mark.req("L10")
async def test_a_failing_tool_call_does_not_stop_the_parallel_calls() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        if arguments.value == "1":
            raise ToolError("no")
        await checkpoint()
        return ToolOutput(arguments.value)

    calls = [tool_call("look", f'{{"value": "{i}"}}', f"c{i}") for i in range(3)]
    async with running_session(FakeProvider([calls]), tool("look", run)) as b:
        await b.say("go")
    assert _results(b.recorder) == ["0", "Tool error (look): no", "2"]


@pytest.mark.req("L10", "T7")
async def test_a_tool_that_ends_the_turn_prevents_later_calls_of_the_same_response() -> None:
    provider = FakeProvider(
        [[tool_call("look", id="a"), tool_call("submit", id="b"), tool_call("look", id="c")]]
    )
    async with running_session(provider, tool("look"), tool("submit", terminal=True)) as b:
        await b.say("go")
    assert _results(b.recorder) == ["did", "did", "Not run: submit ended the task."]
    assert len(provider.requests) == 1
    assert b.recorder.of(ProcessingEnd) == [ProcessingEnd("completed")]
    assert len(b.recorder.of(ToolCallEnd)) == 3


async def test_a_steer_during_a_tool_that_ends_the_turn_continues_the_turn() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        running[0].session.steer("one more thing")
        return ToolOutput("ok")

    running: list[RunningSession] = []
    provider = FakeProvider([tool_call("submit")])
    async with running_session(provider, tool("submit", run, terminal=True)) as b:
        running.append(b)
        await b.say("go")
    assert len(provider.requests) == 2


@pytest.mark.req("E2")
async def test_repeated_provider_call_ids_are_replaced_in_events_and_unchanged_in_tool_results() -> None:
    provider = FakeProvider(
        [[tool_call("look", id="call_0")], [tool_call("look", id="call_0")], [tool_call("look", id="")]]
    )
    async with running_session(provider, tool("look")) as b:
        await b.say("go")
    ids = [event.call_id for event in b.recorder.of(ToolCallStart)]
    assert ids[:2] == ["call_0", "call_0~2"]
    assert len(set(ids)) == 3
    assert ids == [event.call_id for event in b.recorder.of(ToolCallEnd)]
    results = [turn.results[0].tool_call_id for turn in b.recorder.turns if isinstance(turn, ToolResultsTurn)]
    assert results == ["call_0", "call_0", ""]


@pytest.mark.spec("loop 9.5.4", "loop 9.10.3", "safety S6.3")
@pytest.mark.req("E3", "O1")
async def test_the_tool_call_end_event_has_the_complete_output_and_the_model_gets_truncated_output() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 40_000)

    async with running_session(FakeProvider([tool_call("look")]), tool("look", run)) as b:
        await b.say("go")
    end = b.recorder.of(ToolCallEnd)[0]
    assert (len(end.output), end.output_chars, end.output_ref) == (40_000, 40_000, "")
    assert "10000 characters" in _results(b.recorder)[0]


@pytest.mark.req("E3")
async def test_an_output_over_64_kib_is_stored_separately_and_referenced_by_the_event() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("a" * 50_000 + "é" * 20_000)

    async with running_session(FakeProvider([tool_call("look", id="c1")]), tool("look", run)) as b:
        await b.say("go")
    end = b.recorder.of(ToolCallEnd)[0]
    assert (end.output_ref, end.output_chars) == ("ref-c1", 70_000)
    assert b.recorder.outputs["c1"] == "a" * 50_000 + "é" * 20_000
    assert end.output.startswith("a" * 8192 + "\n[... 53616 characters ...]\n")
    assert end.output.endswith("é" * 8192)


async def test_an_output_of_exactly_64_kib_is_whole_in_the_event() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("a" * 65_536)

    async with running_session(FakeProvider([tool_call("look")]), tool("look", run)) as b:
        await b.say("go")
    assert b.recorder.of(ToolCallEnd)[0].output == "a" * 65_536


@pytest.mark.req("O1", "P7")
async def test_a_tool_renamed_for_a_model_family_has_the_output_limit_of_its_standard_name() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 60_000)

    own = replace(tool("Read", run), known_as="read_file")
    async with running_session(FakeProvider([tool_call("Read")]), own) as b:
        await b.say("go")
    assert "10000 characters were removed" in _results(b.recorder)[0]


@pytest.mark.req("E5")
async def test_tool_call_summaries_are_one_line_and_truncated() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("\n\n  first   line " + "y" * 100 + "\nsecond")

    long = "x " * 100
    async with running_session(
        FakeProvider([tool_call("look", f'{{"value": "{long}"}}')]), tool("look", run)
    ) as b:
        await b.say("go")
    start, end = b.recorder.of(ToolCallStart)[0], b.recorder.of(ToolCallEnd)[0]
    assert len(start.summary) == 100
    assert start.summary.startswith("look x x x")
    assert end.summary == ("first line " + "y" * 100)[:79] + "…"


@pytest.mark.req("E5")
async def test_each_tool_call_end_event_has_the_index_and_summary_of_its_start_event() -> None:
    calls = [tool_call("look", f'{{"value": "v{n}"}}', id=f"call_{n}") for n in range(3)]
    unknown = tool_call("no_such_tool", '{"value": "x"}', id="call_3")
    async with running_session(FakeProvider([[*calls, unknown], text("ok")]), tool("look")) as b:
        await b.say("go")
    starts = {start.call_id: start for start in b.recorder.of(ToolCallStart)}
    ends = b.recorder.of(ToolCallEnd)
    assert sorted(end.index for end in ends if end.index is not None) == [0, 1, 2, 3]
    for end in ends:
        start = starts[end.call_id]
        assert (end.index, end.input_summary) == (start.index, start.summary)
        assert end.input_summary.strip()
    assert {end.input_summary for end in ends} >= {"look v0", "look v1", "look v2"}


@pytest.mark.req("H5", "R1")
async def test_a_command_opens_a_terminal_streams_its_output_and_reports_its_exit() -> None:
    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        context.on_output("stdout", "one\n")
        await checkpoint()
        context.on_output("stderr", "two\n")
        return ToolOutput("one\ntwo\nExit code: 3", is_error=True, error_kind="shell_exit", exit_code=3)

    shell = tool("shell", run, category="admin", effect=CommandEffect("make test", "/project"))
    deltas = []
    async with running_session(FakeProvider([tool_call("shell", id="c1")]), shell) as b:
        with b.session.subscribe() as events:
            b.session.submit("go")
            async for item in events:
                if item.envelope.kind == "tool_call_output_delta":
                    deltas.append(item.envelope.event)
                if item.envelope.kind == "processing_end":
                    break
    assert b.recorder.of(TerminalOpen) == [TerminalOpen("c1", "c1", "make test")]
    assert b.recorder.of(TerminalExit) == [TerminalExit("c1", 3)]
    assert [(d.part_id, d.offset, d.text, d.name) for d in deltas] == [  # type: ignore[union-attr]  # deltas by kind
        ("c1:out", 0, "one\n", "stdout"),
        ("c1:out", 4, "two\n", "stderr"),
    ]
    end = b.recorder.of(ToolCallEnd)[0]
    assert (end.exit_code, end.is_error, end.error_kind) == (3, True, "shell_exit")
    order = [kind for kind in b.kinds if kind.startswith(("tool", "terminal"))]
    assert order == ["tool_call_start", "terminal_open", "terminal_exit", "tool_call_end"]


async def test_a_background_command_opens_a_terminal_that_stays_open() -> None:
    effect = CommandEffect("serve", "/project", background=True)
    async with running_session(
        FakeProvider([tool_call("shell")]), tool("shell", category="admin", effect=effect)
    ) as b:
        await b.say("go")
        assert b.recorder.of(TerminalOpen)[0].background
        assert b.recorder.of(TerminalExit) == []
    assert b.recorder.of(TerminalExit) == [TerminalExit("call_0", None)]
    assert b.kinds[-1] == "session_end"


LIMITS: list[tuple[ShellLimits | None, SessionConfig, ShellLimits]] = [
    (None, SessionConfig(), ShellLimits(10_000, 600_000)),
    (None, SessionConfig(default_command_timeout_ms=5_000), ShellLimits(5_000, 600_000)),
    (ShellLimits(120_000, 600_000), SessionConfig(), ShellLimits(120_000, 600_000)),
    (
        ShellLimits(120_000, 600_000),
        SessionConfig(default_command_timeout_ms=5_000),
        ShellLimits(5_000, 600_000),
    ),
    (
        ShellLimits(120_000, 600_000),
        SessionConfig(max_command_timeout_ms=900_000),
        ShellLimits(120_000, 900_000),
    ),
    (
        ShellLimits(120_000, 600_000),
        SessionConfig(max_command_timeout_ms=60_000),
        ShellLimits(60_000, 60_000),
    ),
]


@pytest.mark.spec("loop 9.4.2")
@pytest.mark.req("L2", "P3")
@pytest.mark.parametrize(("own", "config", "expected"), LIMITS)
async def test_a_profiles_command_timeout_replaces_an_unset_session_timeout_up_to_the_session_maximum(
    own: ShellLimits | None, config: SessionConfig, expected: ShellLimits
) -> None:
    seen = []

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        seen.append(context.shell_limits)
        return ToolOutput("")

    async with running_session(
        FakeProvider([tool_call("look")]), tool("look", run), config=config, shell_limits=own
    ) as b:
        await b.say("go")
    assert seen == [expected]


async def test_a_tool_receives_session_turn_and_call_ids_and_its_images_are_in_the_tool_result() -> None:
    image = ImagePart(b"png", "image/png")
    attributions = []

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        attributions.append(context.attribution)
        return ToolOutput("an image", images=(image,))

    async with running_session(FakeProvider([tool_call("look", id="c1")]), tool("look", run)) as b:
        await b.say("go")
    turn_id = next(e.turn_id for e in b.recorder.envelopes if e.kind == "tool_call_start")
    assert [(a.session_id, a.turn_id, a.call_id) for a in attributions] == [("s-1", turn_id, "c1")]
    results = [turn for turn in b.recorder.turns if isinstance(turn, ToolResultsTurn)]
    assert results[0].results[0].images == (image,)


async def test_files_read_by_a_tool_call_are_recorded_for_later_calls_of_the_session() -> None:
    seen = []

    async def run(arguments: AnyArguments, context: ToolContext) -> ToolOutput:
        seen.append((context.reads.digest_of("/a"), context.reads.content_of("/a")))
        context.reads.record("/a", "digest", b"content")
        return ToolOutput("")

    script: list[Piece] = [tool_call("look"), tool_call("look")]
    async with running_session(FakeProvider(script), tool("look", run)) as b:
        await b.say("go")
    assert seen == [(None, None), ("digest", b"content")]


@pytest.mark.req("L10")
async def test_approvals_of_parallel_tool_calls_are_requested_at_the_same_time() -> None:
    both = anyio.Event()
    asked = []

    class Waiting(FakeApprover):
        async def decide(self, question: object) -> Decision:
            asked.append(question)
            if len(asked) == 2:
                both.set()
            await both.wait()
            return Allowed()

    calls: list[Piece] = [tool_call("look", id="a"), tool_call("look", id="b"), text("two at once")]
    async with running_session(FakeProvider([calls]), tool("look"), approver=Waiting()) as b:
        await b.say("go")
    assert len(asked) == 2


@pytest.mark.req("E5", "H7")
async def test_the_duration_of_a_call_excludes_its_approval() -> None:
    approver = FakeApprover(on_ask=lambda _: b.clock.advance(60))
    async with running_session(FakeProvider([tool_call("look", "{}")]), tool("look"), approver=approver) as b:
        await b.say("go")

    assert b.recorder.of(ToolCallEnd)[0].duration_ms == 0
