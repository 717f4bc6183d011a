"""Runs that were killed, interrupted or cut off, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.headless.test_exec import AT_ONCE, play
from tests.support.commands import environment, finish, provider_variables, run, start
from tests.support.loopback import AnthropicServer, DropConnection, ErrorReply, Gate, Text, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

KILLED: list[Any] = [
    reported(
        "strands-agents/harness-sdk#859",
        signal.SIGKILL,
    ),
    reported(
        "google/adk-python#3970",
        signal.SIGTERM,
    ),
    reported(
        "github/copilot-cli#3183",
        signal.SIGHUP,
    ),
    reported(
        "openai/codex#14691",
        signal.SIGINT,
    ),
]


@pytest.mark.parametrize("sent", KILLED)
def test_a_run_that_ended_during_a_command_can_go_on_for_several_turns(
    project: Path, sent: signal.Signals
) -> None:
    started = project / "started"
    os.mkfifo(started)
    waiting = [
        ToolCall("read_file", {"file_path": "a.py"}),
        ToolCall("shell", {"command": "echo go > started; sleep 600"}),
    ]
    script: list[Any] = [
        waiting,
        "First again.",
        [ToolCall("read_file", {"file_path": "a.py"})],
        "Second.",
        "Third.",
    ]
    with AnthropicServer(script) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = start("exec", "--json", "--mode", "full", "wait", cwd=project, environ=environ)
        started.read_text()
        process.send_signal(sent)
        done = finish(process)
        session = json.loads(done.out.splitlines()[0])["sessionId"]
        again = [
            run("exec", "--resume", session, word, cwd=project, environ=environ)
            for word in ("go on", "more", "last")
        ]
    assert done.code != 0 and [it.code for it in again] == [0, 0, 0], again
    assert "First again." in again[0].out and "Second." in again[1].out and "Third." in again[2].out
    if sent is not signal.SIGKILL:
        ends = done.of_kind("tool_call_end")
        assert [it["isError"] for it in ends] == [False, True]


@pytest.mark.report("HKUDS/OpenHarness#240")
def test_a_run_goes_on_after_the_connection_was_lost(project: Path) -> None:
    reads = [ToolCall("read_file", {"file_path": name}) for name in ("a.py", "none", "a.py", "b")]
    with AnthropicServer([reads, DropConnection(), "Here again."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        done = run("exec", "--json", "--set", 'retry={"maxRetries": 0}', "go", cwd=project, environ=environ)
        session = json.loads(done.out.splitlines()[0])["sessionId"]
        again = run("exec", "--resume", session, "continue", cwd=project, environ=environ)
    assert (done.code, again.code) == (1, 0) and "Here again." in again.out, (done, again)
    results = [it for message in server.requests[-1].body["messages"] for it in message["content"]]
    assert [it["type"] for it in results if isinstance(it, dict)].count("tool_result") == len(reads)


@pytest.mark.report("can1357/oh-my-pi#4508")
def test_a_turn_after_an_interrupted_answer_has_a_text(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half"), gate], "Whole.", "Next."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = start("exec", "--json", "go", cwd=project, environ=environ)
        assert process.stdout
        first = process.stdout.readline()
        while "Half" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        finish(process)
        gate.open()
        session = json.loads(first)["sessionId"]
        said = [run("exec", "--resume", session, "resume", cwd=project, environ=environ) for _ in range(2)]
    assert [it.code for it in said] == [0, 0] and "Whole." in said[0].out and "Next." in said[1].out


@pytest.mark.report("ebibibi/ebi-agent-chat-relay#437")
@pytest.mark.report("flowglad/onton#232")
def test_a_resumed_run_takes_the_option_for_the_folder(project: Path) -> None:
    with AnthropicServer(["One.", "Two.", "Three."]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        done = run("exec", "--json", "--cd", str(project), "go", cwd=project.parent, environ=environ)
        session = json.loads(done.out.splitlines()[0])["sessionId"]
        two = run(
            "exec", "--resume", session, "--cd", str(project), "go", cwd=project.parent, environ=environ
        )
        three = run(
            "exec", "--cd", str(project), "go", "--resume", session, cwd=project.parent, environ=environ
        )
    assert (two.code, three.code) == (0, 0) and "Two." in two.out and "Three." in three.out


@pytest.mark.report("hurttlocker/o8#331")
def test_the_report_of_a_run_is_written(project: Path) -> None:
    done, _ = play(AnthropicServer, ["All fine."], project, "--report", "out.md", "go")
    assert done.code == 0 and "> go" in (project / "out.md").read_text()


@pytest.mark.report("BaseIntelligence/bounty-challenge#10714")
def test_json_tells_what_went_wrong_on_the_way(project: Path) -> None:
    broken = ErrorReply(529, {"error": {"type": "overloaded_error", "message": "busy now"}}, headers=AT_ONCE)
    done, _ = play(
        AnthropicServer,
        [broken, [ToolCall("read_file", {"file_path": "none"})], "Fine."],
        project,
        "--json",
        "go",
    )
    assert done.code == 0 and "busy now" in done.out
    assert [it["isError"] for it in done.of_kind("tool_call_end")] == [True]
