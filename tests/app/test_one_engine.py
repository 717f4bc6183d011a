"""Every way to an effect leads through the one engine: each registered tool is tried, and each place that could act.

The approver here stands where the real one stands, and says no to everything. What happens all the same had not asked.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.app.cli_tools import load_cli_tools, own_names, with_cli_tools
from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.environments.effects import Effect, NoEffect, ReadEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.loop.approval import ApprovalQuestion, Decision, Denied
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events import ApprovalRequested, ToolCallEnd
from agent_ls.profiles.create import create_profile
from agent_ls.profiles.family import ProfileOptions
from agent_ls.profiles.native import native_tool
from agent_ls.tools.base import Tool
from agent_ls.tools.web_fetch import Page, web_fetch
from agent_ls.tools.web_search import Found, web_search
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.sessions import bench

pytestmark = pytest.mark.req("X8")

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch"
HARMLESS = (NoEffect, ReadEffect)

# Arguments with which each tool would do the most that it can.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "shell": {"command": "touch made"},
    "Bash": {"command": "touch made"},
    "shell_command": {"command": "touch made"},
    "Write": {"file_path": "new.txt", "content": "mine\n"},
    "Edit": {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"},
    "Read": {"file_path": "a.txt"},
    "Grep": {"pattern": "one"},
    "grep_files": {"pattern": "one"},
    "Glob": {"pattern": "*"},
    "web_fetch": {"url": "https://docs.example/"},
    "WebFetch": {"url": "https://docs.example/"},
    "web_search": {"query": "x"},
    "WebSearch": {"query": "x"},
    "google_web_search": {"query": "x"},
    "run_shell_command": {"command": "touch made"},
    "write_file": {"file_path": "new.txt", "content": "mine\n"},
    "edit_file": {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"},
    "replace": {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"},
    "apply_patch": {"patch": PATCH},
    "processes": {"action": "kill", "process_id": "p1"},
    "read_file": {"file_path": "a.txt"},
    "read_many_files": {"paths": ["a.txt"]},
    "grep": {"pattern": "one"},
    "search_file_content": {"pattern": "one"},
    "glob": {"pattern": "*"},
    "list_dir": {"path": "."},
    "list_directory": {"path": "."},
    "plan": {"items": [{"text": "x", "status": "active"}]},
    "update_plan": {"items": [{"text": "x", "status": "active"}]},
    "think": {"thought": "x"},
    "submit": {"result": "x"},
    "ask_user": {"question": "x"},
    "spawn_agent": {"task": "x"},
    "send_input": {"agent_id": "agent_1", "message": "x"},
    "wait": {"agent_id": "agent_1"},
    "close_agent": {"agent_id": "agent_1"},
    "search_history": {"query": "x"},
    "custom": {"value": "x"},
    "launch": {"what": "x"},
    "server__tool": {"what": "x"},
}


@agent_ls.tool(category="write")
async def launch(what: str) -> str:
    """Does something that nobody sees."""
    DONE.append(what)
    return "done"


@agent_ls.tool(category="admin", name="server__tool")
async def nested(what: str) -> str:
    """Named as the tools of servers are."""
    DONE.append(what)
    return "done"


DONE: list[str] = []


def every_tool(tmp_path: Path) -> dict[str, Tool[Any]]:
    (tmp_path / "tools.yaml").write_text(
        "tools:\n  - {name: custom, description: d, category: read, cmd: touch, args: ['{{value}}'], "
        "parameters: {value: {type: string}}}\n"
    )
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.problems == ()
    every = ProfileOptions(plan=True, ask_user=True, think=True, submit=True, subagents=True)
    found: dict[str, Tool[Any]] = {tool.name: tool for tool in (launch, nested)}
    for family, model in (("anthropic", ""), ("openai", ""), ("gemini", ""), ("compatible", "any")):
        profiles = with_cli_tools(
            lambda provider, name: create_profile(provider, name, options=every), loaded.tools, {}
        )
        registry = profiles(family, model).registry
        tools = [tool for name in registry.names() if (tool := registry.lookup(name))]
        tools += [web_fetch(Web()), web_search(Web())]
        found |= {tool.name: tool for tool in (*tools, *(native_tool(tool, family) for tool in tools))}
    return found


class Web:
    """ADAPTER WebPages and WebSearches: whoever asks it anything has acted."""

    def private_address(self, url: str) -> str:
        return ""

    async def fetch(self, url: str, private_address: str) -> Page:
        DONE.append(url)
        return Page(url, 200)

    async def search(self, query: str) -> Found:
        DONE.append(query)
        return Found("found")


class Refusing:
    """ADAPTER Approver that lets nothing pass, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalQuestion] = []

    async def decide(self, question: ApprovalQuestion) -> Decision:
        self.asked.append(question)
        return Denied("the test says no")

    async def is_free(self, question: ApprovalQuestion) -> bool:
        return False

    async def resume(self, request: ApprovalRequested) -> Decision:
        raise AssertionError("nothing is resumed here")


