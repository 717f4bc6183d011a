"""Each function and class that programs call refuses arguments of a wrong type: one error that names the argument."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import agent_ls
import agent_ls.llm
from agent_ls.argument_types import find_misuse
from tests.library.sessions import options
from tests.support.fake_provider import FakeProvider, text

pytestmark = pytest.mark.req("H13", "R5")

DEADLINE_S = 120
ERRORS = (agent_ls.AppError, agent_ls.llm.ConfigurationError, TypeError)


class Odd:
    """A value that fits no annotation, and that says nothing about itself."""

    def __repr__(self) -> str:
        return "sk-secret"


WRONG: tuple[Any, ...] = (Odd(), 7, "text", b"bytes", ["x", 7], {"k": Odd()}, {7: 7}, None, True, 1.5)
ANY = {"settings", "limits", "environ"}
"""Their values are checked by the settings, which name the setting."""
FUNCTIONS: list[Callable[..., Any]] = [
    agent_ls.open_session, agent_ls.create_profile, agent_ls.generate, agent_ls.stream, agent_ls.generate_object,
    agent_ls.stream_object, agent_ls.retry, agent_ls.run_sync, agent_ls.iterate_sync,
    agent_ls.LocalEnvironment, agent_ls.MemoryEnvironment, agent_ls.LoggingEnvironment, agent_ls.ReadOnlyEnvironment,
    agent_ls.llm.build_request, agent_ls.llm.set_default_client, agent_ls.llm.load_attachment,
    agent_ls.llm.latest_model, agent_ls.llm.known_models,
]  # fmt: skip
METHODS = [
    name
    for name, member in inspect.getmembers(agent_ls.AgentSession, inspect.isfunction)
    if not name.startswith("_") and len(inspect.signature(member).parameters) > 1
]


def cases(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield each parameter with each value that its annotation excludes."""
    inner: Any = function.__init__ if inspect.isclass(function) else inspect.unwrap(function)
    hints = inspect.get_annotations(inner, eval_str=True)
    for name, parameter in inspect.signature(inner).parameters.items():
        if name in hints and parameter.kind is not parameter.VAR_KEYWORD and name not in ANY:
            yield from ((name, value) for value in WRONG if find_misuse(name, value, hints[name]))


def arguments(function: Callable[..., Any], wrong: str, value: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return a call in which every other required argument has a value that passes."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += [value] if name == wrong else []
        elif name == wrong or (
            parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        ):
            given = value if name == wrong else good(name)
            if parameter.kind is parameter.KEYWORD_ONLY:
                named[name] = given
            elif positional or parameter.default is parameter.empty:
                positional.append(given)
            else:
                named[name] = given
    return positional, named


def good(name: str) -> Any:
    known: dict[str, Any] = {
        "request": agent_ls.llm.build_request("claude-sonnet-5", "Hello."),
        "schema": {"type": "object"},
        "inner": agent_ls.MemoryEnvironment(),
        "verdict": "keep",
        "answer": True,
        "call": good,
    }
    return known.get(name, "text")


async def use(function: Callable[..., Any], name: str, value: Any) -> str:
    """Return the words of the error that the call raises."""
    positional, named = arguments(function, name, value)
    with pytest.raises(ERRORS) as caught:
        answer = function(*positional, **named)
        if inspect.isawaitable(answer):
            await answer
    return f"{caught.value} {getattr(caught.value, 'hint', '')}"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda it: str(it.__name__))
async def test_a_function_names_the_argument_of_a_wrong_type(function: Callable[..., Any]) -> None:
    seen = [(name, value, await use(function, name, value)) for name, value in cases(function)]
    assert seen
    assert [it for it in seen if it[0] not in it[2] or "sk-secret" in it[2]] == []


async def test_the_methods_of_a_session_name_the_argument_of_a_wrong_type(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    with anyio.fail_after(DEADLINE_S):
        async with agent_ls.open_session(**options(tmp_path, FakeProvider([text("Here.")]))) as session:
            for method in METHODS:
                function = getattr(session, method)
                seen = [(name, value, await use(function, name, value)) for name, value in cases(function)]
                assert seen, method
                assert [it for it in seen if it[0] not in it[2] or "sk-secret" in it[2]] == []
            assert not session.is_busy and not session.queue and await session.ask("still there?") == "Here."
    assert asyncio.all_tasks() == before


def test_the_error_about_an_adapter_names_the_methods_that_it_does_not_have() -> None:
    with pytest.raises(agent_ls.AppError, match="no method complete, stream, close"):
        agent_ls.open_session(adapters={"mine": Odd()})  # type: ignore[dict-item]


NESTED: list[tuple[dict[str, Any], str, str]] = [
    ({"tools": [agent_ls.tool]}, "tools[0]", "@agent_ls.tool"),
    ({"adapters": {"mine": Odd()}}, "adapters['mine']", "ProviderAdapter"),
    ({"environment": Odd()}, "environment", "BasicEnvironment"),
    ({"beside": [Path("a"), 7]}, "beside[1]", "Path"),
    ({"mode": "yolo"}, "mode", "plan, ask, edits, full"),
    ({"worktree": "heads"}, "worktree", "current, head"),
    ({"without_tools": "shell"}, "without_tools", "a list of str"),
    ({"provider": agent_ls.ScriptedModel("a")}, "provider", 'adapters={"NAME": ...}'),
    ({"model": agent_ls.ScriptedModel("a")}, "model", 'provider="NAME"'),
]


@pytest.mark.parametrize(("given", "where", "hint"), NESTED, ids=[next(iter(it)) for it, *_ in NESTED])
def test_the_error_of_open_session_says_where_it_is_and_what_to_pass(
    given: dict[str, Any], where: str, hint: str
) -> None:
    with pytest.raises(agent_ls.AppError) as caught:
        agent_ls.open_session(**given)
    assert where in str(caught.value) and hint in caught.value.hint


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"messages": ["Hello."]}, "messages[0]"),
        ({"messages": [agent_ls.llm.Message("user", (agent_ls.llm.TextPart("a"),))]}, "messages[0].role"),  # type: ignore[arg-type]
        ({"messages": [agent_ls.llm.user(7)]}, "messages[0]"),  # type: ignore[arg-type]
    ],
    ids=["text", "role", "content"],
)
def test_a_request_names_the_message_that_is_wrong(change: dict[str, Any], where: str) -> None:
    with pytest.raises(agent_ls.llm.ConfigurationError) as caught:
        agent_ls.llm.build_request("claude-sonnet-5", **change)
    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: agent_ls.tool(category="rw"), "category"),  # type: ignore[call-overload]
        (lambda: agent_ls.tool(name=7), "name"),  # type: ignore[call-overload]
        (lambda: agent_ls.tool(7), "not a function"),  # type: ignore[call-overload]
    ],
    ids=["category", "name", "function"],
)
def test_the_decorator_of_tools_names_the_argument_that_is_wrong(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert words in str(caught.value)
