"""Fifteen tasks of a coding agent on each of the three native wires: the matrix of the loop specification, 9.12.

Each cell is a session of the real application in a real folder, over real HTTP to a server on the loopback that
refuses what the real service refuses. tests/llm/test_parity.py tests the client alone in the same way.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import pytest

import agent_ls
from agent_ls.loop.events.types import (
    FileChange,
    LoopDetection,
    SteeringInjected,
    SubagentChanged,
    ToolCallEnd,
    UsageReport,
)
from tests.parity import wires
from tests.parity.cell import SERVERS, Cell, cell, patch
from tests.support.environments import LIMITS_MS
from tests.support.loopback import Answer, Gate, Reasoning, Text, ToolCall
from tests.support.processes import new_token, processes_with

Case: TypeAlias = Callable[[str, Path, pytest.MonkeyPatch], Awaitable[None]]


async def simple_file_creation_task(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        hello = ToolCall("write_file", {"file_path": "src/hello.py", "content": "print('Hello 👋')\n"})
        it.answers([Reasoning("A small file."), Text("I make it."), hello], "It is there.")
        events = await it.say("Create hello.py.")
        assert it.read("src/hello.py") == "print('Hello 👋')\n"
        assert not it.results[0].is_error
        assert [(Path(change.path).name, change.action) for change in it.of(FileChange)] == [
            ("hello.py", "create")
        ]
        assert [event.kind for event in events][-1] == "processing_end"
        assert len(it.of(UsageReport)) == 2


async def read_file_then_edit_it(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.py", "x = 1\r\ny = 2\r\n")
        it.answers(
            [Reasoning("First I look."), ToolCall("read_file", {"file_path": "a.py"})],
            [Reasoning("Now I know."), *it.edit("a.py", ("y = 2", "y = 3"))],
            "Done.",
        )
        await it.say("Set y to 3.")
        assert "2 | y = 2" in it.results[0].text
        assert not it.results[1].is_error
        assert (it.folder / "a.py").read_bytes() == b"x = 1\r\ny = 3\r\n"
        assert [Path(path).name for path in it.session.hunks()] == ["a.py"]


async def multi_file_edit_in_one_session(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a.py", "pkg/b.py", "c.py"]
    async with cell(provider, tmp_path, monkeypatch) as it:
        for name in names:
            it.write(name, f"# {name}\nvalue = 1\n")
        reads = [ToolCall("read_file", {"file_path": name}) for name in names]
        edits = [call for name in names[:2] for call in it.edit(name, ("value = 1", "value = 2"))]
        it.answers(
            reads, edits, "Two are done.", it.edit("c.py", ("value = 1", "value = 3")), "All are done."
        )
        await it.say("Set the value of a and b to 2.")
        await it.say("And c to 3.")
        assert [it.read(name) for name in names] == [
            "# a.py\nvalue = 2\n",
            "# pkg/b.py\nvalue = 2\n",
            "# c.py\nvalue = 3\n",
        ]
        assert len(it.session.hunks()) == 3
        assert len(it.results) == 6 and not any(result.is_error for result in it.results)


async def shell_command_execution(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        command = "printf 'to stdout\\n'; printf 'to stderr\\n' >&2; printf '%s' \"$PWD\" > where; exit 3"
        it.answers([ToolCall("shell", {"command": command, "description": "Looks"})], "It exits with 3.")
        await it.say("Run it.")
        (result,) = it.results
        assert "to stdout" in result.text and "to stderr" in result.text and "Exit code: 3" in result.text
        assert it.read("where") == str(it.folder.resolve())
        (end,) = it.of(ToolCallEnd)
        assert (end.exit_code, end.error_kind) == (3, "shell_exit")
        assert "test-key" not in str(it.bodies)


async def shell_command_timeout_handling(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit_ms in LIMITS_MS:  # on a slow machine the first limit may end before the command starts
        (folder := tmp_path / str(limit_ms)).mkdir()
        if "started" in await _timed_out_command(provider, folder, monkeypatch, limit_ms):
            return
    pytest.fail("the command has not begun, however long it was given")


async def _timed_out_command(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_ms: int
) -> str:
    # Anthropic's models have a default of two minutes that the setting does not change, so the call has a limit.
    own = {"timeout_ms": limit_ms} if provider == "anthropic" else {}
    token = new_token()
    async with cell(provider, tmp_path, monkeypatch, settings={"defaultCommandTimeoutMs": limit_ms}) as it:
        command = f"echo started; TOKEN={token} sleep 300"
        it.answers([ToolCall("shell", {"command": command, **own})], "It takes too long.")
        await it.say("Run it.")
        (result,) = it.results
        assert f"timed out after {limit_ms}ms" in result.text
        parameter = "timeout" if provider == "anthropic" else "timeout_ms"
        assert f" {parameter} " in result.text, "it suggests a longer limit by the name in the tool's schema"
        assert [end.error_kind for end in it.of(ToolCallEnd)] == ["shell_timeout"]
        assert processes_with(token) == {}
        return result.text


async def grep_and_glob_to_find_files(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("src/deep/one.py", "def wanted():\n    pass\n")
        it.write("src/two.py", "x = 1\n")
        it.write("notes.md", "wanted\n")
        grep = ToolCall("grep", {"pattern": r"def \w+\(", "glob_filter": "*.py"})
        it.answers([ToolCall("glob", {"pattern": "**/*.py"}), grep], "In one.py.")
        await it.say("Where is it?")
        found, lines = it.results
        assert sorted(Path(line).name for line in found.text.splitlines()) == ["one.py", "two.py"]
        assert "one.py:1:def wanted():" in lines.text and "notes.md" not in lines.text


async def multi_step_task(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without -B, Python would use the old bytecode: the new calc.py has the same size and the same second.
    check = f"{shlex.quote(sys.executable)} -B -c 'import calc; assert calc.add(2, 2) == 4; print(\"fine\")'"
    async with cell(provider, tmp_path, monkeypatch, effort="medium") as it:
        it.write("calc.py", "def add(a, b):\n    return a - b\n")
        read = ToolCall("read_file", {"file_path": "calc.py"})
        it.answers(
            [Reasoning("What fails?"), Text("I run it."), ToolCall("shell", {"command": check})],
            [Reasoning("It subtracts."), Reasoning("Where?", redacted=provider == "anthropic"), read],
            [
                Reasoning("A minus."),
                Text("Found it."),
                *it.edit("calc.py", ("    return a - b", "    return a + b")),
            ],
            [Reasoning("Is it right now?"), ToolCall("shell", {"command": check})],
            [Reasoning("It is."), Text("Fixed and checked.")],
        )
        await it.say("Fix add.")
        first, _, edited, last = it.results
        assert "AssertionError" in first.text
        assert not edited.is_error
        assert "fine" in last.text and "Exit code: 0" in last.text
        assert it.read("calc.py") == "def add(a, b):\n    return a + b\n"


async def tool_output_truncation(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {number} {'x' * 80}" for number in range(1, 1501)]
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("big.txt", "\n".join(lines) + "\n")
        it.answers([ToolCall("read_file", {"file_path": "big.txt"})], "It is long.")
        events = await it.say("Read it.")
        (result,) = it.results
        assert "[WARNING: Tool output was truncated." in result.text
        assert len(result.text) < 51_000
        assert lines[0] in result.text and lines[-1] in result.text and lines[750] not in result.text
        (end,) = [event for event in events if isinstance(event, ToolCallEnd)]
        whole = await it.session.output(end)
        assert all(line in whole for line in lines)
        assert "WARNING" not in whole


async def parallel_tool_calls(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cities, here, together = ["Rome", "Oslo", "Lima"], list[str](), anyio.Event()

    @agent_ls.tool
    async def weather(city: str) -> str:
        """Tells the weather."""
        here.append(city)
        if len(here) == len(cities):
            together.set()
        with anyio.fail_after(240):  # each call waits for all others, so calls in sequence would never end
            await together.wait()
        return f"warm in {city}"

    async with cell(provider, tmp_path, monkeypatch, tools=[weather]) as it:
        calls = [ToolCall("weather", {"city": city}) for city in cities]
        it.answers([Reasoning("All at once."), *calls], "All are warm.")
        await it.say("How is it?")
        assert [result.text for result in it.results] == [f"warm in {city}" for city in cities]
        assert len(it.bodies) == 2  # all results went back with one request


async def steering_mid_task(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, words = Gate(), "Only one route, please."
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.txt", "a\n")
        reads = [ToolCall("read_file", {"file_path": "a.txt", "limit": limit}) for limit in (1, 2)]
        it.answers([Reasoning("Many routes."), Text("I begin.", gate), *reads], "Only one, then.")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.say, "Make an app with many routes.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            it.session.steer(words)
            gate.open()
        assert len(it.results) == 2
        assert words in it.user_texts[-1]
        assert it.user_texts[0].startswith("Make an app")
        assert [event.text for event in it.of(SteeringInjected)] == [words]
        kinds = [event.kind for event in it.events]
        assert kinds.index("steering_injected") > max(
            i for i, kind in enumerate(kinds) if kind == "tool_call_end"
        )


async def reasoning_effort_change(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    async with cell(provider, tmp_path, monkeypatch, effort="low") as it:
        it.write("a.txt", "a\n")
        it.answers(
            [Reasoning("Hm.", gate), ToolCall("read_file", {"file_path": "a.txt"})],
            [Reasoning("Harder."), Text("Done.")],
            "Again.",
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.say, "Think.")
            await anyio.to_thread.run_sync(gate.wait_reached)
            await it.session.configure(effort="high")
            gate.open()
        await it.session.configure(effort="")
        await it.say("And now?")
        assert [wires.effort(provider, body) for body in it.bodies] == ["low", "high", ""]


async def subagent_spawn_and_wait(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = "Write the tests of hello."
    written = ToolCall("write_file", {"file_path": "test_hello.py", "content": "def test_it(): ...\n"})

    def model(body: Any) -> Answer:
        done = wires.results(provider, body)
        if wires.user_texts(provider, body)[0].endswith(task):
            return "The tests are written." if done else [Reasoning("A file."), written]
        if not done:
            return [Reasoning("An agent does it."), ToolCall("spawn_agent", {"task": task})]
        if len(done) == 1:
            (agent_id,) = re.findall(r"Agent (\S+) was started", done[0].text)
            return [ToolCall("wait", {"agent_id": agent_id})]
        return "I have looked at it."

    async with cell(provider, tmp_path, monkeypatch, model=model) as it:
        await it.say("Let an agent write tests.")
        assert it.read("test_hello.py") == "def test_it(): ...\n"  # the subagent works in the same folder
        assert "The tests are written." in it.results[1].text and "Success: true" in it.results[1].text
        assert [(event.status, event.task) for event in it.of(SubagentChanged)] == [
            ("running", task),
            ("completed", task),
        ]
        own = [body for body in it.bodies if wires.user_texts(provider, body)[0].endswith(task)]
        assert len(own) == 2
        assert all(
            "Let an agent" not in str(body) for body in own
        )  # the subagent does not get the main conversation
        assert "spawn_agent" not in wires.offered(provider, own[0])  # a subagent cannot start subagents


async def loop_detection_triggers_warning(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.txt", "a\n")
        again: list[Answer] = [[Reasoning("Again."), ToolCall("read_file", {"file_path": "a.txt"})]] * 10
        it.answers(*again, "I stop.")
        await it.say("Read it.")
        (warned,) = it.of(LoopDetection)
        assert warned.message.startswith("Loop detected: the last 10 tool calls")
        assert warned.message in it.user_texts[-1]
        assert not any("Loop detected" in str(body) for body in it.bodies[:-1])


async def error_recovery(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.py", "x = 1\n")
        it.answers(
            [
                Reasoning("I guess."),
                ToolCall("read_file", {"file_path": "b.py"}),
                ToolCall("no_such_tool", {"a": 1}),
                ToolCall("read_file", {"path": 3}),
                ToolCall("read_file", '{"file_path": "a.p'),
                ToolCall("read_file", {"file_path": "a.py"}),
            ],
            [Reasoning("Once more."), *it.edit("a.py", ("x = 5", "x = 2"))],
            [Reasoning("It is 1."), *it.edit("a.py", ("x = 1", "x = 2"))],
            "Done after all.",
        )
        await it.say("Set x to 2.")
        assert it.read("a.py") == "x = 2\n"
        missing, unknown, wrong, broken, read, *_ = it.results
        assert [result.is_error for result in it.results] == [True] * 4 + [False, True, False]
        assert "b.py" in missing.text and "no_such_tool" in unknown.text and "read_file" in unknown.text
        assert "file_path" in wrong.text and "Invalid arguments" in broken.text
        assert "x = 1" in read.text
        failures = ["edit_conflict", "file_not_found", "unknown_tool", "validation", "validation"]
        assert sorted(end.error_kind for end in it.of(ToolCallEnd)) == ["", "", *failures]


async def provider_specific_editing_format(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.py", "def f():\n    return 1\n\ndef g():\n    return 1\n")
        it.write("old.py", "one\ntwo\n")
        it.write("gone.py", "x\n")
        await (patched if provider == "openai" else replaced)(it)
        names = set(wires.offered(provider, it.bodies[0]))
        assert ("apply_patch" in names, "edit_file" in names) == (provider == "openai", provider != "openai")


async def patched(it: Cell) -> None:
    it.answers(
        [
            patch(
                "*** Add File: new.py\n+made = True\n"
                "*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n"
                "*** Update File: old.py\n*** Move to: moved.py\n@@\n one\n-two\n+three\n"
                "*** Delete File: gone.py\n"
            )
        ],
        "Done.",
    )
    await it.say("Change much.")
    assert not it.results[0].is_error
    assert it.read("a.py") == "def f():\n    return 1\n\ndef g():\n    return 2\n"
    assert (it.read("new.py"), it.read("moved.py")) == ("made = True\n", "one\nthree\n")
    assert not (it.folder / "gone.py").exists() and not (it.folder / "old.py").exists()


async def replaced(it: Cell) -> None:
    def edit(old: str, new: str, **more: Any) -> ToolCall:
        return ToolCall("edit_file", {"file_path": "a.py", "old_string": old, "new_string": new, **more})

    it.answers(
        [edit("return 1", "return 2")],
        [ToolCall("read_file", {"file_path": "a.py"})],
        [edit("return 1", "return 2")],
        [edit("def g():\n    return 1", "def g():\n    return 2")],
        [edit("    return", "    yield", replace_all=True)],
        "Done.",
    )
    await it.say("Change g.")
    unread, _, twice, once, everywhere = it.results
    assert unread.is_error and "read" in unread.text.lower()
    assert twice.is_error and "2" in twice.text and "replace_all" in twice.text
    assert not once.is_error and not everywhere.is_error
    assert it.read("a.py") == "def f():\n    yield 1\n\ndef g():\n    yield 2\n"


CASES: list[Case] = [
    simple_file_creation_task,
    read_file_then_edit_it,
    multi_file_edit_in_one_session,
    shell_command_execution,
    shell_command_timeout_handling,
    grep_and_glob_to_find_files,
    multi_step_task,
    tool_output_truncation,
    parallel_tool_calls,
    steering_mid_task,
    reasoning_effort_change,
    subagent_spawn_and_wait,
    loop_detection_triggers_warning,
    error_recovery,
    provider_specific_editing_format,
]


@pytest.mark.req("P8")
@pytest.mark.parametrize("provider", SERVERS)
@pytest.mark.parametrize("case", CASES)
async def test_parity_matrix_task_succeeds_with_each_provider(
    case: Case, provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await case(provider, tmp_path, monkeypatch)
