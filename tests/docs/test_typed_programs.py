"""The examples and the programs of the pages are clean under mypy and pyright in strict mode, as users check them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.docs.examples import DEADLINE_S, library_text, write_programs
from tests.docs.pages import ROOT, blocks

pytestmark = [pytest.mark.group("conformance"), pytest.mark.req("H13")]

PAGES = [
    f"docs/{name}.md"
    for name in (
        "model-client",
        "adding-a-tool",
        "adding-a-provider",
        "adding-an-environment",
        "wasm-environment",
    )
]
FRAGMENT = """
import agent_ls


async def fragment(session: agent_ls.AgentSession) -> None:
"""


def write_all(folder: Path) -> None:
    """Write the examples, the programs of PAGES, the code of LIBRARY_PAGES and the programs below to `folder`."""
    for path in (ROOT / "examples").glob("*.py"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    for place in PAGES:
        assert not [name for name in write_programs(place, folder) if (ROOT / "examples" / name).exists()]
    for number, block in enumerate(blocks(library_text(), "python")):
        is_program = block.text.startswith("import ")
        text = block.text if is_program else FRAGMENT + textwrap.indent(block.text, "    ")
        (folder / f"library_{number}.py").write_text(text, encoding="utf-8")
    (folder / "narrowing.py").write_text(NARROWING)
    (folder / "blocking_adapter.py").write_text(BLOCKING)
    (folder / "objects_of_a_class.py").write_text(OBJECTS)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
@pytest.mark.report("diggerhq/opencomputer#302", "anthropics/claude-code#19684")
def test_strict_checkers_find_misspelt_names_and_nothing_in_programs_of_docs_and_examples(
    tmp_path: Path, checker: str
) -> None:
    """The packages load their names late, and a checker would take every name for Any."""
    write_all(tmp_path)
    (tmp_path / "misspelt.py").write_text(MISSPELT)
    output = check(checker, tmp_path).stdout
    found = [line for line in output.splitlines() if "error" in line and ".py:" in line]
    assert [line for line in found if "misspelt.py:" not in line] == [], output
    assert len(found) >= 2 and "AproverX" in output and "CleintX" in output


def check(checker: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a checker in strict mode over the programs of a folder."""
    if checker == "mypy":
        cache = f"--cache-dir={ROOT}/.mypy_cache/users"
        command = ["-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", cache, "."]
    else:
        settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
        (folder / "pyrightconfig.json").write_text(json.dumps(settings))
        command = ["-m", "pyright", "--pythonpath", sys.executable]
    node = str(ROOT / ".tools" / "node" / "bin")  # pyright is a program of Node.js
    environ = {**os.environ, "MYPYPATH": str(ROOT), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environ | {"PATH": os.pathsep.join((node, os.environ["PATH"]))},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


MISSPELT = """
import agent_ls
import agent_ls.llm

approve: agent_ls.AproverX
client: agent_ls.llm.CleintX
"""
BLOCKING = """
from collections.abc import Generator, Iterator

import agent_ls
from agent_ls.llm import Request, Response, StreamEvent


class Plain:
    name = "plain"

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        yield from ()

    async def complete(self, request: Request) -> Response:
        raise NotImplementedError

    async def close(self) -> None: ...


class Generating(Plain):
    def stream(self, request: Request) -> Generator[StreamEvent, None, None]:
        yield from ()


own: agent_ls.BlockingAdapter = Plain()
agent_ls.open_session(adapters={"plain": Generating()})
agent_ls.open_session_sync(adapters={"plain": own, "scripted": agent_ls.ScriptedModel("Hello.")})
"""
OBJECTS = """
from dataclasses import dataclass
from typing import TypedDict, assert_type

from agent_ls.llm import GenerateResult, Request, generate, generate_object, stream_object


@dataclass
class City:
    name: str


class Street(TypedDict):
    name: str


async def ask(request: Request) -> GenerateResult:
    assert_type((await generate_object(request, City)).output, City)
    assert_type((await generate_object(request, Street)).output, Street)
    assert_type(stream_object(request, City).object(), City)
    return await generate(request)
"""
NARROWING = """
from typing import assert_never

import agent_ls


def by_class(event: agent_ls.Event) -> str:
    match event:
        case agent_ls.ToolCallEnd(name=name, exit_code=code):
            return f"{name} {code} {event.agent_id} {event.session_id} {event.turn_id}"
        case agent_ls.SubagentChanged(status="completed") as agent:
            return agent.output + agent.agent_id
        case agent_ls.Delta():
            return f"{event.offset} {event.text} {event.seq} {event.timestamp}"
        case _:
            return event.kind


def by_kind(event: agent_ls.Event) -> str:
    if event.kind == "usage":
        return str(event.total_cost_usd)
    match event.kind:
        case "tool_call_start":
            return event.arguments
        case "assistant_text_delta":
            return event.text
        case _:
            return ""


def is_complete(event: agent_ls.ApprovalRequested | agent_ls.QuestionAsked) -> str:
    match event:
        case agent_ls.ApprovalRequested():
            return event.tool
        case agent_ls.QuestionAsked():
            return event.question
        case _:
            assert_never(event)
"""
