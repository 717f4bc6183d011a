from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import Finished, environment, finish, provider_variables, run, start
from tests.support.loopback import (
    Answer,
    AnthropicServer,
    ChatServer,
    CutStream,
    ErrorReply,
    Gate,
    GeminiServer,
    LoopbackProvider,
    MidStreamError,
    OpenAIResponsesServer,
    Script,
    Text,
    ToolCall,
)
from tests.support.processes import is_running

SERVERS = [
    pytest.param(AnthropicServer, id="anthropic"),
    pytest.param(OpenAIResponsesServer, id="openai"),
    pytest.param(GeminiServer, id="gemini"),
    pytest.param(ChatServer, id="chat"),
]
AT_ONCE = {"retry-after": "0"}


def play(
    server_type: type[LoopbackProvider],
    script: Script,
    project: Path,
    *arguments: str,
    key: str = "",
    **options: object,
) -> tuple[Finished, LoopbackProvider]:
    with server_type(script, key=key, **options) as server:  # type: ignore[arg-type]  # as the class says
        environ = environment(project.parent / "home", **provider_variables(server))
        return run("exec", *(arguments or ("do it",)), cwd=project, environ=environ), server


def edit_call(server_type: type[LoopbackProvider]) -> ToolCall:
    if server_type is not OpenAIResponsesServer:
        return ToolCall("edit_file", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
    return ToolCall("apply_patch", {"patch": patch})


def editing(server_type: type[LoopbackProvider]) -> Sequence[Answer]:
    path = "file_path"
    return [[Text("I look."), ToolCall("read_file", {path: "a.py"})], [edit_call(server_type)], "All done."]


@pytest.mark.req("H13", "P2", "P3", "U2")
@pytest.mark.parametrize("server_type", SERVERS)
def test_exec_with_approved_edits_changes_the_file_prints_the_diff_and_ends_with_0(
    server_type: type[LoopbackProvider], project: Path
) -> None:
    done, server = play(server_type, editing(server_type), project, "--mode", "edits", "set x to 2")
    assert done.code == 0, done
    assert (project / "a.py").read_text() == "x = 2\n"
    assert "-x = 1" in done.out and "+x = 2" in done.out and "All done." in done.out
    assert len(server.requests) == 3
    assert "test-key" not in done.out + done.err


@pytest.mark.req("H13", "X8")
def test_exec_without_approvals_refuses_the_edit_informs_the_model_and_ends_with_3(
    project: Path,
) -> None:
    done, server = play(AnthropicServer, editing(AnthropicServer), project)
    assert done.code == 3, done
    assert (project / "a.py").read_text() == "x = 1\n"
    assert "--mode edits" in str(server.requests[2].body)


@pytest.mark.req("H13", "X8")
@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--mode", "full"], 0, ""),
        (["--set", "mode=edits"], 0, ""),
        (["--settings", "mode.json"], 0, ""),
        (["--approve", "all"], 0, "--mode full"),
        (["--approve", "edits"], 0, "--mode edits"),
        (["--approve", "never"], 3, "--mode ask"),
        (["--mode", "all"], 0, "full"),
        (["--mode", "plan"], 3, ""),
        (["--approve", "never", "--mode", "edits"], 0, ""),
    ],
    ids=str,
)
def test_the_mode_of_a_run_has_one_name_and_old_names_are_read_with_a_hint(
    words: list[str], code: int, hint: str, project: Path
) -> None:
    (project / "mode.json").write_text('{"mode": "edits"}')
    done, _ = play(AnthropicServer, editing(AnthropicServer), project, *words, "set x to 2")
    assert done.code == code, done
    assert (project / "a.py").read_text() == ("x = 2\n" if code == 0 else "x = 1\n")
    lines = [line for line in done.err.splitlines() if " is now " in line]
    assert len(lines) == bool(hint) and all(hint in line for line in lines)


@pytest.mark.req("E2", "E8", "H13")
def test_exec_as_json_prints_each_recorded_event_once_and_in_order(project: Path) -> None:
    done, _ = play(AnthropicServer, editing(AnthropicServer), project, "--json", "--mode", "edits", "go")
    assert done.code == 0, done
    numbers = [event["seq"] for event in done.events if "seq" in event]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    kinds = [event["kind"] for event in done.events if "seq" in event]
    assert kinds[0] == "session_start" and kinds[-1] == "session_end" and "user_input" in kinds
    for kind in ("tool_call_start", "tool_call_end", "file_change", "usage"):
        assert kind in kinds


