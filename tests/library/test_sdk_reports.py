"""Reports of users of other agent libraries, with inputs for this one."""

from __future__ import annotations

import asyncio
import enum
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pydantic
import pytest

import agent_ls
from agent_ls.environments.effects import NoEffect
from agent_ls.llm.errors import (
    AuthenticationError,
    ContentFilterError,
    ProviderError,
    QuotaExceededError,
)
from agent_ls.tools.base import Arguments, Prepared, ToolContext, ToolError, ToolOutput
from tests.library.sessions import call, options
from tests.support.agents import Cast, spawn, wait_for
from tests.support.fake_provider import FakeProvider, Gate, end, error, text

pytestmark = pytest.mark.req("H13")

DEADLINE_S = 120


@pytest.mark.report("langchain-ai/langgraph#5682")
async def test_cancelling_the_caller_stops_a_session_inside_of_a_tool(tmp_path: Path) -> None:
    gate = Gate()
    inner = FakeProvider([text("Half ", gate, "done."), text("unused")])
    closed = asyncio.Event()

    @agent_ls.tool
    async def delegate(task: str) -> str:
        """Gives a task to another agent."""
        try:
            async with agent_ls.open_session(**options(tmp_path, inner)) as other:
                return await other.ask(task)
        finally:
            closed.set()

    model = FakeProvider([call("delegate", task="think"), text("Next.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[delegate])) as session:
        with anyio.fail_after(DEADLINE_S):
            task = asyncio.create_task(session.ask("go"))
            await gate.reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await closed.wait()
            assert inner.open_streams == 0 and len(inner.requests) == 1
            assert await session.ask("next") == "Next."


class Point(pydantic.BaseModel):
    x: int
    y: int = 5


@dataclass
class Line:
    points: list[Point]
    name: str = "line"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Colour(enum.StrEnum):
    GINGER = "ginger"
    BLACK = "black"


got: list[Any] = []


@agent_ls.tool
def draw(lines: dict[str, Line], rank: Rank | None = None, colour: Colour = Colour.BLACK) -> str:
    """Draws lines."""
    got.append((lines, rank, colour))
    return "drawn"


@pytest.mark.report("microsoft/autogen#5736")
@pytest.mark.report("google/adk-python#2733")
async def test_arguments_inside_of_containers_arrive_as_the_types_of_the_function(tmp_path: Path) -> None:
    lines = {"a": {"points": [{"x": 1}, {"x": 2, "y": 3}]}}
    model = FakeProvider(
        [call("draw", lines=lines, rank=2, colour="ginger"), call("draw", lines={}), text("Done.")]
    )
    got.clear()
    async with agent_ls.open_session(**options(tmp_path, model, tools=[draw])) as session:
        assert await session.ask("go") == "Done."
    assert got == [
        ({"a": Line([Point(x=1), Point(x=2, y=3)])}, Rank.HIGH, Colour.GINGER),
        ({}, None, Colour.BLACK),
    ]
    assert isinstance(got[0][2], Colour) and isinstance(got[0][1], Rank)


@pytest.mark.report("googleapis/python-genai#2782")
@pytest.mark.report("MervinPraison/PraisonAI#1907")
async def test_the_schema_has_nested_defaults_and_the_types_of_enums(tmp_path: Path) -> None:
    model = FakeProvider([text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[draw])) as session:
        await session.ask("go")
    (tool,) = (tool for tool in model.requests[0].tools if tool.name == "draw")
    schema = json.loads(json.dumps(tool.parameters))
    line = schema["properties"]["lines"]["additionalProperties"]
    point, rank = line["properties"]["points"]["items"], schema["properties"]["rank"]
    assert schema["required"] == ["lines"] and line["required"] == ["points"] and point["required"] == ["x"]
    assert '"type": "integer"' in json.dumps(rank) and "string" not in json.dumps(rank), rank


@pytest.mark.report("huggingface/smolagents#2167")
async def test_the_failure_of_a_subagent_is_a_result_for_the_agent_that_started_it(tmp_path: Path) -> None:
    broken: Any = ZeroDivisionError("in the adapter")
    model: Any = Cast([spawn("count"), wait_for("agent_1"), text("It failed.")], {"count": [error(broken)]})
    async with agent_ls.open_session(**options(tmp_path, model, mode="full")) as session:
        assert await session.ask("go") == "It failed."
        _, waited = await session.calls()
    assert "ZeroDivisionError" in waited.output


@pytest.mark.report("anthropics/claude-code#76204")
async def test_approve_is_called_after_a_subagent_has_ended(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append((request.agent_id, request.tool))
        return True

    touch = [call("shell", command=f"touch {name}") for name in ("one", "two", "three")]
    model: Any = Cast(
        [touch[0], spawn("count"), wait_for("agent_1"), touch[1], text("Done.")],
        {"count": [touch[2], text("1")]},
    )
    given = options(tmp_path, model, approve=approve, trusted=True)
    async with agent_ls.open_session(**given) as session:
        with anyio.fail_after(DEADLINE_S):
            assert await session.ask("go") == "Done."
    assert asked == [("", "shell"), ("agent_1", "shell"), ("", "shell")]
    assert {path.name for path in (tmp_path / "project").iterdir()} >= {"one", "two", "three"}


@pytest.mark.report("crewAIInc/crewAI#5156")
async def test_a_failed_terminal_tool_does_not_end_the_turn(tmp_path: Path) -> None:
    tries: list[int] = []

    class Nothing(Arguments):
        pass

    async def prepare(arguments: Nothing, context: ToolContext) -> Prepared:
        async def run() -> ToolOutput:
            tries.append(1)
            if len(tries) == 1:
                raise ToolError("the service is down")
            return ToolOutput("submitted")

        return Prepared(NoEffect(), run)

    hand_in = agent_ls.Tool(
        name="hand_in",
        description="Hands in.",
        category="read",
        arguments=Nothing,
        prepare=prepare,
        terminal=True,
        summarize=lambda arguments: "",
    )
    model = FakeProvider([call("hand_in"), [text("Again."), call("hand_in")], text("unused")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[hand_in])) as session:
        await session.ask("go")
        records = await session.calls()
    assert [record.success for record in records] == [False, True] and len(model.requests) == 2


@pytest.mark.report("earendil-works/pi#2119")
async def test_an_answer_that_announces_calls_but_has_none_says_so(tmp_path: Path) -> None:
    model = FakeProvider([[end("tool_calls")], text("Next.")])
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        events: list[Any] = [event async for event in session.run("go")]
        assert await session.ask("next") == "Next."
    assert [event.message for event in events if event.kind == "warning"] != []


class Gone(FakeProvider):
    """A provider of a program whose connection is lost at the first requests."""

    async def stream(self, request: Any) -> Any:
        if len(self.requests) < 2:
            self.requests.append(request)
            raise (ConnectionResetError("gone"), TimeoutError())[len(self.requests) - 1]
        async for event in super().stream(request):
            yield event


@pytest.mark.req("U8", "H25")
async def test_a_lost_connection_of_an_own_provider_is_retried(tmp_path: Path) -> None:
    given = options(tmp_path, Gone([text("Back.")]), settings={"retry": {"baseDelayMs": 1}})
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "Back."


@pytest.mark.req("H25")
async def test_a_lost_own_provider_is_replaced_by_the_fallback(tmp_path: Path) -> None:
    given = options(tmp_path, FakeProvider([error(ConnectionResetError("gone"))] * 9))
    given["adapters"]["other"] = agent_ls.ScriptedModel("From the other.")
    given["settings"] = {"models": {"fallbacks": ["other/m"]}, "retry": {"maxRetries": 0}}
    async with agent_ls.open_session(**given) as session:
        assert await session.ask("go") == "From the other."


@pytest.mark.req("E5", "X7")
async def test_summaries_have_no_characters_that_hide_what_is_approved(tmp_path: Path) -> None:
    asked: list[str] = []

    @agent_ls.tool(category="write")
    def put(path: str) -> str:
        """Puts."""
        return "\x1b[32mput\x1b[0m \u202ethere"

    def approve(request: agent_ls.ApprovalRequested) -> bool:
        asked.append(request.summary)
        return True

    shown = call("shell", command="rm -r x\x1b[2K\x1b[1G# \u202eonly reads")
    model = FakeProvider([call("put", path="\u2066a\u2069"), shown, text("Done.")])
    given = options(tmp_path, model, tools=[put], approve=approve, trusted=True)
    async with agent_ls.open_session(**given) as session:
        events: list[Any] = [event async for event in session.run("go")]
    summaries = [event.summary for event in events if event.kind in ("tool_call_start", "tool_call_end")]
    assert len(asked) == 2 and len(summaries) == 4
    assert [it for it in (*asked, *summaries) if set(it) & set("\x1b\u202e\u2066\u2069")] == []
    assert "rm -r x" in asked[1] and "# " in asked[1] and summaries[1].startswith("put ")


@pytest.mark.parametrize(("personal", "words"), [(False, "trusted=True"), (True, "agent-ls trust add")])
async def test_the_warning_about_trust_says_what_helps(
    tmp_path: Path, personal: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_LS_TRUSTED_FOLDERS", raising=False)
    given = options(tmp_path, FakeProvider([text("One.")]), personal=personal)
    async with agent_ls.open_session(**given) as session:
        events: list[Any] = [event async for event in session.run("go")]
    assert [words in event.message for event in events if event.kind == "warning"] == [True]


WRONG_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"context": {"charsPerToken": 33}}, "context.charsPerToken"),
    ({"contxt": {}}, "did you mean context"),
    ({"limits": {"costUsd": 1}}, "costUsdPerInput"),
]


@pytest.mark.parametrize(("settings", "words"), WRONG_SETTINGS, ids=[words for _, words in WRONG_SETTINGS])
async def test_a_wrong_setting_of_a_program_is_named_and_not_called_ignored(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), settings=settings))
    assert str(caught.value).startswith("settings: ") and words in str(caught.value)
    assert "ignored" not in str(caught.value) and "agentLs" not in str(caught.value)


