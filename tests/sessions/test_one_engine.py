"""Every effect is judged by the policy engine.

Each registered tool is called with an approver that denies everything; an effect that still happens was not judged.
The second test lists every caller in the code that can have an effect.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.environments.base import CommandOptions, ExecResult, OutputSink
from agent_ls.environments.effects import Effect, NoEffect, ReadEffect
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.features.packs.catalog import CODE_TOOLS
from agent_ls.features.tools.yaml_tools import OwnTools, load_cli_tools, own_names
from agent_ls.loop.calls.approval import Allowed, ApprovalQuestion, Decision, Denied
from agent_ls.loop.config import SessionConfig
from agent_ls.loop.events.types import ApprovalRequested, ToolCallEnd
from agent_ls.profiles.create import create_profile, family_tools
from agent_ls.profiles.options import ProfileOptions
from agent_ls.tools.base import Tool
from agent_ls.tools.remember import REMEMBER
from agent_ls.tools.web_fetch import WebPage, web_fetch
from agent_ls.tools.web_search import WebSearchResult, web_search
from tests.support.fake_provider import FakeProvider, text, tool_call
from tests.support.sessions import running_session

pytestmark = pytest.mark.req("X8")

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch"
HARMLESS = (NoEffect, ReadEffect)

# Arguments with which each tool would have its largest effect.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "shell": {"command": "touch made"},
    "Bash": {"command": "touch made"},
    "exec_command": {"cmd": "touch made", "yield_time_ms": 100},
    "write_stdin": {"session_id": "p1", "chars": "touch made\n"},
    "BashOutput": {"bash_id": "p1"},
    "KillShell": {"shell_id": "p1"},
    "Task": {"prompt": "x"},
    "TaskOutput": {"task_id": "agent_1"},
    "TaskStop": {"task_id": "agent_1"},
    "SendMessage": {"to": "agent_1", "message": "x"},
    "TodoWrite": {"todos": [{"content": "x", "status": "in_progress"}]},
    "write_todos": {"todos": [{"description": "x", "status": "in_progress"}]},
    "AskUserQuestion": {"questions": [{"question": "x"}]},
    "request_user_input": {"questions": [{"question": "x"}]},
    "save_memory": {"fact": "x"},
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
    "update_plan": {"plan": [{"step": "x", "status": "in_progress"}]},
    "think": {"thought": "x"},
    "submit": {"result": "x"},
    "ask_user": {"question": "x"},
    "spawn_agent": {"task": "x"},
    "send_input": {"agent_id": "agent_1", "message": "x"},
    "wait": {"agent_id": "agent_1"},
    "close_agent": {"agent_id": "agent_1"},
    "search_history": {"query": "x"},
    "delete_file": {"file_path": "a.txt"},
    "move_file": {"source": "a.txt", "target": "b.txt"},
    "copy_file": {"source": "a.txt", "target": "b.txt"},
    "create_file": {"file_path": "new.txt", "content": "mine\n"},
    "append_file": {"file_path": "a.txt", "content": "mine\n"},
    "read_lines": {"file_path": "a.txt", "first_line": 1, "last_line": 1},
    "head": {"file_path": "a.txt"},
    "tail": {"file_path": "a.txt"},
    "reflect": {"attempt": "x", "outcome": "x", "next_step": "x"},
    "summarize": {"done": "x"},
    "abort": {"reason": "x"},
    "remember": {"note": "x"},
    "custom": {"value": "x"},
    "launch": {"what": "x"},
    "server__tool": {"what": "x"},
}


@agent_ls.tool(category="write")
async def launch(what: str) -> str:
    """A tool that acts without reporting an effect."""
    DONE.append(what)
    return "done"


@agent_ls.tool(category="admin", name="server__tool")
async def nested(what: str) -> str:
    """A function tool with a name like those of MCP server tools."""
    DONE.append(what)
    return "done"


DONE: list[str] = []

TESTED_ELSEWHERE = {
    *("search_history", "NotebookEdit", "edit_notebook", "report_finding", "use_skill"),
    *("definition", "references", "symbols", "rename_symbol", "diagnostics"),  # need an editor
    *("hover", "implementations", "call_hierarchy", "code_actions", "apply_code_action"),
    *("find_tools", "call_tool", "read_resource"),  # need servers
}


def every_tool(tmp_path: Path) -> dict[str, Tool[Any]]:
    (tmp_path / "tools.yaml").write_text(
        "tools:\n  - {name: custom, description: d, category: read, cmd: touch, args: ['{{value}}'], "
        "parameters: {value: {type: string}}}\n"
    )
    loaded = load_cli_tools(tmp_path, None, trusted=False)
    assert loaded.problems == ()
    found: dict[str, Tool[Any]] = {tool.name: tool for tool in (launch, nested, REMEMBER)}
    for name, place in CODE_TOOLS.items():
        module, _, attribute = place.partition(":")
        found[f"pack {name}"] = getattr(importlib.import_module(f"agent_ls.tools.{module}"), attribute)
    families = (("anthropic", ""), ("openai", ""), ("gemini", ""), ("compatible", "any"))
    for (family, model), native in product(families, (False, True)):
        every = ProfileOptions(think=True, submit=True, native_names=native)
        profile = create_profile(family, model, options=every)
        OwnTools(loaded.tools, {}, lambda values: None).add_tools(profile)
        registry = profile.registry
        tools = [tool for name in registry.names() if (tool := registry.lookup(name))]
        for web in (web_fetch(Web()), web_search(Web())):
            tools += family_tools(web, family, native_names=native)
        found |= {f"{family} {tool.name}": tool for tool in tools}
    return found


class Web:
    """A WebFetcher and WebSearcher that fails the test when it is called."""

    def private_address(self, url: str) -> str:
        return ""

    async def fetch(self, url: str, private_address: str) -> WebPage:
        DONE.append(url)
        return WebPage(url, 200)

    async def search(self, query: str) -> WebSearchResult:
        DONE.append(query)
        return WebSearchResult("found")


class Refusing:
    """An Approver that denies everything and records the questions."""

    def __init__(self) -> None:
        self.asked: list[ApprovalQuestion] = []

    async def decide(self, question: ApprovalQuestion) -> Decision:
        self.asked.append(question)
        return Denied("the test says no")

    async def allow_unasked(self, question: ApprovalQuestion) -> Allowed | None:
        return None

    async def resume(self, request: ApprovalRequested, question: ApprovalQuestion | None) -> Decision:
        raise AssertionError("nothing is resumed here")


async def never(command: str, options: CommandOptions, on_output: OutputSink | None) -> ExecResult:
    raise AssertionError(f"{command} ran unasked")


async def tried(tool: Tool[Any]) -> tuple[Sequence[ApprovalQuestion], Sequence[ToolCallEnd], bytes]:
    environment = MemoryEnvironment({"a.txt": "one\n"}, run_command=never)
    approver = Refusing()
    model = FakeProvider([tool_call(tool.name, json.dumps(ARGUMENTS[tool.name])), text("Done.")])
    config = SessionConfig(read_first="overwrite")
    async with running_session(model, tool, approver=approver, environment=environment, config=config) as b:
        await b.say("go")
    content = await environment.read_bytes("a.txt")
    return approver.asked, b.recorder.of(ToolCallEnd), content


async def test_no_tool_of_any_model_family_has_an_effect_if_the_policy_denies(tmp_path: Path) -> None:
    tools = every_tool(tmp_path)
    names = {tool.name for tool in tools.values()}
    assert own_names() - TESTED_ELSEWHERE <= names
    assert names <= ARGUMENTS.keys(), "a new tool: say here with which arguments it does the most"
    for tool in tools.values():
        name = tool.name
        DONE.clear()
        asked, (end,), content = await tried(tool)
        assert len(asked) == 1, f"{name} was not judged: {end.output}"
        assert asked[0].category == tool.category and asked[0].tool == name
        assert (end.is_error, end.error_kind) == (True, "permission_denied"), name
        assert content == b"one\n" and not DONE, name
        if tool.category == "read" and name != "custom" and tool.kind not in ("web_fetch", "web_search"):
            assert isinstance(asked[0].effect, HARMLESS), f"{name} says that it is read-only"
        else:
            effect: Effect = asked[0].effect
            assert not isinstance(effect, HARMLESS), f"{name} would act, and names no effect"


# Callers that may change files or run processes. A new entry must say where the policy was applied before the call.
ACTING = {"commit", "exec_command", "start_process", "write_process", "kill_process", "fetch"}
KNOWN_CALLERS = {
    "tools/file_commits.py": "the tools' own commit: run() of a prepared WriteEffect",
    "tools/shell.py": "run() of a prepared CommandEffect",
    "tools/cli_tool.py": "run() of a prepared CallEffect",
    "tools/processes.py": "run() of a prepared ProcessEffect",
    "tools/web_fetch.py": "run() of a prepared FetchEffect",
    "profiles/git_snapshot.py": "git, asked for facts; hooks and filters of the repository off",
    "loop/calls/terminals.py": "what a person ends",
    "services/changes/commands.py": "what a command changed, carried into an open document",
    "services/changes/environment.py": "what a person keeps, undoes and takes back",
    "testing/environment.py": "the suite that somebody's own environment is held against",
    "sessions/workspaces/followed_undos.py": "what a person undid, carried into the worktree of the session",
    "sessions/workspaces/worktree.py": "changes of a worktree, judged by the policy in the user's folder before",
    "features/git/reader.py": "git, asked for differences; hooks, filters and other programs off",
    "features/mentions/reader.py": "its `commit` reads a git commit that the user mentions",
    "sessions/build/hooks.py": "hooks that the user wrote or confirmed",
    "doctor/places.py": "`agent-ls doctor --on`: a command that does nothing, asked for by the user",
    "batch/attempt.py": "the check of a task, which the user wrote into the manifest",
    "batch/remote_machine.py": "work folders of a batch at a place, and git without hooks in them",
    "headless/apply_patch.py": "`agent-ls apply-patch`: the user's own command",
}


def test_only_known_modules_call_environment_methods_that_have_effects() -> None:
    package = Path(agent_ls.__file__).parent
    callers = set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        if name.startswith("environments/") or "sample_project" in name:
            continue
        text = path.read_text()
        if not any(f".{method}(" in text for method in ACTING):
            continue
        for node in ast.walk(ast.parse(text)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in ACTING and not _is_wrapper(called):
                callers.add(name)
    assert callers == KNOWN_CALLERS.keys()


def _is_wrapper(called: ast.Attribute) -> bool:
    """Return whether the call forwards to the wrapped environment."""
    return isinstance(called.value, ast.Attribute) and called.value.attr == "inner"
