from __future__ import annotations

import json

import pytest

from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.walkthrough.script import ScriptedAnswer, load_script, next_answer, python_name

TOOLS = frozenset(("read_file", "edit_file", "shell", "glob"))
TASK = user("fix the discount")


def answered(messages: list[Message], *results: tuple[str, bool]) -> tuple[ScriptedAnswer, list[Message]]:
    """Return the walkthrough's next answer, and the conversation with these results of its calls."""
    move = next_answer(messages, TOOLS)
    calls = tuple(
        ToolCallPart(f"c{len(messages)}-{i}", call.name, json.dumps(call.arguments))
        for i, call in enumerate(move.calls)
    )
    after = [*messages, Message(Role.ASSISTANT, calls)]
    if calls:
        assert len(results) == len(calls)
        after.append(
            tool_results(
                [
                    ToolResultPart(c.id, c.name, text, bad)
                    for c, (text, bad) in zip(calls, results, strict=True)
                ]
            )
        )
    return move, after


def names(move: ScriptedAnswer) -> list[str]:
    return [call.name for call in move.calls]


@pytest.mark.req("H14")
@pytest.mark.parametrize(
    ("platform", "ours", "name"),
    [
        ("linux", "/usr/bin/python3.11", "python3"),
        ("darwin", "/opt/python", "python3"),
        ("win32", r"C:\Python311\python.exe", r"C:\Python311\python.exe"),
        ("win32", r"C:\Program Files\agent-ls\python.exe", r'"C:\Program Files\agent-ls\python.exe"'),
    ],
)
def test_the_command_of_the_walkthrough_uses_an_existing_python(platform: str, ours: str, name: str) -> None:
    assert python_name(platform, ours) == name


OK = ("done", False)
FAILED = ("1 failed\nexit code 1", True)


@pytest.mark.req("H14")
def test_walkthrough_reads_edits_tests_edits_tests_and_finishes() -> None:
    said = []
    messages = [TASK]
    for results in ((OK, OK), (OK,), (FAILED,), (OK,), (OK,)):
        move, messages = answered(messages, *results)
        said.append(names(move))
    assert said == [["read_file", "read_file"], ["edit_file"], ["shell"], ["edit_file"], ["shell"]]
    last = next_answer(messages, TOOLS)
    assert last.calls == () and "All tests pass" in last.say


@pytest.mark.req("H14")
def test_first_text_of_the_walkthrough_starts_with_the_walkthrough_label() -> None:
    assert next_answer([TASK], TOOLS).say.startswith(load_script()["label"])


@pytest.mark.req("H14")
@pytest.mark.parametrize(
    ("denial", "expected"), [("Denied by the user: too slow", "too slow"), ("denied: not now", "not now")]
)
def test_walkthrough_ends_and_repeats_the_reason_if_the_command_is_denied(denial: str, expected: str) -> None:
    messages = [TASK]
    for results in ((OK, OK), (OK,), ((denial, True),)):
        _, messages = answered(messages, *results)
    move = next_answer(messages, TOOLS)
    assert move.calls == () and expected in move.say and "All tests pass" not in move.say


@pytest.mark.req("H14")
def test_walkthrough_reads_the_file_again_and_retries_once_if_an_edit_fails() -> None:
    messages = [TASK]
    for results in ((OK, OK), (("old_string not found", True),)):
        _, messages = answered(messages, *results)
    again, messages = answered(messages, OK)
    assert names(again) == ["read_file"]
    retry, messages = answered(messages, ("old_string not found", True))
    assert names(retry) == ["edit_file"]
    assert next_answer(messages, TOOLS).calls == ()


@pytest.mark.req("H14")
def test_walkthrough_acknowledges_a_steer_and_edits_the_change_log() -> None:
    messages = [TASK]
    for results in ((OK, OK), (OK,)):
        _, messages = answered(messages, *results)
    messages.append(user("please note it in the change log"))
    move, messages = answered(messages, FAILED)
    assert "please note it" in move.say and names(move) == ["shell"]
    for results in ((OK,), (OK,)):
        move, messages = answered(messages, *results)
        assert "please note it" not in move.say
    read, messages = answered(messages, OK)
    assert read.calls[0].arguments == {"file_path": "CHANGES.md"}
    edit, messages = answered(messages, OK)
    assert edit.calls[0].arguments["file_path"] == "CHANGES.md"
    assert next_answer(messages, TOOLS).calls == ()


@pytest.mark.req("H14")
def test_walkthrough_without_the_sample_project_ends_and_names_the_demo_command() -> None:
    messages = [TASK]
    _, messages = answered(messages, ("File not found", True), ("File not found", True))
    move = next_answer(messages, TOOLS)
    assert move.calls == () and "agent-ls demo" in move.say


def test_walkthrough_starts_over_at_a_second_task() -> None:
    messages = [TASK]
    for results in ((OK, OK), (OK,), (OK,)):
        _, messages = answered(messages, *results)
    messages += [Message(Role.ASSISTANT, ()), user("again")]
    assert names(next_answer(messages, TOOLS)) == ["read_file", "read_file"]


def test_walkthrough_without_a_required_tool_ends_and_names_the_tool() -> None:
    move = next_answer([TASK], frozenset(("read_file", "edit_file")))
    assert move.calls == () and "shell" in move.say