@pytest.mark.req("R1", "L3")
@pytest.mark.parametrize("kind", [AuthenticationError, ContentFilterError, QuotaExceededError])
async def test_a_session_closed_by_a_failed_call_is_resumed_with_its_conversation(
    tmp_path: Path, kind: type[ProviderError]
) -> None:
    model = agent_ls.ScriptedModel(kind("refused"), "Here.")
    async with agent_ls.open_session(**options(tmp_path, model)) as session:
        with pytest.raises(agent_ls.TurnFailedError, match="refused") as failed:
            await session.ask("first")
        assert session.state == "CLOSED" and "resume=session.id" in failed.value.hint
        with pytest.raises(agent_ls.SessionClosedError):
            await session.ask("second")
    async with agent_ls.open_session(**options(tmp_path, model), resume=session.id) as session:
        assert await session.ask("second") == "Here."
    said = [message.text for message in model.requests[-1].messages]
    assert "first" in said and "second" in said


@pytest.mark.req("H18")
async def test_a_limit_of_a_session_holds_after_it_is_resumed(tmp_path: Path) -> None:
    @agent_ls.tool
    def look(n: int) -> str:
        """Looks."""
        return "nothing"

    calls = [("look", {"n": n}) for n in range(9)]
    given = {"tools": [look], "settings": {"limits": {"tokensPerSession": 50}}}
    kept, made = "", []
    for _ in range(2):
        model = agent_ls.ScriptedModel(*calls)
        async with agent_ls.open_session(**options(tmp_path, model, **given), resume=kept) as session:
            with pytest.raises(agent_ls.TurnFailedError) as caught:
                await session.ask("go")
            kept = session.id
            made.append(len(model.requests))
        assert caught.value.reason == "limit"
    assert made == [4, 0]  # of 15 tokens each
