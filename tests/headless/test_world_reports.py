"""More reports about the command lines of other agents: pipes that stay open, signals, refusals, and the output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.headless.test_exec import AT_ONCE, play
from tests.support.commands import command, environment, finish, provider_variables, run, start
from tests.support.loopback import AnthropicServer, ErrorReply, Gate, Text, ToolCall
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")


@pytest.mark.report("earendil-works/pi#5571")
@pytest.mark.report("openai/codex#27019")
@pytest.mark.report("openai/codex#20919")
@pytest.mark.parametrize("words", [("--json", "do it"), ("do it",), ("--mode", "full", "do it")])
def test_a_run_with_a_prompt_does_not_wait_for_a_pipe_that_stays_open(
    project: Path, words: tuple[str, ...]
) -> None:
    reading, writing = os.pipe()
    script: list[Any] = [[ToolCall("shell", {"command": "cat"})], "Fine."]
    with AnthropicServer(script) as server:
        environ = environment(project.parent / "home", TERM="dumb", **provider_variables(server))
        process = subprocess.Popen(
            command("exec", *words),
            cwd=project,
            env=environ,
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.close(reading)
        try:
            done = finish(process)
        finally:
            os.close(writing)
    assert done.code == 0 and "Fine." in done.out, done


@pytest.mark.report("anthropics/claude-code#25670")
def test_each_event_is_in_the_pipe_as_soon_as_it_happens(project: Path) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First."), gate, Text(" Second.")]]) as server:
        process = start(
            "exec",
            "--json",
            "do it",
            cwd=project,
            environ=environment(project.parent / "home", **provider_variables(server)),
        )
        assert process.stdout
        seen = ""
        while "First." not in seen:
            seen += process.stdout.readline()
        gate.open()
        done = finish(process)
    assert done.code == 0 and "Second." in done.out


@pytest.mark.report("anthropics/claude-code#77112")
@pytest.mark.parametrize("words", [("--json",), ()])
def test_a_large_answer_reaches_a_pipe_whole(project: Path, words: tuple[str, ...]) -> None:
    done, _ = play(AnthropicServer, ["é\n" * 50_000 + "LAST"], project, *words, "do it")
    assert done.code == 0 and "LAST" in done.out
    if words:
        assert [len(it["text"]) for it in done.of_kind("assistant_text_end")] == [100_004]


FAILURES: list[Any] = [
    reported(
        "anthropics/claude-code#79500",
        ErrorReply(429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, headers=AT_ONCE),
        "rate_limit",
        True,
    ),
    reported(
        "anthropics/claude-code#35540",
        ErrorReply(401, {"error": {"type": "authentication_error", "message": "bad key"}}),
        "authentication",
        False,
    ),
    pytest.param(
        ErrorReply(500, {"error": {"type": "api_error", "message": "oops"}}, headers=AT_ONCE),
        "server",
        True,
        id="server",
    ),
]


@pytest.mark.parametrize(("reply", "kind", "passes"), FAILURES)
def test_a_failed_run_tells_programs_its_kind(project: Path, reply: Any, kind: str, passes: bool) -> None:
    done, _ = play(AnthropicServer, [reply] * 30, project, "--json", "--max-seconds", "60", "do it")
    assert done.code == 1, done
    (error,) = done.of_kind("error")
    assert kind in error["errorKind"] and error.get("retryable") is passes, error
    assert not done.of_kind("assistant_text_end")
    assert play(AnthropicServer, [reply] * 30, project, "do it")[0].code == 1


@pytest.mark.report("earendil-works/pi#3747")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_ended_by_a_signal_does_not_end_with_0(project: Path, sent: signal.Signals) -> None:
    gate = Gate()
    with AnthropicServer([[Text("First."), gate]]) as server:
        process = start(
            "exec",
            "--json",
            "do it",
            cwd=project,
            environ=environment(project.parent / "home", **provider_variables(server)),
        )
        assert process.stdout
        while "First." not in process.stdout.readline():
            pass
        process.send_signal(sent)
        done = finish(process)
        gate.open()
    assert done.code in (130, 128 + sent, -sent), done
    assert all(json.loads(line) for line in done.out.splitlines())


REFUSALS: list[Any] = [
    reported(
        "anomalyco/opencode#36762",
        [[ToolCall("read_file", {"file_path": "/etc/hostname"})]],
    ),
    reported(
        "anomalyco/opencode#36413",
        [[ToolCall("read_file", {"file_path": "/etc/hostname"})], []],
    ),
    reported(
        "anomalyco/opencode#44267",
        [[ToolCall("shell", {"command": "touch made | cat"})], []],
    ),
]


@pytest.mark.parametrize("script", REFUSALS)
@pytest.mark.parametrize("words", [("--json",), ()])
def test_a_refused_call_is_told_and_ends_the_run_with_3(
    project: Path, script: list[Any], words: tuple[str, ...]
) -> None:
    done, _ = play(
        AnthropicServer, script if len(script) > 1 else [*script, "I could not."], project, *words, "do it"
    )
    assert done.code == 3, done
    if words:
        assert [it["isError"] for it in done.of_kind("tool_call_end")] == [True]
    else:
        assert "--mode" in done.out + done.err or "--allow" in done.out + done.err


@pytest.mark.report("anomalyco/opencode#43888")
def test_a_subagent_whose_call_is_refused_ends(project: Path) -> None:
    script: list[Any] = [
        [ToolCall("Task", {"description": "look", "prompt": "look", "subagent_type": "general-purpose"})],
        [ToolCall("shell", {"command": "touch made"})],
        "I may not.",
        "So be it.",
    ]
    done, server = play(AnthropicServer, script, project, "--json", "do it")
    assert done.code == 3 and not (project / "made").exists(), done
    assert len(server.requests) >= 3


@pytest.mark.report("anomalyco/opencode#44901")
def test_a_run_ends_after_its_last_event_although_a_process_runs(project: Path) -> None:
    script: list[Any] = [[ToolCall("shell", {"command": "sleep 600 & echo started"})], "Done."]
    done, _ = play(AnthropicServer, script, project, "--json", "--mode", "full", "do it")
    assert done.code == 0 and done.events[-1]["kind"] in ("processing_end", "session_end"), done


PROMPTS: list[Any] = [
    reported(
        "jamesmurdza/background-agents#51",
        "- [ ] do the thing",
    ),
    pytest.param("-x", id="like an option"),
    pytest.param("--fix the tests", id="like a long option"),
    pytest.param("-", id="dash alone"),
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_after_two_dashes_is_sent_as_it_is(project: Path, prompt: str) -> None:
    done, server = play(AnthropicServer, ["Fine."], project, "--mode", "ask", "--", prompt)
    assert done.code == (0 if prompt != "-" else 2), done
    assert prompt == "-" or prompt in json.dumps(server.requests[0].body, ensure_ascii=False)


def test_a_list_of_markdown_needs_no_two_dashes(project: Path) -> None:
    done, server = play(AnthropicServer, ["Fine."], project, "- [ ] do the thing")
    assert done.code == 0 and "- [ ] do the thing" in json.dumps(server.requests[0].body), done


@pytest.mark.report("LionSR/TeXRA#5360")
def test_the_model_learns_the_path_of_a_mentioned_file(project: Path) -> None:
    (project / "problem.md").write_text("A claim.\n")
    done, server = play(AnthropicServer, ["Fine."], project, "Assess @problem.md")
    assert done.code == 0 and "@problem.md" in json.dumps(server.requests[0].body), done


@pytest.mark.report("continuedev/continue#8691")
@pytest.mark.parametrize("words", [("exec",), ("exec", "--json"), ("exec", "  \n"), ()])
def test_without_a_prompt_and_a_terminal_nothing_waits(project: Path, words: tuple[str, ...]) -> None:
    done = run(*words, cwd=project, environ=environment(project.parent / "home"))
    assert done.code == (2 if words else 0), done


@pytest.mark.parametrize(
    "option", ["--cd", "--on", "--resume", "--add-dir", "--record", "--report", "--settings"]
)
def test_an_empty_value_of_an_option_is_not_its_default(project: Path, option: str) -> None:
    for value in ("", " "):
        done = run("exec", option, value, "do it", cwd=project, environ=environment(project.parent / "home"))
        assert done.code == 2 and option in done.err and "empty" in done.err, done
