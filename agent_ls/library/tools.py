"""Make a tool from a function of your program.

The parameters of the function become the tool's schema, and its docstring becomes the tool's description.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast, overload
from weakref import WeakValueDictionary

import anyio

from agent_ls.argument_types import find_misuse
from agent_ls.environments.effects import CallEffect, NoEffect
from agent_ls.environments.errors import EnvError
from agent_ls.library.tool_arguments import call_arguments, make_arguments
from agent_ls.library.tool_results import make_output
from agent_ls.llm.requests import check_tool_name
from agent_ls.own_code import FailureLog, error_words
from agent_ls.program_calls import call_program
from agent_ls.tools.base import Arguments, Category, Prepared, Tool, ToolContext, ToolError, ToolOutput

Function: TypeAlias = Callable[..., object]

SUMMARY_CHARS = 100

_turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
"""By session, the lock of the plain functions that wait for one another."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `tool`."""

    category: Category
    name: str
    parallel: bool


@overload
def tool(function: Function) -> Tool[Any]: ...


@overload
def tool(
    *, category: Category = "read", name: str = "", parallel: bool = False
) -> Callable[[Function], Tool[Any]]: ...


def tool(
    function: Function | None = None, *, category: Category = "read", name: str = "", parallel: bool = False
) -> Tool[Any] | Callable[[Function], Tool[Any]]:
    """Make a Tool from a function: `@tool`, or `@tool(category="admin")`.

    An async function runs on the event loop, a plain function in a thread. The plain functions of one session run one
    after another, so they may share state; those with `parallel` need a lock for it. In a class, `@tool` marks a
    method; `tools=[thing.method]` then offers the method of that object. Each parameter of the function needs a type
    and becomes a parameter of the tool. `Annotated[int, "its meaning"]` adds a description. The model gets a returned
    text as it is, an ImagePart (also in a list with texts) as an image, a ToolOutput as it is, other values as JSON,
    and an exception or a value without a JSON form as an error. `category` "read": the function has no effects, so it
    needs no approval and may run beside other calls. "write": mode and rules determine whether a call needs approval,
    like for commands. "admin": a call needs approval in every mode.

    Raises:
        TypeError: it is not a function, has no docstring, or a parameter has no type or one that models cannot give.
        ConfigurationError: at least one provider refuses the function's name.
    """
    given = (("category", category, Category), ("name", name, str), ("parallel", parallel, bool))
    if misuse := next(filter(None, (find_misuse(*it) for it in given)), None):
        raise TypeError(": ".join(misuse))
    options = _Options(category, name, parallel)
    if function is None:
        return partial(_decorated, options=options)
    return _decorated(function, options)


class ToolMethod:
    """A method marked by `@tool` in a class. Read from an object, it is the tool of that object."""

    def __init__(self, function: Any, options: _Options) -> None:
        self._function = function
        self._options = options

    def __get__(self, instance: object, owner: type) -> Tool[Any] | ToolMethod:
        if instance is None and not isinstance(self._function, classmethod):
            return self
        return _tool(self._function.__get__(instance, owner), self._options)


def _decorated(function: Function, options: _Options) -> Tool[Any]:
    if isinstance(function, staticmethod):
        return _tool(function.__func__, options)
    inner = function.__func__ if isinstance(function, classmethod) else function
    if not inspect.isroutine(inner):
        raise TypeError(f"{inner!r} is not a function; a tool is made from a function or a method")
    if isinstance(function, classmethod) or (inspect.isfunction(inner) and _first_parameter(inner) == "self"):
        method = ToolMethod(function, options)
        method.__get__(object(), object)  # raises here what is wrong with the method
        return cast("Tool[Any]", method)
    return _tool(inner, options)


def _tool(function: Function, options: _Options) -> Tool[Any]:
    name = options.name or function.__name__
    check_tool_name(name)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"the tool {name} uses `yield`, but the model gets one value: return it")
    description = inspect.getdoc(function) or ""
    if not description:
        raise TypeError(
            f"the tool {name} has no docstring, so the model would not know the purpose of the tool"
        )
    return Tool(
        name=name,
        description=description,
        category=options.category,
        arguments=make_arguments(function, name),
        prepare=partial(_prepare, function, options, name, FailureLog(logging.WARNING)),
        summarize=lambda arguments: _format_arguments(arguments)[:SUMMARY_CHARS],
    )


def _first_parameter(function: Function) -> str:
    return next(iter(inspect.signature(function).parameters), "")


async def _prepare(
    function: Function,
    options: _Options,
    name: str,
    failures: FailureLog,
    arguments: Arguments,
    context: ToolContext,
) -> Prepared:
    positional, named = call_arguments(function, arguments)
    is_alone = not (options.parallel or inspect.iscoroutinefunction(function))

    async def run() -> ToolOutput:
        try:
            async with _turn(context.attribution.session_id) if is_alone else nullcontext():
                result = await call_program(partial(function, *positional, **named))
            return await make_output(result)
        except (ToolError, EnvError):
            raise
        except (
            Exception
        ) as error:  # of the program's own code: the model gets its text, the log its traceback
            failures.write(name, f"the tool {name} raised {error_words(error)}", error)
            raise ToolError(error_words(error), kind="internal") from error

    if options.category == "read":
        return Prepared(NoEffect(), run)
    return Prepared(CallEffect(name, _format_arguments(arguments), options.category), run)


def _turn(session_id: str) -> AbstractAsyncContextManager[object]:
    """Return a context in which no other plain function of the session runs.

    A function that is interrupted gives its turn away, although its thread goes on: otherwise one that hangs would
    stop all others.
    """
    return _turns.setdefault(session_id, anyio.Lock())


def _format_arguments(arguments: Arguments) -> str:
    return json.dumps(arguments.model_dump(mode="json", by_alias=True), ensure_ascii=False)