async def never(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
    raise AssertionError(f"{command} ran unasked")


async def tried(tool: Tool[Any]) -> tuple[Sequence[ApprovalQuestion], Sequence[ToolCallEnd], bytes]:
    environment = MemoryEnvironment({"a.txt": "one\n"}, run_command=never)
    approver = Refusing()
    model = FakeProvider([tool_call(tool.name, json.dumps(ARGUMENTS[tool.name])), text("Done.")])
    config = SessionConfig(read_first="overwrite")
    async with bench(model, tool, approver=approver, environment=environment, config=config) as b:
        await b.say("go")
    content = await environment.read_bytes("a.txt")
    return approver.asked, b.recorder.of(ToolCallEnd), content


async def test_no_tool_of_any_family_acts_when_the_engine_says_no(tmp_path: Path) -> None:
    tools = every_tool(tmp_path)
    assert own_names() - {"search_history"} <= tools.keys()
    assert tools.keys() <= ARGUMENTS.keys(), "a new tool: say here with which arguments it does the most"
    for name, tool in tools.items():
        DONE.clear()
        asked, (end,), content = await tried(tool)
        assert len(asked) == 1, f"{name} was not judged: {end.output}"
        assert asked[0].category == tool.category and asked[0].tool == name
        assert (end.is_error, end.error_kind) == (True, "permission_denied"), name
        assert content == b"one\n" and not DONE, name
        if tool.category == "read" and name != "custom" and tool.kind != "web_fetch":
            assert isinstance(asked[0].effect, HARMLESS), f"{name} says that it only looks"
        else:
            effect: Effect = asked[0].effect
            assert not isinstance(effect, HARMLESS), f"{name} would act, and names no effect"


# Who may call what changes the world. Whoever is new here has to say why the engine was asked before.
ACTING = {"commit", "exec_command", "start_process", "write_process", "kill_process", "fetch"}
KNOWN_CALLERS = {
    "tools/planned.py": "the tools' own commit: run() of a prepared WriteEffect",
    "tools/shell.py": "run() of a prepared CommandEffect",
    "tools/cli_tool.py": "run() of a prepared CallEffect",
    "tools/processes.py": "run() of a prepared ProcessEffect",
    "tools/web_fetch.py": "run() of a prepared FetchEffect",
    "profiles/git_snapshot.py": "git, asked for facts; hooks and filters of the repository off",
    "loop/terminals.py": "what a person ends",
    "app/filed_changes.py": "what a command changed, carried into an open document",
    "app/reviewed_environment.py": "hunks that a person kept",
    "app/verdicts.py": "what a person undoes",
    "app/rolling_back.py": "what a person takes back",
    "testing/environment.py": "the suite that somebody's own environment is held against",
    "headless/apply_patch.py": "`agent-ls apply-patch`: the user's own command",
}


def test_nobody_else_calls_what_changes_the_world() -> None:
    package = Path(agent_ls.__file__).parent
    callers = set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if name.startswith("environments/") or "sample_project" in name:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ACTING and not _is_wrapper(called):
                callers.add(name)
    assert callers == KNOWN_CALLERS.keys()


def _is_wrapper(called: ast.Attribute) -> bool:
    """An environment that passes on to the one within."""
    return isinstance(called.value, ast.Attribute) and called.value.attr == "inner"
