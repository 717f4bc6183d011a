from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from agent_ls.environments.effects import CommandEffect, ProcessEffect
from agent_ls.environments.errors import InputRefusedError
from agent_ls.text import render_terminal_output
from agent_ls.tools.processes import PROCESSES
from agent_ls.tools.shell import shell_tool
from tests.support.tool_calls import ProcessEnvironment, ToolCalls

SHELL = shell_tool(default_timeout_ms=10_000, background=True)


async def started() -> tuple[ToolCalls, ProcessEnvironment]:
    environment = ProcessEnvironment()
    calls = ToolCalls(environment)
    await calls.call(SHELL, command="serve --port 1", background=True)
    return calls, environment


@pytest.mark.req("T5")
async def test_processes_when_listed_then_each_shows_id_state_and_command() -> None:
    calls, _ = await started()
    assert (await calls.call(PROCESSES, action="list")).text == "p1  running  serve --port 1"
    assert (
        await ToolCalls(ProcessEnvironment()).call(PROCESSES, action="list")
    ).text == "No background processes."


@pytest.mark.req("T5")
async def test_processes_when_read_then_the_result_has_the_output_and_the_next_offset() -> None:
    calls, environment = await started()
    assert (await calls.call(PROCESSES, action="read", process_id="p1")).text == (
        "(no output yet)\n[running. Read on with offset=0.]"
    )
    environment.outputs["p1"] = "ready\n"
    assert (await calls.call(PROCESSES, action="read", process_id="p1")).text == (
        "ready\n[running. Read on with offset=6.]"
    )
    assert (await calls.call(PROCESSES, action="read", process_id="p1", offset=6)).text == (
        "(no output since then)\n[running. Read on with offset=6.]"
    )
    environment.outputs["p1"] = "\x1b[?1049h~"
    text = (await calls.call(PROCESSES, action="read", process_id="p1")).text
    assert render_terminal_output(text) == "\n[running. Read on with offset=9.]"


@pytest.mark.req("T5")
async def test_processes_kill_ends_the_process_and_a_second_kill_reports_the_earlier_end() -> None:
    calls, environment = await started()
    prepared = await calls.prepare(PROCESSES, action="kill", process_id="p1")
    assert prepared.effect == ProcessEffect("p1", "kill")
    assert environment.processes["p1"].exit_code is None
    assert (await prepared.run()).text == "Process p1: ended with exit code -15."
    again = await calls.call(PROCESSES, action="kill", process_id="p1")
    assert again.text == "Process p1 had already ended with exit code -15."


async def test_processes_when_it_ended_by_itself_then_read_reports_the_exit_code() -> None:
    calls, environment = await started()
    environment.processes["p1"] = replace(environment.processes["p1"], exit_code=3)
    output = await calls.call(PROCESSES, action="read", process_id="p1")
    assert "exit code 3." in output.text
    assert output.exit_code == 3


@pytest.mark.req("T5")
async def test_processes_list_reports_a_process_that_waits_for_input() -> None:
    calls, environment = await started()
    environment.processes["p1"] = replace(environment.processes["p1"], is_waiting=True)
    assert (await calls.call(PROCESSES, action="list")).text == "p1  running, waits for input  serve --port 1"


@pytest.mark.req("T9")
async def test_processes_when_the_id_is_unknown_then_the_known_ones_are_named() -> None:
    calls, _ = await started()
    error = await calls.fails(PROCESSES, action="read", process_id="p9")
    assert str(error) == "No background process 'p9'. Known: p1."
    assert error.kind == "not_found"


def test_processes_when_no_process_is_named_then_the_arguments_are_refused() -> None:
    with pytest.raises(ValidationError, match="process_id is needed for kill"):
        PROCESSES.arguments.model_validate({"action": "kill"})


@pytest.mark.req("T5")
async def test_processes_write_sends_text_to_the_process_until_the_input_is_closed() -> None:
    calls, environment = await started()
    prepared = await calls.prepare(PROCESSES, action="write", process_id="p1", text="yes\n")
    assert prepared.effect == CommandEffect("yes\n", "/project", input_of="p1")
    assert environment.inputs == {}
    assert (await prepared.run()).text == "Written: 4 characters. Read the output with action read."
    closing = await calls.call(PROCESSES, action="write", process_id="p1", text="bye\n", close_input=True)
    assert closing.text.startswith("Written: 4 characters. The input of the process is closed now.")
    assert environment.inputs == {"p1": "yes\nbye\n"}
    with pytest.raises(
        InputRefusedError, match="Process p1 cannot receive input: the input of the process was closed"
    ):
        await calls.call(PROCESSES, action="write", process_id="p1", text="more\n")


@pytest.mark.req("T5")
async def test_processes_write_that_only_closes_the_input_has_no_command_effect() -> None:
    calls, environment = await started()
    prepared = await calls.prepare(PROCESSES, action="write", process_id="p1", close_input=True)
    assert prepared.effect == ProcessEffect("p1", "write")
    await prepared.run()
    assert environment.closed == {"p1"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"action": "write", "process_id": "p1"}, "write needs text"),
        (
            {"action": "read", "process_id": "p1", "text": "x"},
            "only allowed with action=write, not with action=read",
        ),
    ],
)
@pytest.mark.req("T1")
def test_processes_when_the_input_does_not_fit_the_action_then_the_arguments_are_refused(
    arguments: dict[str, str], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        PROCESSES.arguments.model_validate(arguments)
