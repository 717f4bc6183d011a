"""Native names: tools with the names and parameters of the model maker's own agent, on each native wire (P7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.calls.arguments import ArgumentsError, parse_arguments
from agent_ls.loop.events.types import PlanChanged, ToolCallEnd, ToolCallStart
from agent_ls.profiles.create import create_profile, family_presentation
from agent_ls.profiles.options import ProfileOptions
from tests.parity import wires
from tests.parity.cell import SERVERS, cell
from tests.support.loopback import Answer, ToolCall

pytestmark = pytest.mark.req("P7", "P8")
NATIVE = {"nativeToolNames": True}
each = pytest.mark.parametrize("provider", SERVERS)
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
REPLACED = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
CALLS: dict[str, list[ToolCall]] = {
    "anthropic": [
        ToolCall("Read", {"file_path": "a.py", "offset": 1, "limit": 5}),
        ToolCall("Grep", {
            "pattern": "X =", "-i": True, "-A": 0, "glob": "*.py", "head_limit": 1, "output_mode": "content",
        }),
        ToolCall("Edit", REPLACED),
        ToolCall("Bash", {"command": "cat a.py", "timeout": 20_000, "description": "Shows it"}),
        ToolCall("TodoWrite", {"todos": [
            {"content": "One", "status": "completed", "activeForm": "Doing one"},
            {"content": "Two", "status": "in_progress", "activeForm": "Doing two"},
        ]}),
        ToolCall("Glob", {"pattern": "*.py"}),
    ],
    "openai": [
        ToolCall("read_file", {"file_path": "a.py", "offset": 1, "limit": 5}),
        ToolCall("grep_files", {"pattern": "x =", "include": "*.py", "limit": 1}),
        ToolCall("apply_patch", {"input": PATCH}),
        ToolCall("exec_command", {"cmd": "cat a.py", "workdir": ".", "yield_time_ms": 20_000}),
        ToolCall("update_plan", {"explanation": "So.", "plan": [
            {"step": "One", "status": "completed"}, {"step": "Two", "status": "in_progress"},
        ]}),
        ToolCall("list_dir", {"dir_path": ".", "depth": 2, "limit": 9}),
    ],
    "gemini": [
        ToolCall("read_many_files", {"include": ["a.py"]}),
        ToolCall("search_file_content", {"pattern": "x =", "include": "*.py", "dir_path": "."}),
        ToolCall("replace", {**REPLACED, "instruction": "Two.", "expected_replacements": 1}),
        ToolCall("run_shell_command", {"command": "cat a.py", "dir_path": ".", "description": "Shows it"}),
        ToolCall("write_todos", {"todos": [
            {"description": "One", "status": "completed"}, {"description": "Two", "status": "in_progress"},
            {"description": "Three", "status": "cancelled"},
        ]}),
        ToolCall("list_directory", {"dir_path": ".", "ignore": ["*.txt"]}),
    ],
}  # fmt: skip


@each
async def test_session_with_native_names_executes_the_tool_calls_of_the_model_family(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch, settings=NATIVE) as it:
        it.write("a.py", "x = 1\n")
        it.answers(*[[call] for call in CALLS[provider]], "Done.")
        await it.say("Set x to 2.")
        read, found, edited, shown, _, listed = it.results
        assert not any(result.is_error for result in it.results), it.results
        assert "x = 1" in read.text and "a.py:1:x = 1" in found.text and "x = 2" in shown.text
        assert it.read("a.py") == "x = 2\n" and edited.text and "a.py" in listed.text
        assert [end.name for end in it.of(ToolCallEnd)] == [call.name for call in CALLS[provider]]
        (plan,) = it.of(PlanChanged)
        assert [(item.text, item.status) for item in plan.items] == [("One", "done"), ("Two", "active")]
        summaries = [start.summary for start in it.of(ToolCallStart)]
        assert "a.py" in summaries[0] and "cat a.py" in summaries[3] and "1 of 2 done: Two" in summaries[4]
        offered = set(wires.offered(provider, it.bodies[0]))
        shapes = family_presentation(provider)
        assert not offered & set(shapes.name_mapping()) - set(shapes.native_names())


@each
async def test_tools_by_default_have_agent_ls_names_and_the_model_familys_parameters(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = {theirs: ours for ours, theirs in family_presentation(provider).name_mapping().items()}
    own_steps = {"exec_command", "list_dir"}  # with native names these two differ by more than their names
    calls = [
        ToolCall(native.get(call.name, call.name), call.arguments)
        for call in CALLS[provider]
        if call.name not in own_steps
    ]
    async with cell(provider, tmp_path, monkeypatch) as it:
        it.write("a.py", "x = 1\n")
        it.answers(*[[call] for call in calls], "Done.")
        await it.say("Set x to 2.")
        assert not any(result.is_error for result in it.results), it.results
        assert it.read("a.py") == "x = 2\n"
        assert {call.name for call in calls} <= set(wires.offered(provider, it.bodies[0]))


@each
async def test_output_limit_of_shell_also_applies_under_its_native_name(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, argument = {
        "anthropic": ("Bash", "command"), "openai": ("exec_command", "cmd"), "gemini": ("run_shell_command", "command"),
    }[provider]  # fmt: skip
    async with cell(provider, tmp_path, monkeypatch, settings=NATIVE) as it:
        it.answers([ToolCall(name, {argument: "seq 1 1000"})], "Done.")
        await it.say("Count.")
        assert (
            "lines omitted" in it.results[0].text
        )  # the limit of `shell`, 256 lines, also applies under the native name


@each
async def test_agent_ls_tool_names_are_accepted_and_documented_with_native_names(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch, settings=NATIVE) as it:
        it.answers([ToolCall("shell", {"command": "echo there", "working_dir": "."})], "Done.")
        await it.say("Is it there?")
        assert "there" in it.results[0].text and not it.results[0].is_error
        prompt = wires.instructions(provider, it.bodies[0])
        native = family_presentation(provider).name_mapping()["shell"]
        assert f"shell is {native}" in prompt and f"- {native}: " in prompt


@each
def test_wrong_native_arguments_are_reported_by_the_names_that_the_model_knows(provider: str) -> None:
    profile = create_profile(provider, options=ProfileOptions(native_names=True))
    grep = profile.registry.lookup("grep")
    assert grep and grep.kind == "grep"
    theirs = {"anthropic": "glob", "openai": "include", "gemini": "include"}[provider]
    arguments: Any = parse_arguments(f'{{"pattern": "x", "{theirs}": "*.py"}}', grep.arguments)
    assert arguments.glob_filter == "*.py"
    assert parse_arguments(f'{{"pattern": "x", "{theirs}": null}}', grep.arguments)
    with pytest.raises(ArgumentsError, match=f"known: .*{theirs}"):
        parse_arguments('{"pattern": "x", "nonsense": 1}', grep.arguments)


# --- tools with steps of their own


async def test_task_tool_of_claude_code_returns_the_report_of_the_subagent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "Look for it."

    def model(body: Any) -> Answer:
        if wires.user_texts("anthropic", body)[0].endswith(task):
            return "It is in a.py."
        done = wires.results("anthropic", body)
        call = ToolCall("Task", {"description": "Looks", "prompt": task, "subagent_type": "Explore"})
        return "Found." if done else [call, call]

    async with cell("anthropic", tmp_path, monkeypatch, model=model, settings=NATIVE) as it:
        await it.say("Where is it?")
        assert ["is in a.py" in result.text and "Success: true" in result.text for result in it.results] == [
            True,
            True,
        ]


async def test_bash_output_reads_and_kill_shell_ends_a_background_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "echo one; echo two; echo end > printed; sleep 300"

    def model(body: Any) -> Answer:
        done = wires.results("anthropic", body)
        found = re.findall(r"process (p\d+)", done[0].text) if done else []
        match len(done):
            case 0:
                return [ToolCall("Bash", {"command": command, "run_in_background": True})]
            case 1:
                return [ToolCall("Bash", {"command": "until [ -e printed ]; do sleep 0.05; done"})]
            case 2:
                return [ToolCall("BashOutput", {"bash_id": found[0], "filter": "^t"})]
            case 3:
                return [ToolCall("KillShell", {"shell_id": found[0]})]
            case _:
                return "Done."

    async with cell("anthropic", tmp_path, monkeypatch, model=model, settings=NATIVE) as it:
        await it.say("Start it.")
        _, _, read, killed = it.results
        assert "two" in read.text and "one" not in read.text and "running" in read.text
        assert not killed.is_error and "ended" in killed.text


async def test_exec_command_keeps_running_after_its_yield_and_write_stdin_writes_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(body: Any) -> Answer:
        done = wires.results("openai", body)
        match len(done):
            case 0:
                return [ToolCall("exec_command", {"cmd": "read x; echo got $x; exit 3", "yield_time_ms": 1})]
            case 1:
                (session,) = re.findall(r"session ID (\S+)\. ", done[0].text)
                return [
                    ToolCall("write_stdin", {"session_id": session, "chars": "it\n", "yield_time_ms": 20_000})
                ]
            case _:
                return "Done."

    async with cell("openai", tmp_path, monkeypatch, model=model, settings=NATIVE) as it:
        await it.say("Ask it.")
        started, answered = it.results
        assert "with session ID" in started.text and not started.is_error
        assert "got it" in answered.text and "Exit code: 3" in answered.text
        assert [end.exit_code for end in it.of(ToolCallEnd)] == [None, 3]


async def test_list_dir_of_openai_models_lists_a_folder_or_finds_files_by_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell("openai", tmp_path, monkeypatch, settings=NATIVE) as it:
        it.write("src/deep/a.py", "x\n")
        it.answers(
            [ToolCall("list_dir", {"dir_path": "src"})],
            [ToolCall("list_dir", {"pattern": "**/*.py"})],
            [ToolCall("glob", {"pattern": "**/*.py", "path": "src"})],
            "Done.",
        )
        await it.say("What is there?")
        assert [result.text.splitlines()[0] for result in it.results] == [
            "deep/",
            "src/deep/a.py",
            "src/deep/a.py",
        ]


async def test_save_memory_of_gemini_appends_a_line_to_gemini_md(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell("gemini", tmp_path, monkeypatch, settings=NATIVE) as it:
        it.write("GEMINI.md", "# Rules\n")
        it.answers([ToolCall("save_memory", {"fact": "Tests run with  tox."})], "I will.")
        await it.say("Remember that tests run with tox.")
        assert it.read("GEMINI.md") == "# Rules\n\n- Tests run with tox.\n"