@pytest.mark.req("T12", "H13")
def test_exec_expands_slash_commands_and_sends_a_prompt_that_begins_with_a_path_unchanged(
    project: Path,
) -> None:
    page = project.parent / "home" / ".claude" / "commands" / "hello.md"
    page.parent.mkdir(parents=True)
    page.write_text("Say hello to $ARGUMENTS.")
    for prompt, expected in (
        ("/hello Ada", "/hello Ada\\n\\nSay hello to Ada."),
        ("/tests of a.py", "/tests of a.py\\n\\n"),
        ("/etc/hosts is what?", "/etc/hosts is what?"),
    ):
        done, server = play(AnthropicServer, ["Done."], project, prompt)
        assert done.code == 0, done
        assert expected in json.dumps(server.requests[0].body)


# Each fault once, over the four wires in turn. tests/contracts/test_provider.py tests every fault over every wire.
FAILURES = [
    pytest.param(AnthropicServer, [ErrorReply(401)], ("key",), 1, 1, id="wrong key"),
    pytest.param(OpenAIResponsesServer, [ErrorReply(404)], ("model",), 1, 1, id="unknown model"),
    pytest.param(GeminiServer, [ErrorReply(429, headers=AT_ONCE)] * 3, ("429", "rate"), 1, 3, id="429"),
    pytest.param(ChatServer, [ErrorReply(529, headers=AT_ONCE)] * 3, ("529", "overload"), 1, 3, id="529"),
    pytest.param(
        OpenAIResponsesServer,
        [[Text("half of an answ"), CutStream()]],
        ("ended", "cut", "broke"),
        1,
        1,
        id="cut stream",
    ),
    pytest.param(
        AnthropicServer,
        [[Text("half"), MidStreamError()]],
        ("overload", "error"),
        1,
        1,
        id="error in the stream",
    ),
    pytest.param(GeminiServer, [ErrorReply(429, headers=AT_ONCE), "Fine."], ("Fine.",), 0, 2, id="429 once"),
    pytest.param(
        ChatServer,
        [[ToolCall("read_file", '{"file_path": "a.py"')], "I see."],
        ("JSON",),
        0,
        2,
        id="arguments not JSON",
    ),
]


@pytest.mark.req("R1", "U8", "R5", "T1")
@pytest.mark.parametrize(("server_type", "script", "words", "code", "requests"), FAILURES)
def test_exec_reports_a_provider_failure_once_with_its_exit_code(
    server_type: type[LoopbackProvider],
    script: Script,
    words: tuple[str, ...],
    code: int,
    requests: int,
    project: Path,
) -> None:
    done, server = play(server_type, script, project)
    assert done.code == code, done
    assert len(server.requests) == requests
    said = done.out.lower()
    assert any(word.lower() in said for word in words), done
    assert "traceback" not in said + done.err.lower()
    assert done.out.count("error:") == (1 if code else 0), done.out


