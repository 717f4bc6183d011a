"""The names and parameters that a family's models know from their maker's own agent, on each native wire (P7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.loop.events import ToolCallEnd
from agent_ls.profiles.native import NATIVE
from tests.parity import wires
from tests.parity.cell import SERVERS, cell
from tests.support.loopback import ToolCall

pytestmark = [pytest.mark.req("P7", "P8"), pytest.mark.parametrize("provider", SERVERS)]
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
REPLACED = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
CALLS: dict[str, list[ToolCall]] = {
    "anthropic": [
        ToolCall("Read", {"file_path": "a.py"}),
        ToolCall("Grep", {"pattern": "X =", "-i": True, "glob": "*.py", "head_limit": 1, "output_mode": "content"}),
        ToolCall("Edit", REPLACED),
        ToolCall("Bash", {"command": "cat a.py", "timeout": 20_000}),
    ],
    "openai": [
        ToolCall("read_file", {"file_path": "a.py"}),
        ToolCall("grep_files", {"pattern": "x =", "include": "*.py", "limit": 1}),
        ToolCall("apply_patch", {"input": PATCH}),
        ToolCall("shell_command", {"command": "cat a.py", "workdir": "."}),
    ],
    "gemini": [
        ToolCall("read_many_files", {"include": ["a.py"]}),
        ToolCall("search_file_content", {"pattern": "x =", "include": "*.py", "dir_path": "."}),
        ToolCall("replace", REPLACED),
        ToolCall("run_shell_command", {"command": "cat a.py", "dir_path": "."}),
    ],
}  # fmt: skip


async def test_session_when_native_names_are_set_then_the_model_works_with_them(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch, settings={"nativeToolNames": True}) as it:
        it.write("a.py", "x = 1\n")
        it.answers(*[[call] for call in CALLS[provider]], "Done.")
        await it.say("Set x to 2.")
        read, found, edited, shown = it.results
        assert not any(result.is_error for result in it.results), it.results
        assert "x = 1" in read.text and "a.py:1:x = 1" in found.text and "x = 2" in shown.text
        assert it.read("a.py") == "x = 2\n" and edited.text
        assert [end.name for end in it.of(ToolCallEnd)] == [call.name for call in CALLS[provider]]
        names = wires.offered(provider, it.bodies[0])
        for ours, native in NATIVE[provider].items():
            is_web = ours.startswith("web_")
            assert (native.name in names) is not is_web
            assert ours == native.name or ours not in names


async def test_session_when_native_names_are_set_then_limits_of_output_are_those_of_the_tool(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = {"anthropic": "Bash", "openai": "shell_command", "gemini": "run_shell_command"}[provider]
    async with cell(provider, tmp_path, monkeypatch, settings={"nativeToolNames": True}) as it:
        it.answers([ToolCall(shell, {"command": "seq 1 1000"})], "Done.")
        await it.say("Count.")
        assert "lines omitted" in it.results[0].text  # 256 lines are what shell is given


async def test_session_when_native_names_are_set_then_our_names_are_still_understood_and_told(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cell(provider, tmp_path, monkeypatch, settings={"nativeToolNames": True}) as it:
        it.answers([ToolCall("shell", {"command": "echo there", "working_dir": "."})], "Done.")
        await it.say("Is it there?")
        assert "there" in it.results[0].text and not it.results[0].is_error
        prompt = wires.instructions(provider, it.bodies[0])
        native = NATIVE[provider]["shell"].name
        assert f"shell is {native}" in prompt and f"- {native}: " in prompt


def test_native_arguments_when_wrong_then_are_told_by_the_names_that_the_model_knows(provider: str) -> None:
    from agent_ls.loop.arguments import ArgumentsError, parse_arguments
    from agent_ls.profiles.create import create_profile
    from agent_ls.profiles.family import ProfileOptions

    profile = create_profile(provider, options=ProfileOptions(native_names=True))
    grep = profile.registry.lookup("grep")
    assert grep and grep.kind == "grep"
    theirs = NATIVE[provider]["grep"].parameters["glob_filter"]
    arguments: Any = parse_arguments(f'{{"pattern": "x", "{theirs}": "*.py"}}', grep.arguments)
    assert arguments.glob_filter == "*.py"
    assert parse_arguments(f'{{"pattern": "x", "{theirs}": null}}', grep.arguments)
    with pytest.raises(ArgumentsError, match=f"known: .*{theirs}"):
        parse_arguments('{"pattern": "x", "nonsense": 1}', grep.arguments)
