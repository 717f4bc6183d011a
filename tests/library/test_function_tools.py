"""Tools made from functions and methods of a program."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import inspect
import json
import logging
import math
import sys
import threading
import typing
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import pydantic
import pytest

import agent_ls
from agent_ls.llm import ToolResultPart
from agent_ls.tools.registry import generate_schema
from tests.library.sessions import call, options
from tests.support.commands import DEADLINE_S
from tests.support.fake_provider import FakeProvider, text
from tests.support.tool_calls import ToolCalls

pytestmark = pytest.mark.req("P6", "H13")


async def outputs(tmp_path: Path, tools: list[Any], *calls: Any) -> list[agent_ls.ToolCallEnd]:
    model = FakeProvider([*calls, text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=tools, mode="full")) as session:
        return [event async for event in session.run("go") if isinstance(event, agent_ls.ToolCallEnd)]


class Shop:
    prices: dict[str, float]

    def __init__(self, **prices: float) -> None:
        self.prices = prices
        self.asked: list[str] = []

    @agent_ls.tool
    def price_of(self, fruit: str) -> float:
        """The price of a fruit."""
        self.asked.append(fruit)
        return self.prices[fruit]

    @agent_ls.tool(name="set_price")
    async def change(self, fruit: str, price: float = 1.0) -> str:
        """Changes a price."""
        self.prices[fruit] = price
        return "ok"

    @agent_ls.tool
    @classmethod
    def currency(cls) -> str:
        """The currency."""
        return f"euros of {cls.__name__}"

    @agent_ls.tool
    @staticmethod
    def greeting(whom: str) -> str:
        """A greeting."""
        return f"Hello {whom}"

    def plain(self, fruit: str) -> str:
        """Not decorated."""
        return fruit.upper()


@pytest.mark.report("openai/openai-agents-python#94", "microsoft/agent-framework#1343")
async def test_methods_are_tools_of_their_object(tmp_path: Path) -> None:
    shop, other = Shop(pear=1.8), Shop(pear=9.9)
    tools = [shop.price_of, shop.change, Shop.currency, shop.greeting, agent_ls.tool(shop.plain)]
    assert other.price_of.name == "price_of"
    ends = await outputs(
        tmp_path,
        tools,
        call("set_price", fruit="fig", price=3),
        call("price_of", fruit="fig"),
        call("currency"),
        call("greeting", whom="you"),
        call("plain", fruit="kiwi"),
    )
    assert [end.output for end in ends] == ["ok", "3.0", "euros of Shop", "Hello you", "KIWI"]
    assert (shop.asked, other.asked) == (["fig"], [])
    assert "self" not in shop.price_of.arguments.model_fields


@dataclasses.dataclass(frozen=True)
class Fruit:
    name: str
    since: datetime.date = datetime.date(2026, 5, 1)


class Basket(pydantic.BaseModel):
    fruits: list[Fruit]


RESULTS: list[tuple[object, str]] = [
    ("as it is", "as it is"),
    (None, "null"),
    ([1, 2.5, True], "[1, 2.5, true]"),
    (Fruit("Äpfel"), '{"name": "Äpfel", "since": "2026-05-01"}'),
    ([Fruit("a")], '[{"name": "a", "since": "2026-05-01"}]'),
    (Basket(fruits=[Fruit("b")]), '{"fruits": [{"name": "b", "since": "2026-05-01"}]}'),
    ({datetime.date(2026, 1, 2): {3}}, '{"2026-01-02": [3]}'),
]


@pytest.mark.parametrize(("value", "expected"), RESULTS, ids=[str(it)[:20] for it, _ in RESULTS])
async def test_a_result_that_is_no_text_reaches_the_model_as_json(
    tmp_path: Path, value: object, expected: str
) -> None:
    @agent_ls.tool
    def give() -> object:
        """Gives it."""
        return value

    (end,) = await outputs(tmp_path, [give], call("give"))
    assert (end.output, end.is_error) == (expected, False)


PNG = agent_ls.ImagePart(b"\x89PNG picture", "image/png")


@pytest.mark.parametrize(
    ("value", "text_sent"),
    [
        (PNG, ""),
        (["before", PNG, {"after": 1}], 'before\n{"after": 1}'),
        ((PNG,), ""),
        (agent_ls.ToolOutput("seen", images=(PNG,)), "seen"),
    ],
    ids=["alone", "list", "tuple", "output"],
)
@pytest.mark.parametrize("from_file", [False, True])
async def test_a_returned_image_reaches_the_model_as_an_image(
    tmp_path: Path, value: Any, text_sent: str, from_file: bool
) -> None:
    @agent_ls.tool
    def shot() -> object:
        """Takes a picture of the screen."""
        if not from_file:
            return value
        picture = tmp_path / "shot.png"
        picture.write_bytes(b"\x89PNG picture")
        return agent_ls.ToolOutput(text_sent, images=(agent_ls.ImagePart(url=str(picture)),))

    model = FakeProvider([call("shot"), text("Done.")])
    async with agent_ls.open_session(**options(tmp_path, model, tools=[shot])) as session:
        await session.ask("go")
    (result,) = [it for it in model.requests[1].messages[-1].parts if isinstance(it, ToolResultPart)]
    assert (result.content, result.images, result.is_error) == (text_sent, (PNG,), False)


async def test_a_returned_output_can_be_an_error(tmp_path: Path) -> None:
    @agent_ls.tool
    def fail() -> agent_ls.ToolOutput:
        """Fails."""
        return agent_ls.ToolOutput("no paper", is_error=True, error_kind="printer", summary="empty")

    (end,) = await outputs(tmp_path, [fail], call("fail"))
    assert (end.output, end.is_error, end.error_kind, end.summary) == ("no paper", True, "printer", "empty")


def circle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@dataclasses.dataclass(frozen=True)
class Framed:
    picture: agent_ls.ImagePart


WRONG_TEXT: Any = 5
NO_FORM = [
    Framed(PNG), [Framed(PNG)], math.nan, {"most": math.inf},
    object(), {"odd": object()}, {"bytes": b"\xff"}, circle(), {"picture": PNG}, [agent_ls.ToolOutput("in a list")],
    [[PNG]], agent_ls.ToolOutput(WRONG_TEXT), agent_ls.ImagePart(WRONG_TEXT, "image/png"), agent_ls.ImagePart(),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(NO_FORM)))
async def test_a_value_without_a_form_is_an_error_result(tmp_path: Path, number: int) -> None:
    @agent_ls.tool
    def give() -> object:
        """Gives it."""
        return NO_FORM[number]

    (end,) = await outputs(tmp_path, [give], call("give"))
    assert end.is_error and end.error_kind == "internal"
    assert "object at" not in end.output and "\\x" not in end.output
    assert "ImagePart inside" in end.output or not isinstance(NO_FORM[number], Framed)


async def test_a_plain_function_runs_in_a_thread(tmp_path: Path) -> None:
    threads: list[int] = []

    @agent_ls.tool
    def block() -> str:
        """Blocks."""
        threads.append(threading.get_ident())
        return "done"

    (end,) = await outputs(tmp_path, [block], call("block"))
    assert end.output == "done" and threads != [threading.get_ident()]


class Counter:
    """Counts the calls that run, and those that ran at the same time as another."""

    def __init__(self, wait_s: float) -> None:
        self.running = self.most = 0
        self.wait_s = wait_s
        self.meeting = threading.Barrier(2)

    def count(self) -> str:
        """Counts."""
        self.running += 1
        self.most = max(self.most, self.running)
        with contextlib.suppress(threading.BrokenBarrierError):
            self.meeting.wait(self.wait_s)
        self.running -= 1
        return "ok"

    def other(self) -> str:
        """Counts too."""
        return self.count()


async def test_the_plain_functions_of_a_session_run_one_after_another(tmp_path: Path) -> None:
    counter = Counter(0.2)
    tools = [agent_ls.tool(counter.count), agent_ls.tool(counter.other)]
    await outputs(tmp_path, tools, [call("count"), call("other")] * 3)
    assert counter.most == 1


async def test_plain_functions_run_in_parallel_on_demand(tmp_path: Path) -> None:
    counter = Counter(DEADLINE_S)
    tools = [agent_ls.tool(parallel=True)(counter.count), agent_ls.tool(parallel=True)(counter.other)]
    await outputs(tmp_path, tools, [call("count"), call("other")])
    assert not counter.meeting.broken, "each waited until the other ran"


async def test_a_function_that_hangs_after_an_interrupt_does_not_stop_others(tmp_path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    @agent_ls.tool
    def hang() -> str:
        """Hangs."""
        begun.set()
        end.wait(DEADLINE_S)
        return "late"

    counter = Counter(0)
    model = FakeProvider([call("hang"), call("count"), text("Done.")])
    given = options(tmp_path, model, tools=[hang, agent_ls.tool(counter.count)], mode="full")
    async with agent_ls.open_session(**given) as session:
        session.send("go")
        await anyio.to_thread.run_sync(begun.wait)
        session.interrupt()
        async for event in session.events():
            if isinstance(event, agent_ls.ProcessingEnd):
                break
        ends = [it async for it in session.run("go on") if isinstance(it, agent_ls.ToolCallEnd)]
        end.set()
    assert [it.output for it in ends] == ["ok"]


def test_a_method_read_from_its_class_is_refused_with_the_next_step() -> None:
    with pytest.raises(TypeError, match="docstring"):

        class Silent:
            @agent_ls.tool
            def quiet(self) -> str:
                return ""

    wrong: Any = 7
    with pytest.raises(TypeError, match="function"):
        agent_ls.tool(wrong)


async def test_an_unbound_method_in_tools_is_refused(tmp_path: Path) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), tools=[Shop.price_of]))
    assert "an object" in caught.value.hint


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
async def test_a_tool_that_raises_tells_the_model_and_logs_its_traceback_once(
    tmp_path: Path, is_async: bool, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    @agent_ls.tool
    async def fail() -> str:
        """Fails."""
        raise LookupError("no such shelf")

    @agent_ls.tool(name="fail")
    def fail_plain() -> str:
        """Fails."""
        raise LookupError("no such shelf")

    end, _ = await outputs(tmp_path, [fail if is_async else fail_plain], call("fail"), call("fail"))
    assert end.is_error and end.error_kind == "internal" and "LookupError: no such shelf" in end.output
    assert capfd.readouterr() == ("", "")
    (logged,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert logged.levelno == logging.WARNING and logged.exc_info and logged.exc_info[0] is LookupError


async def test_missing_programs_of_tool_packs_are_an_event_of_the_first_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    given = options(tmp_path, FakeProvider([text("Done.")]), settings={"toolPacks": {"packs": ["rust"]}})
    async with agent_ls.open_session(**given) as session:
        events = [event async for event in session.run("go")]
        later = [event async for event in session.run("again")]
    assert isinstance(events[0], agent_ls.SessionStart)
    (warning,) = [event for event in events if isinstance(event, agent_ls.Warning)]
    assert "cargo" in warning.message
    assert not [event for event in later if isinstance(event, agent_ls.SessionStart | agent_ls.Warning)]


@pytest.mark.req("U5")
async def test_an_image_with_a_path_is_sent_with_its_data(tmp_path: Path) -> None:
    picture = tmp_path / "a b.png"
    picture.write_bytes(b"\x89PNG picture")
    for url in (str(picture), picture.as_uri()):
        model = FakeProvider([text("A cat.")])
        async with agent_ls.open_session(**options(tmp_path, model)) as session:
            assert await session.ask("what is it?", images=[agent_ls.ImagePart(url=url)]) == "A cat."
            with pytest.raises(Exception, match="cannot be attached"):
                session.run("and this?", images=[agent_ls.ImagePart(url=str(tmp_path / "none.png"))])
            assert not session.is_busy
        (part,) = [it for it in model.requests[0].messages[-1].parts if isinstance(it, agent_ls.ImagePart)]
        assert (part.data, part.media_type, part.url) == (b"\x89PNG picture", "image/png", "")


class Node(pydantic.BaseModel):
    children: list[Node] = []


class Typed(typing.TypedDict):
    a: int


def make(annotation: Any, default: Any = inspect.Parameter.empty, name: str = "value") -> Callable[..., str]:
    """Return a function with one parameter."""

    def use(*args: Any, **kwargs: Any) -> str:
        """Uses it."""
        return json.dumps(kwargs)

    parameter = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
    function: Any = use
    function.__signature__ = inspect.Signature([parameter])
    function.__annotations__ = {name: annotation}
    return use


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Callable[[], int], inspect.Parameter.empty),
        (Callable[[], int], len),
        (threading.Thread, inspect.Parameter.empty),
        ("Missing", inspect.Parameter.empty),
        ("int +", inspect.Parameter.empty),
        (Node, inspect.Parameter.empty),
        (int, "q"),
        (int, pydantic.Field(default=3)),
        *([(Typed, inspect.Parameter.empty)] if sys.version_info < (3, 12) else []),
    ],
)
def test_a_parameter_that_no_model_can_give_is_refused(annotation: Any, default: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match="parameter value of the tool use"):
            agent_ls.tool(make(annotation, default))


@pytest.mark.parametrize("function", [min, make(int).__class__, print], ids=["min", "class", "print"])
def test_what_has_no_typed_parameters_is_refused(function: Any) -> None:
    with pytest.raises(TypeError):
        agent_ls.tool(function)


@pytest.mark.parametrize("name", ["größe", "名前", "x" * 65])
def test_a_parameter_name_that_some_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"parameter {name} of the tool use: .*Annotated"):
        agent_ls.tool(make(int, name=name))


RESERVED = [it for it in dir(pydantic.BaseModel) if not it.startswith("__")]


@pytest.mark.parametrize(
    "name", [*RESERVED, "model_x", "_x", "__x__", "parameter", "derived_key", "argument_x"]
)
async def test_a_reserved_name_of_a_parameter_works(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = agent_ls.tool(make(int, name=name))
    calls = ToolCalls()
    assert (await calls.call(made, **{name: 3})).text == json.dumps({name: 3})
    schema: Any = generate_schema(made.arguments)
    assert list(schema["properties"]) == [name]
    assert json.loads(made.summarize(made.arguments.model_validate({name: 3}))) == {name: 3}


async def test_names_that_differ_only_for_pydantic_stay_apart() -> None:
    @agent_ls.tool
    def both(_x: int, __x: int, argument_x: int) -> list[int]:
        """Takes three."""
        return [_x, __x, argument_x]

    assert (await ToolCalls().call(both, _x=1, __x=2, argument_x=3)).text == "[1, 2, 3]"


ABSENT: Any = object()


async def test_positional_parameters_and_marks_of_absence_work() -> None:
    @agent_ls.tool
    def f(a: int, b: int = 2, /, c: Any = ABSENT, *, d: int = None) -> list[Any]:  # type: ignore[assignment]  # noqa: RUF013
        """Takes four."""
        return [a, b, c is ABSENT, d]

    assert (await ToolCalls().call(f, a=1)).text == "[1, 2, true, null]"
    assert (await ToolCalls().call(f, a=1, b=5, c=None, d=4)).text == "[1, 5, true, 4]"


def test_types_of_the_result_need_not_exist() -> None:
    @agent_ls.tool
    def f(a: Annotated[int, pydantic.Field(description="its number")]) -> Missing:  # type: ignore[name-defined]  # noqa: F821
        """Takes one."""

    assert generate_schema(f.arguments)["properties"] == {
        "a": {"description": "its number", "type": "integer"}
    }


async def test_two_tools_of_one_name_are_refused(tmp_path: Path) -> None:
    @agent_ls.tool
    def give() -> str:
        """Gives it."""
        return "it"

    with pytest.raises(agent_ls.AppError, match="give"):
        await agent_ls.open_session(**options(tmp_path, FakeProvider(), tools=[give, give]))
