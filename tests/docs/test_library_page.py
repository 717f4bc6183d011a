"""The programs of the pages of the library about tests of a program do what the page says."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import agent_ls
from agent_ls.services.permissions.trust import TRUST_VARIABLE
from tests.docs.examples import library_text
from tests.docs.pages import blocks
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, Gate, text

pytestmark = pytest.mark.req("H13")


def program(begin: str) -> str:
    (found,) = [it.text for it in blocks(library_text(), "python") if it.text.startswith(begin)]
    return found


async def run(text: str) -> dict[str, Any]:
    """Run a fragment with `await` at its top, and return its names."""
    names: dict[str, Any] = {"agent_ls": agent_ls}
    code: CodeType = compile(text, "library.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = eval(code, names)  # of the page
    if inspect.isawaitable(made):
        await made
    return names


async def test_the_scripted_model_of_the_page_shows_the_results_of_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = await run(program("from agent_ls.llm import ToolResultPart").replace("/project", str(tmp_path)))
    await names["session"].close()
    assert "nobody can approve" in capsys.readouterr().out


async def test_the_price_of_the_page_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = await run(program("from agent_ls.llm import Price").replace("/project", str(tmp_path)))
    await names["session"].close()
    assert capsys.readouterr().out == "Hello. 0.0008\n"


async def test_the_commands_of_the_environment_in_memory_are_those_of_the_function(tmp_path: Path) -> None:
    text = program("from agent_ls.environments.base import")
    model = agent_ls.ScriptedModel(("shell", {"command": "make test"}), "It passes.")
    given = options(tmp_path, model, mode="full", trusted=True)
    names = await run(text[: text.index("session = ")])
    async with agent_ls.open_session(**given | {"environment": names["place"]}) as session:
        assert await session.ask("go") == "It passes."
        (record,) = await session.calls()
    assert record.success and "3 passed" in record.output


async def test_an_existing_file_is_read_before_it_is_edited(tmp_path: Path) -> None:
    edit = ("edit_file", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
    usage = agent_ls.Usage(input_tokens=10, output_tokens=5, reported_cost_usd=0.5)
    model = agent_ls.ScriptedModel(edit, ("read_file", {"file_path": "a.txt"}), edit, "Done.", usage=usage)
    given = options(tmp_path, model, mode="full", trusted=True)
    (tmp_path / "project" / "a.txt").write_text("one\n")
    async with agent_ls.open_session(**given) as session:
        await session.ask("go")
        assert session.cost_usd == 2
        assert [it.success for it in await session.calls()] == [False, True, True]
        assert {it.name for it in model.requests[0].tools} == {*session.tools}


async def test_a_resumed_session_has_the_mode_of_the_call(tmp_path: Path) -> None:
    write = ("write_file", {"file_path": "a.txt", "content": "x"})
    model = agent_ls.ScriptedModel("Hello.", write, "Done.")
    given = options(tmp_path, model, trusted=True)
    async with agent_ls.open_session(**given, mode="full") as session:
        await session.ask("go")
    async with agent_ls.open_session(**given, resume=session.id) as session:
        await session.ask("write")
        assert [it.success for it in await session.calls()] == [False]


@pytest.mark.parametrize(("trusted", "asked"), [(True, []), (False, ["TrustEffect", "WriteEffect"])])
async def test_additional_folders_are_trusted_only_by_the_argument(
    tmp_path: Path, trusted: bool, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    beside, seen = tmp_path / "beside", list[str]()
    beside.mkdir()

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        seen.append(request.effect["type"])
        return True

    write = ("write_file", {"file_path": str(beside / "a.txt"), "content": "x"})
    given = options(tmp_path, agent_ls.ScriptedModel(write, "Done."), mode="full", approve=approve)
    async with agent_ls.open_session(**given, trusted=trusted, beside=[beside]) as session:
        await session.ask("go")
    assert seen == asked and (beside / "a.txt").exists()


@pytest.mark.parametrize("said", ["", "Half"])
async def test_ask_returns_after_an_interrupt_what_was_said(tmp_path: Path, said: str) -> None:
    gate = Gate()
    model = FakeProvider([text(said, gate)])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        asking = asyncio.create_task(session.ask("go"))
        await gate.reached.wait()
        session.interrupt()
        assert await asking == said


async def test_the_plan_of_the_page_is_carried_out_in_another_mode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = 'model = agent_ls.ScriptedModel(\n    "1. Create'
    names = await run(program(begin).replace("/project", str(tmp_path)))
    await names["session"].close()
    assert names["plan"] == "1. Create `hello.txt`." and capsys.readouterr().out == "It is created.\n"
    assert (tmp_path / "hello.txt").read_text() == "Hello.\n"


async def test_a_turn_whose_calls_mode_plan_refuses_ends_as_refused_with_its_text(tmp_path: Path) -> None:
    model = agent_ls.ScriptedModel(("shell", {"command": "make"}), "1. Run make.")
    asked: list[object] = []
    given = options(tmp_path, model, mode="plan", trusted=True, approve=asked.append)
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "1. Run make."
        exported = [json.loads(line) for line in (await session.export("jsonl")).splitlines()]
    (end,) = [event["data"] for event in exported if event["kind"] == "processing_end"]
    assert end["reason"] == "refused"
    assert asked == []