@pytest.mark.req("R1")
def test_exec_reports_a_failed_connection_to_the_provider(
    project: Path,
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        environ = environment(project.parent, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=url)
        done = run("exec", "do it", cwd=project, environ=environ)
    assert done.code == 1
    assert done.out.count("error:") == 1 and "connect" in done.out.lower()


@pytest.mark.req("H14", "H16")
def test_exec_without_a_key_names_the_variables_and_suggests_the_walkthrough(project: Path) -> None:
    done = run("exec", "do it", cwd=project, environ=environment(project.parent))
    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in done.out and "OPENAI_API_KEY" in done.out and "walkthrough" in done.out


USAGE = [
    (["exec", "  "], "empty"),
    (["exec", "x", "--cd", "nowhere"], "the folder does not exist"),
    (["exec", "x", "--provider", "oracle"], "oracle"),
    (["exec", "x", "--resume", "s-0"], "s-0"),
    (["exec", "x", "--ask"], "terminal"),
    (["exec", "x", "--approve", "maybe"], "maybe"),
    (["exec"], "prompt"),
    (["frobnicate"], "frobnicate"),
]


@pytest.mark.req("H13", "R5")
@pytest.mark.parametrize(("arguments", "word"), USAGE, ids=[word for _, word in USAGE])
def test_invalid_arguments_are_named_and_the_command_ends_with_2(
    arguments: list[str], word: str, project: Path
) -> None:
    done = run(*arguments, cwd=project, environ=environment(project.parent))
    assert done.code == 2, done
    assert word in done.err and "Traceback" not in done.err


@pytest.mark.req("H2")
def test_the_id_of_a_killed_run_is_on_standard_error(project: Path) -> None:
    os.mkfifo(project / "started")
    call = ToolCall("shell", {"command": "echo go > started; sleep 300", "timeout_ms": 600000})
    with AnthropicServer([[call], "Where were we?"]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = start("exec", "--mode", "full", "wait", cwd=project, environ=environ)
        (project / "started").read_text()  # blocks until the command has started
        process.kill()
        (line,) = finish(process).err.splitlines()
        again = run("exec", "--resume", line.split()[-1], "go on", cwd=project, environ=environ)
    assert line.startswith("session s-") and again.code == 0, again


@pytest.mark.req("H2", "L16", "T5")
def test_interrupted_exec_ends_the_processes_of_its_command_and_can_be_resumed(project: Path) -> None:
    started = project / "started"
    os.mkfifo(started)
    script: Script = [
        [
            ToolCall(
                "shell",
                {"command": "sleep 300 & echo $! > pid; echo go > started; wait", "timeout_ms": 600000},
            )
        ],
        "Where were we?",
    ]
    with AnthropicServer(script) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = start("exec", "--mode", "full", "wait", cwd=project, environ=environ)
        started.read_text()  # blocks until the command has started
        child = int((project / "pid").read_text())
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.code == 130, done
        assert not is_running(child)
        session = done.err.split()[-1]
        again = run("exec", "--resume", session, "go on", cwd=project, environ=environ)
        assert again.code == 0 and "Where were we?" in again.out, again
        results = [
            block
            for message in server.requests[1].body["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]
        assert len(results) == 1 and results[0]["is_error"]


@pytest.mark.req("H2", "L16")
def test_exec_interrupted_while_the_model_streams_prints_the_partial_text_and_exits_with_130(
    project: Path,
) -> None:
    gate = Gate()
    with AnthropicServer([[Text("Half a thought:", gate, " and more")]]) as server:
        environ = environment(project.parent / "home", **provider_variables(server))
        process = start("exec", "think", cwd=project, environ=environ)
        assert gate.reached.wait(60)
        seen = process.stdout
        assert seen is not None
        text = ""
        while "thought" not in text:
            text += seen.read(1)
        process.send_signal(signal.SIGINT)
        done = finish(process)
    assert done.code == 130 and "interrupted" in done.out


@pytest.mark.req("H24", "H13")
def test_exec_attaches_mentions_and_refuses_invalid_ones(project: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    subprocess.run(["git", "-C", str(project), "add", "--all"], check=True)
    ended, server = play(AnthropicServer, ["Looked."], project, "--trust", "Look at @staged, please")
    assert ended.code == 0, ended.err
    said = str(server.requests[0].body["messages"])
    assert "Look at @staged, please" in said and "Git diff, staged:" in said and "diff --git a/" in said
    refused, server = play(AnthropicServer, [], project, "--trust", "Look at @commit:nothing")
    assert "commit 'nothing'" in refused.err and refused.code == 2
    assert not server.requests


COLLECTED = """
import gc, sys
found = []
gc.callbacks.append(lambda phase, info: found.append(gc.get_freeze_count()))
from agent_ls.cli.main import main
code = main(["exec", "--provider", "walkthrough", "go"])
gc.collect()
print("collected", found.count(0), max(found) > 10_000, gc.isenabled(), file=sys.stderr)
sys.exit(code)
"""


def test_exec_collects_no_garbage_before_its_session_is_open(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        cwd=project,
        env=environment(project.parent / "home"),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    _, early, was_frozen, is_on = done.stderr.splitlines()[-1].split()
    assert (was_frozen, is_on) == ("True", "True")
    assert int(early) < 100, "of the imports before the command is known; 372 if imports are collected"
