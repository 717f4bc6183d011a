"""Run the programs of examples/ as their first lines describe, with a provider on this machine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.docs.examples import library_text
from tests.docs.pages import ROOT, read
from tests.support.commands import DEADLINE_S, environment
from tests.support.loopback import Answer, AnthropicServer, ToolCall

pytestmark = pytest.mark.req("H13")

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))

RUNS: dict[str, tuple[list[str], list[Answer], str]] = {
    "five_lines.py": (["{folder}", "hello"], ["Hi there."], "Hi there."),
    "own_tool.py": (
        ["{folder}", "the price?"],
        [[ToolCall("price_of", {"fruit": "pear"})], "1.80 euros."],
        "1.80 euros.",
    ),
    "own_approver.py": (
        ["{folder}", "go"],
        [
            [ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})],
            [ToolCall("shell", {"command": "touch no.txt"})],
            "I would have run touch.",
        ],
        "I would have run touch.\n{folder}/new.txt",
    ),
    "own_provider.py": (["{folder}", "hello"], [], "You said: hello"),
    "blocking.py": (
        ["{folder}", "go"],
        [
            [ToolCall("ask_user", {"question": "Which?", "choices": ["left", "right"]})],
            [ToolCall("write_file", {"file_path": "new.txt", "content": "x\n"})],
            [ToolCall("shell", {"command": "touch no.txt"})],
            "Moved left.",
        ],
        "Moved left.",
    ),
    "in_memory.py": (
        ["add bread"],
        [[ToolCall("write_file", {"file_path": "bread.txt", "content": "bread\n"})], "Added."],
        "Added.\nmilk\neggs\n",
    ),
    "ci_fixer.py": (
        ["{folder}", "test -f fixed.txt"],
        [
            [ToolCall("shell", {"command": "test -f fixed.txt"})],
            [ToolCall("write_file", {"file_path": "fixed.txt", "content": "yes\n"})],
            [ToolCall("shell", {"command": "test -f fixed.txt"})],
            "It passes.",
        ],
        "+yes\n\n0\n",
    ),
    "evaluation.py": (
        ["{folder}/tasks"],
        [[ToolCall("write_file", {"file_path": "a.txt", "content": "b\n"})], "Done.", "I give up."],
        "1 of 2 solved",
    ),
    "tool_with_state.py": (
        ["{folder}", "look"],
        [[ToolCall("note", {"text": "It is empty."})], [ToolCall("notes_so_far", {})], "Done."],
        "- It is empty.\n",
    ),
    "counting_environment.py": (
        ["{folder}", "write"],
        [[ToolCall("write_file", {"file_path": "a.txt", "content": "b\n"})], "Written."],
        "1 changed files",
    ),
    "script_table.py": (
        ["{folder}/scripts.db", "slower"],
        [
            [ToolCall("players_online", {})],
            [ToolCall("write_file", {"file_path": "dragon.lua", "content": "speed = 1\n"})],
            "It is slower.",
        ],
        "/scripts/dragon.lua: +1 -0\nIt is slower.",
    ),
    "two_agents.py": (["{folder}", "a poem"], ["Roses.", "More.", "Roses, violets.", "OK"], "reviewer: OK\n"),
    "review_sarif.py": (
        ["{folder}"],
        [
            [ToolCall("report", {"path": "a.py", "line": 3, "level": "note", "message": "Odd."})],
            "One finding.",
        ],
        '"startLine": 3',
    ),
    "compare_models.py": (
        ["{folder}", "Teach me.", "Why?", "claude-opus-4-6", "claude-opus-4-6"],
        ["A lesson.", "Because.", "Because."],
        "claude-opus-4-6: Because.",
    ),
    "terminal_chat.py": (
        ["{folder}"],
        [
            [ToolCall("shell", {"command": "touch no.txt"})],
            [ToolCall("ask_user", {"question": "Which?", "choices": ["left", "right"]})],
            "Left it is.",
        ],
        "Left it is.",
    ),
}
SERVED = ["chat_bridge.py", "web_socket.py"]  # have tests of their own
TYPED = "go\nn\nleft\n\n"
TASKS = {
    "one.json": {"files": {}, "task": "write b", "expect": {"a.txt": "b\n"}},
    "two.json": {"files": {"c": "d"}, "task": "change c", "expect": {"c": "e"}},
}


def test_every_example_program_has_a_test_run_and_is_listed_in_docs_library() -> None:
    page = library_text()
    assert {*RUNS, *SERVED} == set(EXAMPLES)
    assert [name for name in EXAMPLES if f"examples/{name}" not in page] == []
    assert [name for name in EXAMPLES if len(read(f"examples/{name}").splitlines()) >= 80] == []
    first = (ROOT / "examples" / "five_lines.py").read_text()
    assert first[first.index("async def main") :] in page


# Each is a start of Python of its own: `make test` proves one of them.
OTHERS = [
    pytest.param(name, marks=pytest.mark.group("conformance")) for name in RUNS if name != "five_lines.py"
]


@pytest.mark.parametrize("name", ["five_lines.py", *OTHERS])
def test_each_example_works_as_described(name: str, tmp_path: Path) -> None:
    arguments, answers, expected = RUNS[name]
    folder = tmp_path / "project"
    (folder / "tasks").mkdir(parents=True)
    for task, content in TASKS.items():
        (folder / "tasks" / task).write_text(json.dumps(content))
    with AnthropicServer(answers) as provider:
        environ = environment(tmp_path, ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL=provider.base_url)
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / name), *(it.format(folder=folder) for it in arguments)],
            env=environ,
            cwd=tmp_path,
            input=TYPED,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert expected.format(folder=folder) in done.stdout
    assert not (folder / "no.txt").exists()


def test_the_web_socket_example_sends_events_and_takes_approvals(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    answers: list[Answer] = [[ToolCall("shell", {"command": "touch yes.txt"})], "Done."]
    with AnthropicServer(answers) as provider, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        environ = environment(
            tmp_path,
            ANTHROPIC_API_KEY="sk-test",
            ANTHROPIC_BASE_URL=provider.base_url,
            PROJECT=str(folder),
        )
        command = [sys.executable, "-m", "uvicorn", "--app-dir", str(ROOT / "examples"), "--fd"]
        server = subprocess.Popen(
            [*command, str(listening.fileno()), "web_socket:app"],
            env=environ,
            cwd=tmp_path,
            pass_fds=[listening.fileno()],
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(f"ws://127.0.0.1:{port}/agent", open_timeout=DEADLINE_S, proxy=None) as page:
                page.send(json.dumps({"text": "go"}))
                kinds = list(_answer_until_the_end(page))
        finally:
            server.terminate()
            server.wait(DEADLINE_S)
    assert kinds[-1] == "processing_end" and "approval_resolved" in kinds
    assert (folder / "yes.txt").exists()


def test_the_bridge_example_takes_decisions_from_its_channel(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    answers: list[Answer] = [
        [ToolCall("shell", {"command": "touch yes.txt"})],
        [ToolCall("shell", {"command": "touch no.txt"})],
        "Half of it.",
    ]
    with AnthropicServer(answers) as provider:
        environ = environment(tmp_path, ANTHROPIC_API_KEY="sk-test", ANTHROPIC_BASE_URL=provider.base_url)
        bridge = subprocess.Popen(
            [sys.executable, str(ROOT / "examples" / "chat_bridge.py"), str(folder)],
            env=environ,
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert bridge.stdin and bridge.stdout
            say = partial(print, file=bridge.stdin, flush=True)
            say("go")
            for word in ("yes", "no"):
                say(word, bridge.stdout.readline().partition(":")[0])
            assert [bridge.stdout.readline() for _ in range(2)] == ["Half of it.\n", "-- completed\n"]
            _, problems = bridge.communicate(timeout=DEADLINE_S)
        finally:
            bridge.kill()
    assert (bridge.returncode, problems) == (0, "")
    assert (folder / "yes.txt").exists() and not (folder / "no.txt").exists()


def _answer_until_the_end(page: ClientConnection) -> Iterator[str]:
    kind = ""
    while kind != "processing_end":
        event = json.loads(page.recv(timeout=DEADLINE_S))
        kind = event["kind"]
        if kind == "approval_requested":
            page.send(json.dumps({"approve": event["data"]["requestId"], "allow": True}))
        yield kind
